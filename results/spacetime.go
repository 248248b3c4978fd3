package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// diagram is the space-time diagram of a finding: clients and brokers stand side by side as lines, time runs down along them, and what went from
// one to another is an arrow. Every moment has a row of its own, so that a millisecond within seconds can be read: rows stand in order of
// time, and their distance grows with the logarithm of the time between them. Positions are in the units of the picture.
type diagram struct {
	Number        int // of the finding
	Width, Height int
	Top, Foot     int // of the lines
	TextX         int // where the rows' words begin
	Lines         []lifeline
	Roles         []roleBox
	Bands         []bandBox
	Arrows        []arrow
	Rows          []diagramRow
	Left          int // moments that found no room
	OpsLeft       int // operations of the window that prove the finding, or what follows from it, and are not drawn
}

// lifeline is a client or a broker, its name above it.
type lifeline struct {
	X, Y, SubY int
	Name, Sub  string
}

// roleBox is a stretch of a broker's line: what it was to the partition.
type roleBox struct {
	X, Y, H int
	Role    role
	Title   string
}

// bandBox is a fault in force on a broker it struck.
type bandBox struct {
	X, Y, W, H int
	Hue        int
	Name       string
	Title      string
	Label      *bandLabel // nil where there was no room: a label near it says so
}

// bandLabel is the name beside a band. It lies on no other.
type bandLabel struct {
	X, Y int // left, and the line that the text stands on
	Text string
}

// arrow is a message, or an answer to it. Kind is its class in the picture.
type arrow struct {
	X1, Y1, X2, Y2 int
	Kind           string
}

// diagramRow is a moment: a dot on its line, its time on the left, its words on the right.
type diagramRow struct {
	Y       int
	At      string // as people read it
	Seconds string // as a link to the moment has it
	Gap     string // the time since the row before, if it is long
	GapY    int
	Dot     bool
	X       int
	Kind    string
	Key     bool
	Text    string
	Full    string
}

// Sizes of a diagram.
const (
	diagramWidth      = 1120
	diagramGutter     = 92 // for the times
	diagramHead       = 52 // for the names
	diagramHeadRow    = 34 // by which every other name stands lower where the lines are close
	diagramHeadFirst  = 22
	diagramHeadSub    = 16 // from a name to what stands under it
	diagramText       = 452
	diagramRuneWidth  = 7.2 // of bold text
	diagramRowLeast   = 20
	diagramRowMost    = 40
	diagramRowsMax    = 64
	diagramClientsMax = 4
	diagramBrokersMax = 9
	diagramOpsMax     = 8
	diagramImpliedMax = 3 // operations of one kind of anomaly that follows from the finding
	diagramTouchesMax = 4 // moments of one kind at which one broker's log touched the message
	diagramGapLeast   = 500 * time.Millisecond
)

// scene is a diagram in the making. Marks are numbered in the order in which they were found.
type scene struct {
	f       checker.Finding
	names   []string // of all clients
	clients []client
	brokers []history.BrokerID
	marks   []mark
	flights []flight
	seen    map[int64]bool // steps, by their index
	opsLeft int            // operations that are not drawn
}

// client is a process that asked.
type client struct {
	process int32
	number  int // among all clients
}

// mark is a moment on a line. A negative line is none: it concerns everybody.
type mark struct {
	at         time.Duration
	index      int64
	who        party
	kind       string
	text, full string
	key        bool
	told       bool // of the told message's send or its answer: it is never left out
}

// party is whose line it is.
type party struct {
	client bool
	id     int32
}

var nobody = party{id: -1}

func brokerParty(b history.BrokerID) party { return party{id: int32(b)} }

// flight is an arrow between two marks.
type flight struct {
	from, to int
	kind     string
}

// diagramOf draws a finding; nil if nothing of it has a place in time.
func diagramOf(run history.Run, s span, h *history.History, f checker.Finding, lines []timeline, lives []life) *diagram {
	c := &scene{f: f, names: clientNames(run), seen: map[int64]bool{}}
	c.steps(s, h)
	c.operations(s, h)
	if len(c.marks) == 0 {
		return nil
	}
	c.faults(s, lives)
	if n := slices.IndexFunc(lines, func(l timeline) bool { return l.partition == f.Partition }); n >= 0 {
		return c.draw(&lines[n], lives)
	}
	return c.draw(nil, lives)
}

func (c *scene) mark(m mark) int {
	if !m.who.client && m.who.id >= 0 && !slices.Contains(c.brokers, history.BrokerID(m.who.id)) && len(c.brokers) < diagramBrokersMax {
		c.brokers = append(c.brokers, history.BrokerID(m.who.id))
	}
	c.marks = append(c.marks, m)
	return len(c.marks) - 1
}

