package proxy

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/history"
	"tidemark/world"
)

// TestScenarios tells what becomes of messages that meet faults, as text: testdata/*.txt. A line of a story is one of
//
//	fault N KIND API requests|responses FROM->TO[,FROM->TO] [nth=N] [by=D] [asks]
//	settle N | end N
//	request FROM->TO API CORRELATION [quorum]   | answer FROM->TO CORRELATION | bytes FROM->TO "TEXT" | spoken FROM->TO "TEXT"
//	yes CLAIM | no CLAIM                        to a message that asks
//	over FROM->TO                               the time of the message that is held there has come
//
// A connection is named by its ends, from its opener; an answer goes the other way. A message passes at once or says what keeps it.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &story{conns: map[string]*spoken{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				fmt.Fprintf(&out, "%s\n", s.step(t, strings.TrimSpace(line)))
			}
			return out.String()
		})
	})
}

// story is a table and the connections that messages meet it on.
type story struct {
	table table
	conns map[string]*spoken
	stays []*staying
}

// spoken is a connection: what is read of it both ways.
type spoken struct {
	asked   asked
	out, in reader
	quorum  bool
}

// staying is a message that does not pass.
type staying struct {
	name string
	m    Message
	s    *stay
}

func (s *story) step(t *testing.T, line string) string {
	words := strings.Fields(line)
	number := func(i int) int {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	switch words[0] {
	case "fault":
		f := Fault{Number: number(1), Kind: world.Ability(words[2]), API: world.API(words[3]), Responses: words[4] == "responses"}
		for l := range strings.SplitSeq(words[5], ",") {
			f.Links = append(f.Links, linkOf(t, l))
		}
		for _, w := range words[6:] {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "nth":
				f.Nth, _ = strconv.Atoi(value)
			case "by":
				f.Delay, _ = time.ParseDuration(value)
			case "asks":
				f.Asks = true
			}
		}
		if err := s.table.add(f); err != nil {
			return err.Error()
		}
		return "in force"
	case "settle":
		if err := s.table.close(number(1)); err != nil {
			return err.Error()
		}
		return "settled" + s.moved()
	case "end":
		last, err := s.table.end(number(1))
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("ended: %d met it, %d under way%s", last.Messages, last.UnderWay, s.moved())
	case "yes", "no":
		for _, c := range s.table.catches {
			s.table.answer(c.Number, number(1), words[0] == "yes")
		}
		return "answered" + s.moved()
	case "over":
		for _, y := range s.stays {
			if y.name == words[1] {
				s.table.leave(y.s)
				return strings.TrimPrefix(s.goOn(y), "; ")
			}
		}
		return "nothing is held there"
	case "request":
		c := s.conn(words[1])
		c.quorum = len(words) == 5
		key, ok := world.API(words[2]).Key()
		if !ok {
			key = int16(number(2))
		}
		frame := binary.BigEndian.AppendUint16(nil, uint16(key))
		frame = binary.BigEndian.AppendUint32(append(frame, 0, 4), uint32(number(3)))
		return s.arrive(t, words[1], c, &c.out, framed(append(frame, "\xff\xffbody"...)))
	case "answer":
		c := s.conn(words[1])
		return s.arrive(t, words[1], c, &c.in, framed(binary.BigEndian.AppendUint32(nil, uint32(number(2)))))
	case "bytes", "spoken":
		text, err := strconv.Unquote(strings.Join(words[2:], " "))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		c := s.conn(words[1])
		if words[0] == "bytes" {
			return s.arrive(t, words[1], c, &c.out, []byte(text))
		}
		return s.arrive(t, words[1], c, &c.in, []byte(text))
	}
	t.Fatalf("%q is no line of a story", line)
	return ""
}

func (s *story) conn(name string) *spoken {
	c := s.conns[name]
	if c == nil {
		c = &spoken{}
		c.out, c.in = reader{asked: &c.asked}, reader{asked: &c.asked, responses: true}
		s.conns[name] = c
	}
	return c
}

// arrive lets bytes arrive on a connection, the last of them alone, so that a reader that has to wait does.
func (s *story) arrive(t *testing.T, name string, c *spoken, r *reader, b []byte) string {
	l := linkOf(t, name)
	if r.responses {
		l = world.Link{From: l.To, To: l.From}
	}
	var said []string
	rest := b[:len(b)-1]
	for whole := false; ; {
		n, what := r.next(rest)
		switch {
		case what == tooFew && whole:
			return strings.Join(append(said, "too little to tell"), ", ")
		case what == passing && r.blind:
			return strings.Join(append(said, "unread"), ", ")
		case what == beginning:
			m := Message{Link: l, Response: r.responses, API: apiOf(r.begun.key, c.quorum)}
			if k := s.table.meet(m, 0); k != nil {
				said = append(said, s.keep(&staying{name, m, k}))
			} else {
				said = append(said, "passes")
			}
			r.admit()
		}
		if rest = rest[n:]; len(rest) == 0 || what == tooFew {
			if whole {
				return strings.Join(said, ", ")
			}
			rest, whole = append(rest, b[len(b)-1]), true
		}
	}
}

// keep says what keeps a message.
func (s *story) keep(y *staying) string {
	if y.s.claim > 0 {
		s.stays = append(s.stays, y)
		return fmt.Sprintf("asks %d: claim %d", y.s.of.Number, y.s.claim)
	}
	if y.s.kind() != world.CanDrop {
		s.stays = append(s.stays, y)
	}
	return fmt.Sprintf("%s by %d", y.s.kind(), y.s.of.Number)
}

// moved tells of the messages that wait no more for what they waited for.
func (s *story) moved() (out string) {
	for _, y := range append([]*staying(nil), s.stays...) {
		switch {
		case y.s.acts && isClosed(y.s.over), !y.s.acts && isClosed(y.s.decided):
			out += s.goOn(y)
		case y.s.acts && y.s.claim == 0 && y.s.of.Asks && isClosed(y.s.decided):
			out += fmt.Sprintf("; %s stays: %s by %d", y.name, y.s.kind(), y.s.of.Number)
		}
	}
	return out
}

// goOn lets a message meet the faults behind the one that has let it go.
func (s *story) goOn(y *staying) string {
	var left []*staying
	for _, o := range s.stays {
		if o != y {
			left = append(left, o)
		}
	}
	s.stays = left
	if k := s.table.meet(y.m, y.s.of.Number); k != nil {
		return "; " + y.name + " " + s.keep(&staying{y.name, y.m, k})
	}
	return "; " + y.name + " passes"
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// linkOf reads a link; "c" is clients.
func linkOf(t *testing.T, text string) world.Link {
	t.Helper()
	from, to, ok := strings.Cut(text, "->")
	end := func(w string) history.BrokerID {
		if w == "c" {
			return history.NoBroker
		}
		n, err := strconv.Atoi(w)
		if err != nil || !ok {
			t.Fatalf("%q, expected FROM->TO", text)
		}
		return history.BrokerID(n)
	}
	return world.Link{From: end(from), To: end(to)}
}
