package nemesis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// The limits on a plan's text.
const (
	textMax     = 256 << 10
	linesMax    = 1000
	durationMax = 30 * 24 * time.Hour
	countMax    = 1_000_000_000
	topicMax    = 249 // as Kafka's
)

const (
	expectTrigger = "at T, after N acks, after N elections, after N shrinks, after N expands, after N catches, after N releases, when isr(P) = N or when leader(P) = N"
	expectTopic   = "topic/index, such as orders/0"
)

// Parse reads a plan's text; an error names the fault, its line and word, and what was expected. A plan has one fault a line; # starts a comment,
// blank lines are passed over, and columns are free:
//
//	at 2s                     partition leader(orders/0) | rest   for 5s
//	after 3 acks on orders/0  pause follower(orders/0)            for 4s
//	when isr(orders/0) = 1    powerfail leader(orders/0)
func Parse(text string) (Plan, error) {
	if len(text) > textMax {
		return Plan{}, fmt.Errorf("plan of %d bytes: expected at most %d", len(text), textMax)
	}
	var p Plan
	number := 0
	for raw := range strings.SplitSeq(text, "\n") {
		number++
		w, err := split(number, raw)
		if err != nil {
			return Plan{}, fmt.Errorf("fault %d, %w", len(p.Lines)+1, err)
		}
		if len(w.list) == 0 {
			continue
		}
		if len(p.Lines) == linesMax {
			return Plan{}, fmt.Errorf("line %d: a plan has at most %d faults", number, linesMax)
		}
		l, err := w.parseLine()
		if err != nil {
			return Plan{}, fmt.Errorf("fault %d, %w", len(p.Lines)+1, err)
		}
		p.Lines = append(p.Lines, l)
	}
	return p, nil
}

func (w *words) parseLine() (Line, error) {
	trigger, err := w.trigger()
	if err == nil && trigger.Kind != AtTime && w.take("since") {
		trigger.At, err = w.duration(time.Nanosecond)
	}
	if err == nil && trigger.Kind != AtTime && w.take("plus") {
		trigger.Plus, err = w.duration(time.Nanosecond)
	}
	if err != nil {
		return Line{}, err
	}
	k := kindOf(world.Ability(w.peek()))
	if k == nil {
		return Line{}, w.expected(expectKind())
	}
	w.next++
	l := Line{Trigger: trigger, Fault: Fault{Kind: k.ability}}
	if err := k.read(w, &l.Fault); err != nil {
		return Line{}, err
	}
	end := "the end of the line"
	if !k.instant {
		end = `"for" or the end of the line`
		if k.also != nil {
			end = k.also(l.Fault) + end
		}
		if w.take("for") {
			end = "the end of the line"
			if l.For, err = w.duration(time.Nanosecond); err != nil {
				return Line{}, err
			}
		}
	}
	if w.peek() != "" {
		return Line{}, w.expected(end)
	}
	return l, nil
}

func (w *words) trigger() (Trigger, error) {
	switch {
	case w.take("at"):
		at, err := w.duration(0)
		return Trigger{Kind: AtTime, At: at}, err
	case w.take("after"):
		n, err := w.count(1)
		if err != nil {
			return Trigger{}, err
		}
		t := Trigger{Count: n}
		for _, k := range []TriggerKind{AfterAcks, AfterElections, AfterShrinks, AfterExpands, AfterCatches, AfterReleases} {
			if t.Kind == AtTime && w.take(counted[k]) {
				t.Kind = k
			}
		}
		if t.Kind == AtTime {
			return t, w.expected(`"acks", "elections", "shrinks", "expands", "catches" or "releases"`)
		}
		if t.Kind != AfterCatches && t.Kind != AfterReleases && w.take("on") {
			t.Partition, err = w.partition()
		}
		if (t.Kind == AfterCatches || t.Kind == AfterReleases) && w.take("of") {
			t.Of, err = w.messages()
		}
		return t, err
	case w.take("when"):
		return w.condition()
	}
	return Trigger{}, w.expected(expectTrigger)
}

func (w *words) condition() (t Trigger, err error) {
	role, part, ok := call(w.peek())
	switch {
	case ok && role == "isr":
		t = Trigger{Kind: WhenISR, Partition: part}
	case ok && role == "leader":
		t = Trigger{Kind: WhenLeader, Partition: part, Broker: history.NoBroker}
	default:
		return t, w.expected("isr(P) or leader(P)")
	}
	w.next++
	if err = w.want("="); err != nil {
		return t, err
	}
	if t.Kind == WhenISR {
		t.Count, err = w.count(0)
		return t, err
	}
	if w.take("none") {
		return t, nil
	}
	t.Broker, err = w.broker(`a broker's number or "none"`)
	return t, err
}

// sides reads X | Y or X -> Y; shapes says that something else could have stood there.
func (w *words) sides(f *Fault, shapes bool) (err error) {
	sides := accept{sets: true, numbers: true, rest: true, shapes: shapes}
	if f.Targets, err = w.targets(sides); err != nil {
		return err
	}
	switch {
	case w.take("|"):
		f.Shape = Split
	case w.take("->"):
		f.Shape = OneWay
	case f.Targets[0].Role == Rest:
		return w.expected(`"|" or "->"`)
	default:
		return w.expected(`",", "|" or "->"`)
	}
	sides.rest = f.Targets[0].Role != Rest // one side alone can be the rest
	sides.shapes = false
	f.Others, err = w.targets(sides)
	return err
}

