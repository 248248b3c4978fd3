package nemesis

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Plan is a list of faults, one a line.
type Plan struct{ Lines []Line }

// Line is one fault of a plan: when it strikes, what it is, how long it lasts.
type Line struct {
	Trigger Trigger
	Fault   Fault
	For     time.Duration // 0: until the plan's end; always 0 where nothing is to be undone
}

// TriggerKind says what a line waits for.
type TriggerKind uint8

// The triggers. Times count from the start of Runner.Run, which is the start of the load.
const (
	AtTime         TriggerKind = iota // at 2s
	AfterAcks                         // after 3 acks, after 3 acks on orders/0
	AfterElections                    // after 2 elections, after 2 elections on orders/0: leader epochs since the start
	AfterShrinks                      // after 1 shrinks, after 1 shrinks on orders/0: times that a member left the ISR
	AfterExpands                      // after 1 expands, after 1 expands on orders/0: times that a member joined it
	AfterCatches                      // after 1 catches, after 1 catches of fetch requests: faults on messages that have met one
	AfterReleases                     // after 1 releases, after 1 releases of fetch requests: faults that have let go of what they held or made late
	WhenISR                           // when isr(orders/0) = 1: the committed ISR has so many members
	WhenLeader                        // when leader(orders/0) = 2, when leader(orders/0) = none
)

// Trigger is the moment at which a line's fault strikes.
type Trigger struct {
	Kind      TriggerKind
	At        time.Duration     // of AtTime; of all others, since when it counts or looks (since 4s), 0: since the start
	Count     int64             // of all that come after so many, and of WhenISR
	Partition history.Partition // zero for all partitions
	Of        Messages          // of AfterCatches and AfterReleases; zero for all
	Broker    history.BrokerID  // of WhenLeader; NoBroker for none
	Plus      time.Duration     // so long after the event; 0 where the trigger is a time
}

// Messages are those of an API in one direction.
type Messages struct {
	API       world.API
	Responses bool
}

// Role says which brokers a target means when its line strikes.
type Role uint8

// The roles. ISR and OSR mean every such replica, Rest every broker that the other side of a partition does not name;
// the others mean one broker.
const (
	Number     Role = iota // broker 2
	Leader                 // leader(orders/0)
	Follower               // follower(orders/0): one of them, drawn
	ISR                    // isr(orders/0)
	OSR                    // osr(orders/0): the replicas outside the ISR
	Controller             // controller: the active one
	Random                 // random: any broker that no fault holds down, drawn
	Rest                   // rest
	Clients                // clients: the workloads', at an end of a message's link
	Keeper                 // zookeeper: the server beside the brokers of older releases of Kafka
)

// Target names brokers by role or by number.
type Target struct {
	Role      Role
	Partition history.Partition // of Leader, Follower, ISR, OSR
	Broker    history.BrokerID  // of Number
}

// Shape is how a partition cuts.
type Shape uint8

// The shapes. A ring lets every broker hear from a majority, no two from the same one (Jepsen's majorities ring); a bridge
// splits the brokers in halves that only Targets can talk to both of.
const (
	Split  Shape = iota // X | Y: nothing passes between the sides
	OneWay              // X -> Y: nothing passes from X to Y
	Ring                // ring
	Bridge              // bridge X
)

// Fault is what is done to whom.
type Fault struct {
	Kind      world.Ability
	Targets   []Target          // whom; of a partition, a loss, a lag or a message the left side
	Shape     Shape             // of a partition, or a loss or a lag, which have no ring and no bridge
	Others    []Target          // of a partition, a loss, a lag or a message the right side
	Port      world.Port        // of a partition other than ring and bridge: what it cuts
	Share     float64           // of a loss: of the packets, those that are lost; of a lag: those that overtake
	Partition history.Partition // of elect; of faults on messages: what the messages must concern
	API       world.API         // of faults on messages: which
	Responses bool              // of them the answers, else the requests
	RaisesHW  bool              // of them those that raise the high watermark of Partition, which is zero where all partitions are meant
	Nth       int64             // of them the nth, from 1; 0: all
	By        time.Duration     // of late, delay and lag: how much
	Jitter    time.Duration     // of a lag: by how much it may be more or less
	Bytes     int64             // of throttle: a second
	Topic     string            // of recreate
	Rate      float64           // of clock: 1.05 is five per cent fast; of slowdisk: how many times longer the disk takes
	OnRead    bool              // of ioerror: the next read fails, not the next write
}

