package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
	"tidemark/world/frames"
)

// The kinds that single messages meet: one that is held stays under way, and what stands behind it on its connection too; at one that
// is dropped the connection breaks, and it never arrives; one that is late arrives when its connection is long gone for its sender. Each that is
// delayed stays under way for a time, each that is throttled for as long as its bytes take.
var (
	holdKind     = messageKind(world.CanHold)
	dropKind     = messageKind(world.CanDrop)
	lateKind     = messageKind(world.CanLate)
	delayKind    = messageKind(world.CanDelay)
	throttleKind = messageKind(world.CanThrottle)
)

// The rates, in bytes a second, that a plan may throttle to.
const (
	throttleMin = 1
	throttleMax = 1_000_000_000
)

func messageKind(a world.Ability) kind {
	return kind{
		ability: a,
		read:    readMessages,
		write:   writeMessages,
		check:   checkMessages,
		also:    occurrence,
		waits:   func(f Fault) bool { return f.Kind == world.CanHold && f.Nth > 0 },
		resolve: func(s *scene, f Fault) ([]history.BrokerID, []link, error) { return s.messages(f) },
		act:     func(l *life, links []link) action { return &catch{life: l, links: links} },
		useful:  twoBrokers,
		draw:    func(d *drawer, p history.Partition) Fault { return d.messages(a, p) },
		length:  func(d *drawer) time.Duration { return d.messageLength(a) },
		opener:  func(p history.Partition) Fault { return noAnswers(a, p) },
		bites:   (*drawer).unanswers,
	}
}

// readMessages reads an API, a direction, the ends of a link, which of the messages, and how late.
func readMessages(w *words, f *Fault) (err error) {
	which, err := w.messages()
	if err != nil {
		return err
	}
	f.API, f.Responses = which.API, which.Responses
	ends := accept{sets: true, numbers: true, rest: true, clients: true}
	if f.Targets, err = w.targets(ends); err != nil {
		return err
	}
	if err = w.want("->"); err != nil {
		return err
	}
	f.Shape = OneWay
	ends.rest, ends.clients = f.Targets[0].Role != Rest, f.Targets[0].Role != Clients
	if f.Others, err = w.targets(ends); err != nil {
		return err
	}
	if readable(f.API) && w.take("on") {
		if f.Partition, err = w.partition(); err != nil {
			return err
		}
		if f.API == world.Fetch && f.Responses && w.take("raising") {
			if err = w.want("hw"); err != nil {
				return err
			}
			f.RaisesHW = true
		}
	}
	switch {
	case w.take("once"):
		f.Nth = 1
	case w.take("nth"):
		if f.Nth, err = w.count(1); err != nil {
			return err
		}
	}
	measure := map[world.Ability]string{world.CanLate: "by", world.CanDelay: "by", world.CanThrottle: "at"}[f.Kind]
	if measure == "" {
		return nil
	}
	if !w.take(measure) {
		expect := strconv.Quote(measure)
		if could := strings.TrimSuffix(occurrence(*f), ", "); could != "" {
			expect = could + " or " + expect
		}
		return w.expected(expect)
	}
	if f.Kind == world.CanThrottle {
		f.Bytes, err = w.bytesPerSecond()
	} else {
		f.By, err = w.duration(time.Nanosecond)
	}
	return err
}

// messages reads an API and a direction.
func (w *words) messages() (m Messages, err error) {
	if m.API, err = w.api(); err != nil {
		return m, err
	}
	switch {
	case w.take("responses"):
		m.Responses = true
	case !w.take("requests"):
		return m, w.expected(`"requests" or "responses"`)
	}
	return m, nil
}

// bytesPerSecond reads a rate such as 20kB/s. A kB is 1000 bytes.
func (w *words) bytesPerSecond() (int64, error) {
	number, unit := w.peek(), int64(0)
	for _, u := range rateUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if unit == 0 || err != nil || n < 1 || n > throttleMax/unit {
		return 0, w.expected(fmt.Sprintf("a rate such as 500B/s, 20kB/s or 1MB/s, from %dB/s to %s", throttleMin, rateText(throttleMax)))
	}
	w.next++
	return n * unit, nil
}