// accept says what may stand where a target is expected, beyond the roles that mean one broker.
type accept struct {
	sets    bool // isr(P) and osr(P)
	numbers bool // a broker's number alone
	rest    bool
	clients bool
	shapes  bool // ring and bridge, which the caller has looked for
}

// one and many are what single-broker faults and all others accept.
var (
	one  = accept{}
	many = accept{sets: true}
)

// String lists what is accepted, for an error.
func (a accept) String() string {
	s := "broker N, leader(P), follower(P)"
	if a.numbers {
		s = "N, " + s
	}
	if a.sets {
		s += ", isr(P), osr(P)"
	}
	switch {
	case a.shapes:
		return s + ", controller, random, rest, ring or bridge X"
	case a.rest && a.clients:
		return s + ", controller, random, rest or clients"
	case a.clients:
		return s + ", controller, random or clients"
	case a.rest:
		return s + ", controller, random or rest"
	}
	return s + ", controller or random"
}

// targets reads one target or several with commas between them. The rest and the clients stand alone.
func (w *words) targets(a accept) ([]Target, error) {
	var ts []Target
	for {
		t, err := w.target(a)
		if err != nil {
			return nil, err
		}
		ts = append(ts, t)
		if t.Role == Rest || t.Role == Clients || !w.take(",") {
			return ts, nil
		}
		a.rest, a.clients, a.shapes = false, false, false
	}
}

// target reads one target.
func (w *words) target(a accept) (t Target, err error) {
	word := w.peek()
	if role, part, ok := call(word); role != "" {
		t.Partition = part
		switch {
		case !ok:
			return t, w.expected("a role of " + expectTopic)
		case role == "leader":
			t.Role = Leader
		case role == "follower":
			t.Role = Follower
		case role == "isr" && a.sets:
			t.Role = ISR
		case role == "osr" && a.sets:
			t.Role = OSR
		default:
			return t, w.expected(a.String())
		}
		w.next++
		return t, nil
	}
	switch {
	case word == "controller":
		t.Role = Controller
	case word == "random":
		t.Role = Random
	case word == "zookeeper":
		t.Role = Keeper
	case word == "rest" && a.rest:
		t.Role = Rest
	case word == "clients" && a.clients:
		t.Role = Clients
	case word == "broker":
		w.next++
		if t.Broker, err = w.broker("a broker's number"); err != nil {
			return t, err
		}
		return t, nil
	case a.numbers:
		t.Broker, err = w.broker(a.String())
		return t, err
	default:
		if n, ok := natural(word); ok {
			return t, w.expected(fmt.Sprintf("broker %d, as a number stands alone only on the sides of X | Y and X -> Y and among new replicas", n))
		}
		return t, w.expected(a.String())
	}
	w.next++
	return t, nil
}

func (w *words) duration(least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(w.peek())
	if err != nil || d < least || d > durationMax {
		return 0, w.expected(fmt.Sprintf("a duration from %v to %v, such as 2s or 1m30s", least, durationMax))
	}
	w.next++
	return d, nil
}

func (w *words) count(least int64) (int64, error) {
	n, err := strconv.ParseInt(w.peek(), 10, 64)
	if err != nil || n < least || n > countMax {
		return 0, w.expected(fmt.Sprintf("a number from %d to %d", least, countMax))
	}
	w.next++
	return n, nil
}

func (w *words) partition() (history.Partition, error) {
	p, ok := partition(w.peek())
	if !ok {
		return p, w.expected(expectTopic)
	}
	w.next++
	return p, nil
}

func (w *words) broker(expect string) (history.BrokerID, error) {
	n, ok := natural(w.peek())
	if !ok {
		return 0, w.expected(expect)
	}
	w.next++
	return history.BrokerID(n), nil
}

// call takes role(topic/index) apart; role is empty if there is no parenthesis, and ok if the partition is one.
func call(word string) (role string, p history.Partition, ok bool) {
	role, rest, ok := strings.Cut(word, "(")
	if !ok {
		return "", p, false
	}
	if !strings.HasSuffix(rest, ")") {
		return role, p, false
	}
	p, ok = partition(strings.TrimSuffix(rest, ")"))
	return role, p, ok
}

// partition reads topic/index with a topic's name as Kafka allows it.
func partition(word string) (history.Partition, bool) {
	topic, index, ok := strings.Cut(word, "/")
	if !ok || topic == "" || len(topic) > topicMax || topic == "." || topic == ".." {
		return history.Partition{}, false
	}
	for i := range len(topic) {
		c := topic[i] | 0x20
		if (c < 'a' || c > 'z') && (topic[i] < '0' || topic[i] > '9') && strings.IndexByte("._-", topic[i]) < 0 {
			return history.Partition{}, false
		}
	}
	n, ok := natural(index)
	return history.Partition{Topic: topic, Index: n}, ok
}

// natural reads a number that fits an int32, digits alone.
func natural(s string) (int32, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int32(n), err == nil
}