// String is the plan's canonical text: Parse(p.String()) is p.
func (p Plan) String() string {
	var when, what int
	for _, l := range p.Lines {
		when, what = max(when, len(l.Trigger.String())), max(what, len(l.Fault.String()))
	}
	var b strings.Builder
	for _, l := range p.Lines {
		b.WriteString(pad(l.Trigger.String(), when))
		b.WriteString("  ")
		if l.For == 0 {
			b.WriteString(l.Fault.String())
		} else {
			b.WriteString(pad(l.Fault.String(), what))
			b.WriteString("  for " + Lasting(l.For))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// columnMax keeps one very long line from pushing every other line's columns out of sight.
const columnMax = 72

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, min(width, columnMax)-len(s)))
}

// Needs lists the abilities that the plan needs, sorted.
func (p Plan) Needs() []world.Ability {
	var needs []world.Ability
	for _, l := range p.Lines {
		needs = append(needs, l.Fault.Kind)
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// Lags reports whether the plan delays packets, and whether it lets some overtake others.
func (p Plan) Lags() (any, overtake bool) {
	for _, l := range p.Lines {
		if l.Fault.Kind == world.CanLag {
			any, overtake = true, overtake || l.Fault.Share > 0
		}
	}
	return any, overtake
}

// String is the line's text, one space between words.
func (l Line) String() string {
	s := l.Trigger.String() + " " + l.Fault.String()
	if l.For != 0 {
		s += " for " + Lasting(l.For)
	}
	return s
}

// String is the trigger as plans write it.
func (t Trigger) String() string {
	if t.Plus > 0 {
		event := t
		event.Plus = 0
		return event.String() + " plus " + Lasting(t.Plus)
	}
	if t.Kind != AtTime && t.At > 0 {
		event := t
		event.At = 0
		return event.String() + " since " + Lasting(t.At)
	}
	switch t.Kind {
	case AfterAcks, AfterElections, AfterShrinks, AfterExpands, AfterCatches, AfterReleases:
		return t.count(counted[t.Kind])
	case WhenISR:
		return "when isr(" + t.Partition.String() + ") = " + strconv.FormatInt(t.Count, 10)
	case WhenLeader:
		who := "none"
		if t.Broker != history.NoBroker {
			who = number(t.Broker)
		}
		return "when leader(" + t.Partition.String() + ") = " + who
	default:
		return "at " + Lasting(t.At)
	}
}

// counted is what the triggers that come after so many count.
var counted = map[TriggerKind]string{
	AfterAcks: "acks", AfterElections: "elections", AfterShrinks: "shrinks", AfterExpands: "expands",
	AfterCatches: "catches", AfterReleases: "releases",
}

func (t Trigger) count(what string) string {
	s := "after " + strconv.FormatInt(t.Count, 10) + " " + what
	if t.Partition != (history.Partition{}) {
		s += " on " + t.Partition.String()
	}
	if t.Of != (Messages{}) {
		s += " of " + messageText(t.Of)
	}
	return s
}

// String is the fault as plans write it, without trigger and length.
func (f Fault) String() string {
	s := string(f.Kind)
	if k := kindOf(f.Kind); k != nil {
		s += " " + k.write(f)
	}
	return s
}

// sides is the two sides of a partition, a loss or a lag.
func (f Fault) sides() string {
	sign := " | "
	if f.Shape == OneWay {
		sign = " -> "
	}
	return list(f.Targets, Target.short) + sign + list(f.Others, Target.short)
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func list(ts []Target, text func(Target) string) string {
	words := make([]string, len(ts))
	for i, t := range ts {
		words[i] = text(t)
	}
	return strings.Join(words, ", ")
}

// String is the target as plans write it.
func (t Target) String() string {
	if t.Role == Number {
		return "broker " + number(t.Broker)
	}
	return t.short()
}

// short is the target as a side of a partition writes it: broker numbers stand alone.
func (t Target) short() string {
	switch t.Role {
	case Leader:
		return "leader(" + t.Partition.String() + ")"
	case Follower:
		return "follower(" + t.Partition.String() + ")"
	case ISR:
		return "isr(" + t.Partition.String() + ")"
	case OSR:
		return "osr(" + t.Partition.String() + ")"
	case Controller:
		return "controller"
	case Random:
		return "random"
	case Rest:
		return "rest"
	case Clients:
		return "clients"
	case Keeper:
		return "zookeeper"
	default:
		return number(t.Broker)
	}
}

func number(b history.BrokerID) string { return strconv.FormatInt(int64(b), 10) }

// Lasting is d as time.ParseDuration reads it, without the zero units that Duration.String adds (2m, not 2m0s).
func Lasting(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