// steps marks the witness's steps, and those by which the message came to a broker, or under its high watermark, within the window.
func (c *scene) steps(s span, h *history.History) {
	told := slices.Clone(c.f.Witness.Steps)
	for _, step := range told {
		c.seen[step.Index] = true
	}
	touches := map[string]int{}
	for _, step := range h.Steps {
		if !s.holds(step.Time) || c.seen[step.Index] || step.Partition != c.f.Partition || !c.touches(step) {
			continue
		}
		key := fmt.Sprint(step.Kind, step.Broker)
		if touches[key]++; touches[key] <= diagramTouchesMax {
			told = append(told, step)
		}
	}
	slices.SortStableFunc(told, func(a, b history.Step) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Index, b.Index)) })
	held := map[history.BrokerID]int{} // the mark at which a broker got the message last
	committed := -1                    // the mark at which a leader moved its high watermark past it last
	leader := history.NoBroker         // as far as the steps tell
	for _, step := range told {
		if step.Kind == checker.StepAck {
			continue // the operation tells it
		}
		m := mark{at: step.Time, index: step.Index, who: brokerParty(step.Broker), kind: clip(string(step.Kind), 30), key: c.touches(step), text: stepWord(step), full: stepWord(step)}
		if step.Kind == history.StepISR || step.Kind == history.StepInvariant {
			m.who = nobody
		}
		n := c.mark(m)
		switch step.Kind {
		case history.StepElection:
			leader = step.Broker
		case history.StepAppend:
			if m.key && step.Peer >= 0 {
				leader = step.Peer
			}
			if from, ok := held[step.Peer]; ok && m.key && step.Peer != step.Broker {
				c.flights = append(c.flights, flight{from, n, "copy"})
			}
			if m.key {
				held[step.Broker] = n
			}
		case history.StepHW:
			switch {
			case m.key && (leader == step.Broker || leader < 0):
				committed = n
			case m.key && committed >= 0 && c.marks[committed].who == brokerParty(leader):
				c.flights = append(c.flights, flight{committed, n, "hw"})
			}
		case history.StepTruncate:
			if step.Peer >= 0 && step.Peer != step.Broker {
				from := c.mark(mark{at: m.at, index: m.index, who: brokerParty(step.Peer)})
				c.flights = append(c.flights, flight{from, n, "cut"})
			}
		}
	}
}

func (c *scene) touches(s history.Step) bool { return c.f.Offset >= 0 && touchesOffset(s, c.f.Offset) }

// operations marks what clients asked and were told: first the told message's send, whenever it was, then the other operations that prove the
// finding, and the first of what follows from it.
func (c *scene) operations(s span, h *history.History) {
	var ids []int64
	told := toldSend(h.Ops, c.f)
	if told >= 0 {
		ids = append(ids, told)
	}
	ids = append(ids, c.f.Ops[:min(len(c.f.Ops), witnessOpsMax)]...)
	for _, m := range c.f.Implied {
		ids = append(ids, m.Ops[:min(len(m.Ops), diagramImpliedMax)]...)
	}
	drawn := 0
	for i, id := range ids {
		op, ok := opByID(h.Ops, id)
		if !ok || slices.Contains(ids[:i], id) || !s.holds(op.Invoke) && !op.Final && id != told {
			continue
		}
		if drawn == diagramOpsMax || !c.admit(op) {
			c.opsLeft++
			continue
		}
		drawn++
		c.operation(op, id == told)
	}
}

// toldSend is the id of the send of the message that a finding is about: the one that was acknowledged at its offset if there are several, -1 if
// there is none.
func toldSend(ops []history.Op, f checker.Finding) int64 {
	told := int64(-1)
	for i := range ops {
		op := &ops[i]
		if op.Kind != history.Send || f.Value == "" || op.Value != f.Value || op.Partition != f.Partition {
			continue
		}
		if op.Outcome == history.OK && op.Offset == f.Offset {
			return op.ID
		}
		if told < 0 {
			told = op.ID
		}
	}
	return told
}

// admit gives an operation's process a line, unless there are too many.
func (c *scene) admit(op history.Op) bool {
	if slices.ContainsFunc(c.clients, func(k client) bool { return k.process == op.Process }) {
		return true
	}
	if len(c.clients) == diagramClientsMax {
		return false
	}
	c.clients = append(c.clients, client{op.Process, clientOf(op.Process, len(c.names))})
	return true
}