// rateUnits are the units of a rate, the largest first.
var rateUnits = []struct {
	name  string
	bytes int64
}{{"MB/s", 1_000_000}, {"kB/s", 1_000}, {"B/s", 1}}

func rateText(n int64) string {
	for _, u := range rateUnits {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return "" // every number of bytes is one of the last unit's
}

// readable reports whether an API's messages tell which partitions they concern.
func readable(a world.API) bool {
	key, ok := a.Key()
	return ok && frames.Reads(key)
}

// occurrence is what could stand where none of the messages is singled out yet.
func occurrence(f Fault) string {
	switch {
	case f.Nth > 0 || f.By > 0 || f.Bytes > 0:
		return ""
	case f.Partition == history.Partition{} && readable(f.API):
		return `"on P", "once", "nth N", `
	case f.Partition != history.Partition{} && f.API == world.Fetch && f.Responses && !f.RaisesHW:
		return `"raising hw", "once", "nth N", `
	}
	return `"once", "nth N", `
}

func (w *words) api() (world.API, error) {
	a := world.API(w.peek())
	if _, ok := a.Key(); !ok && a != world.AnyAPI {
		names := make([]string, 0, len(world.APIs())+1)
		for _, api := range world.APIs() {
			names = append(names, string(api))
		}
		expect := strings.Join(names, ", ") + " or " + string(world.AnyAPI)
		if meant := sameLetters(w.peek(), names); meant != "" {
			expect = meant + ", or another of " + expect
		}
		return "", w.expected(expect)
	}
	w.next++
	return a, nil
}

// sameLetters is the name that begins with a word, or the word with it, but for capitals and dashes, as in AlterPartition; "" if there is none.
// An equal one goes before.
func sameLetters(word string, names []string) (best string) {
	letters := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	given := letters(word)
	for _, name := range names {
		switch l := letters(name); {
		case l == given:
			return name
		case best == "" && len(given) > 2 && (strings.HasPrefix(l, given) || strings.HasPrefix(given, l)):
			best = name
		}
	}
	return best
}

func writeMessages(f Fault) string {
	s := messageText(f.Messages()) + " " + f.sides() + matchText(f)
	switch {
	case f.Nth == 1:
		s += " once"
	case f.Nth > 1:
		s += " nth " + strconv.FormatInt(f.Nth, 10)
	}
	if f.By > 0 {
		s += " by " + Lasting(f.By)
	}
	if f.Bytes > 0 {
		s += " at " + rateText(f.Bytes)
	}
	return s
}

// matchText is what the messages must concern, behind their link.
func matchText(f Fault) string {
	switch {
	case f.Partition == history.Partition{}:
		return ""
	case f.RaisesHW:
		return " on " + f.Partition.String() + " raising hw"
	}
	return " on " + f.Partition.String()
}

func messageText(m Messages) string {
	if m.Responses {
		return string(m.API) + " responses"
	}
	return string(m.API) + " requests"
}

// Messages are those that a fault on messages meets.
func (f Fault) Messages() Messages { return Messages{f.API, f.Responses} }

// checkMessages refuses a link from an end to itself. A role on both sides may mean several brokers, or different ones.
func checkMessages(c checker, f Fault) error {
	if (f.Partition != history.Partition{}) {
		if err := c.partition(f.Partition); err != nil {
			return err
		}
	}
	for _, t := range f.Targets {
		if slices.Contains(f.Others, t) && (t.Role == Number || t.Role == Leader || t.Role == Controller) {
			return fmt.Errorf("%v is at both ends of the link", t)
		}
	}
	return nil
}

// messages resolves the ends of the messages' links. A broker sends itself none.
func (s *scene) messages(f Fault) (targets []history.BrokerID, links []link, err error) {
	from, to, err := s.sides(f)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range from {
		for _, b := range to {
			if a != b {
				links = append(links, link{a, b})
			}
		}
	}
	for i, side := range [][]history.BrokerID{from, to} {
		if role := [][]Target{f.Targets, f.Others}[i][0].Role; role != Rest && role != Clients {
			targets = append(targets, side...)
		}
	}
	if len(links) == 0 {
		return targets, nil, fmt.Errorf("broker %d is at both ends now: nothing goes over a link", from[0])
	}
	return targets, links, nil
}

// catch is a fault on messages.
type catch struct {
	*life
	links  []link
	number int          // of the world's; 0 while it is not in force
	met    bool         // a message, as the world tells at once if it can
	last   world.Caught // as last seen
}

// errUnmet is in a probe's error when no such message came: that is nobody's failure.
var errUnmet = errors.New("not observed, as no such message came")

func (*catch) ready() string { return "" }

func (*catch) claim(history.ClusterState) string { return "" }

func (c *catch) apply() (detail string, err error) {
	f := c.line.Fault
	m := world.MessageFault{Kind: f.Kind, API: f.API, Responses: f.Responses, Nth: int(f.Nth), Delay: f.By, Rate: f.Bytes, Met: c.meet,
		Match: frames.Match{Partition: f.Partition, RaisesHW: f.RaisesHW}}
	if f.Kind == world.CanHold && f.Nth > 0 {
		m.Delay = c.line.For
	}
	for _, l := range c.links {
		m.Links = append(m.Links, world.Link{From: l.from, To: l.to})
	}
	c.number, err = c.Cluster.Catch(m)
	return "waiting for " + c.what(), err
}

// what names the messages as they go.
func (c *catch) what() string {
	words := make([]string, len(c.links))
	for i, l := range c.links {
		words[i] = end(l.from) + "->" + end(l.to)
	}
	return messageText(c.line.Fault.Messages()) + " " + strings.Join(words, " ") + matchText(c.line.Fault)
}

func end(b history.BrokerID) string {
	if b == history.NoBroker {
		return "clients"
	}
	return number(b)
}

// meet wakes the probe.
func (c *catch) meet() {
	first := false
	c.locked(func() { first, c.met = !c.met, true })
	if first {
		c.changed.Notify()
	}
}

// messageEvery is the pause between two looks whether a message has come.
const messageEvery = 10 * time.Millisecond

// probe waits for a message that meets the fault, at most until the fault's end. One that waits for a single message is over when that is.
func (c *catch) probe() (detail string, err error) {
	for {
		c.locked(func() { c.met = false })
		if c.last, err = c.Cluster.Caught(c.number); err != nil {
			return "", err
		}
		left := c.end - c.Env.Now()
		switch {
		case c.last.Messages > 0:
			if c.line.Fault.Nth > 0 {
				c.end = min(c.until, c.Env.Now()+c.over())
			}
			c.run.met(c.line.Fault.Messages())
			return c.text(), nil
		case left <= 0:
			return "", fmt.Errorf("%w: %s", errUnmet, c.what())
		}
		c.wait(func() bool { return c.met }, min(messageEvery, left))
	}
}

// over is how long a fault lasts once it has met the one message that it waited for.
func (c *catch) over() time.Duration {
	switch f := c.line.Fault; {
	case f.Kind == world.CanLate, f.Kind == world.CanDelay:
		return f.By
	case f.Kind == world.CanDrop:
		return 0
	case c.line.For == 0:
		return durationMax
	}
	return c.line.For
}

// text says what was done.
func (c *catch) text() string {
	did := map[world.Ability]string{world.CanHold: "held", world.CanDrop: "dropped", world.CanLate: "made late", world.CanDelay: "delayed",
		world.CanThrottle: "throttled"}[c.line.Fault.Kind]
	return fmt.Sprintf("%d %s: %s", c.last.Messages, did, c.what())
}

func (c *catch) undo() (err error) {
	if c.number == 0 {
		return nil
	}
	if c.last, err = c.Cluster.Caught(c.number); err == nil {
		err = c.Cluster.EndCatch(c.number)
	}
	if err == nil {
		if c.number = 0; c.last.Messages > 0 && c.line.Fault.Kind != world.CanDrop {
			c.letGo(c.line.Fault.Messages())
		}
	}
	return err
}

func (c *catch) verify() (string, error) {
	return c.text() + "; none is under way", nil
}

func (*catch) release() {}