// operation marks one request and its answer; isTold is whether it is the send of the message that the finding is about. Where nobody noted when
// the broker had it, it is drawn half way between.
func (c *scene) operation(op history.Op, isTold bool) {
	who := party{client: true, id: op.Process}
	full := invokeWord(op)
	_, text, _ := strings.Cut(full, ": ") // without its number, which the title has
	asked := c.mark(mark{at: op.Invoke, index: op.InvokeIndex, who: who, kind: "request", text: text, full: full, key: true, told: isTold})
	done := op.Outcome != history.Pending
	arrived, answered := c.arrival(op)
	if op.Broker >= 0 {
		if arrived < 0 && done {
			arrived = c.mark(mark{at: op.Invoke + (op.Return-op.Invoke)/2, index: op.InvokeIndex + 1, who: brokerParty(op.Broker)})
			answered = arrived
		}
		if arrived >= 0 {
			c.flights = append(c.flights, flight{asked, arrived, "request"})
		}
	}
	if !done {
		return
	}
	told := c.mark(mark{at: op.Return, index: op.ReturnIndex, who: who, kind: outcomeWord(op.Outcome), text: c.answerWord(op), full: returnWord(op), key: true, told: isTold})
	if answered >= 0 && op.Outcome != history.Info {
		c.flights = append(c.flights, flight{answered, told, "answer"})
	}
}

// arrival finds the marks at which the broker that was asked appended a message, and at which it could say so: at its high watermark's
// move past it if the producer waits for all, and if there was one. Both are -1 where no mark tells.
func (c *scene) arrival(op history.Op) (arrived, answered int) {
	arrived, answered = -1, -1
	if op.Value == c.f.Value && c.f.Witness.Instead != nil {
		return arrived, answered // what the broker appended there is another message
	}
	if op.Kind != history.Send || op.Value != c.f.Value && op.Offset != c.f.Offset {
		return arrived, answered
	}
	for n := range c.marks {
		m := &c.marks[n]
		if m.who != brokerParty(op.Broker) || !m.key || m.index < op.InvokeIndex || op.Outcome != history.Pending && m.index > op.ReturnIndex {
			continue
		}
		switch {
		case m.kind == string(history.StepAppend) && arrived < 0:
			arrived, answered = n, n
		case m.kind == string(history.StepHW) && arrived >= 0 && op.Acks == -1:
			answered = n
		}
	}
	return arrived, answered
}

// answerWord is what a client was told, as it concerns the finding's offset.
func (c *scene) answerWord(op history.Op) string {
	who := fmt.Sprintf("process %d ", op.Process)
	switch {
	case op.Kind == history.Send && op.Outcome == history.OK:
		return who + "is told that " + clip(op.Value, 60) + " stands at " + offsetWord(op.Offset)
	case op.Outcome == history.Info:
		return who + "does not learn what became of it: " + clip(op.Error, opErrorRunes)
	case op.Outcome != history.OK:
		return who + "is told that it failed: " + clip(op.Error, opErrorRunes)
	case op.Kind != history.Poll || len(op.Records) == 0:
		return who + "gets " + opText(&op)
	}
	for _, r := range op.Records {
		if r.Offset == c.f.Offset {
			return who + "reads " + clip(r.Value, 60) + " at " + offsetWord(r.Offset)
		}
	}
	return who + "reads " + rangeWord(op.Records[0].Offset, op.Records[len(op.Records)-1].Offset)
}

// faults marks where those that took effect began and ended, within what is drawn so far. One that was in force when that begins, or that the
// witness names, has its beginning marked wherever it is.
func (c *scene) faults(s span, lives []life) {
	for i := range lives {
		l := &lives[i]
		named := l.named(c.f)
		if !l.struck() || !named && (l.begun > s.to || l.ended() >= 0 && l.ended() < s.from) {
			continue
		}
		who := struckWord(l.targets)
		if who != "" {
			who = ", on " + who
		}
		c.mark(mark{at: l.begun, who: nobody, kind: "fault", key: named, text: fmt.Sprintf("fault #%d begins: %s%s", l.fault+1, l.deed(), who), full: clip(l.line, 300)})
		if l.late() && (named || s.holds(l.applied)) {
			c.mark(mark{at: l.applied, who: nobody, kind: "fault", key: named, text: fmt.Sprintf("fault #%d is applied whole: %s", l.fault+1, l.deed()), full: clip(l.line, 300)})
		}
		if l.ended() >= 0 && (named || s.holds(l.ended())) {
			c.mark(mark{at: l.ended(), index: l.over(math.MaxInt64), who: nobody, kind: "fault", key: named, text: fmt.Sprintf("fault #%d ends: %s", l.fault+1, l.deed()), full: clip(l.line, 300)})
		}
	}
}
