package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/history"
)

// InForce is a fault that was in force when a finding came about.
type InForce struct {
	Number  int                `json:"number"`            // of the plan's faults, from 1, as the report numbers them
	Kind    string             `json:"kind"`              // as plans write it
	What    string             `json:"what"`              // the plan's line without when and for how long
	Brokers []history.BrokerID `json:"brokers,omitempty"` // whom it struck; none is all, or clients
	From    int64              `json:"fromNanos"`         // when it began to strike, in nanoseconds since the run's start: see Strike
	Applied int64              `json:"appliedNanos"`      // when it was applied whole, never before From
	To      int64              `json:"toNanos"`           // when it was undone, -1 if it was not; what is done at once, as an election, has no length
	When    Moment             `json:"when"`
}

// Moment says when a fault was in force.
type Moment string

// The moments. A fault is told at the first that it was in force at.
const (
	WhenAcked Moment = "acknowledged" // when the record's producer got its acknowledgement
	WhenSent  Moment = "sent"         // while the producer waited for it, and over when it came
	WhenShown Moment = "shown"        // while the first operation that proves the finding was under way; of one without, at its first step
	// WhenLost is at an election, an ISR change, a truncation or an outage between the acknowledgement and the loss. What is done at once, as an
	// election that somebody asks for, is noted as applied when it is seen to be done; so it counts from when it was requested.
	WhenLost Moment = "lost"
)

// Strike is what tells from when on a fault was in force. A negative time is a phase that it never reached.
type Strike struct {
	Kind, Line                   string
	Brokers                      []history.BrokerID
	Requested, Applied, Observed int64 // nanoseconds since the run's start
}

// AtOnce reports whether a kind of fault has no length: when it is done, there is nothing left to undo.
func AtOnce(kind string) bool { return kind == "elect" || kind == "reassign" || kind == "recreate" }

// Begun is from when on the fault was in force. From its request, and not only when it was applied: what strikes several brokers one after the other, or
// ends them in order, has struck some long before the last. One on messages begins with the first that it met. Of what is done at once, only an
// election tells when that was: at the step that made its broker leader, else when it was applied.
func (s *Strike) Begun(steps []history.Step) int64 {
	switch {
	case s.Applied < 0 || OnMessages(s.Kind):
		return s.Observed
	case s.Requested < 0 || s.Requested > s.Applied:
		return s.Applied
	case !AtOnce(s.Kind):
		return s.Requested
	}
	for i := range steps {
		e := &steps[i]
		if at := int64(e.Time); s.Kind == "elect" && e.Kind == history.StepElection && at >= s.Requested && at <= s.Applied &&
			strings.HasSuffix(s.Line, " on "+e.Partition.String()) && (len(s.Brokers) == 0 || slices.Contains(s.Brokers, e.Broker)) {
			return at
		}
	}
	return s.Applied
}

// appliedLateMin is from when on it is told that a fault was applied whole later than it began.
const appliedLateMin = 100 * time.Millisecond

// AppliedLate reports whether a fault was applied whole so much later than it began that both are told. Times are nanoseconds.
func AppliedLate(kind string, begun, applied int64) bool {
	return applied-begun >= int64(appliedLateMin) && !AtOnce(kind) && !OnMessages(kind)
}

const (
	inForceMax     = 16 // faults that a witness carries
	inForceToldMax = 3  // faults that its words name at one moment
)

// life is a fault as the history tells it; a negative time is a phase that it never reached.
type life struct {
	InForce
	requested, observed, done int64 // done: what is done at once was seen to be
	failed                    bool
}

// lasted is from when to when a fault was in force.
func (l *life) lasted() interval { return interval{l.From, l.To} }

// worked is the same, but for what is done at once: that may have taken effect at any time since it was requested.
func (l *life) worked() interval {
	if l.To == l.From && l.requested >= 0 {
		return interval{l.requested, l.done}
	}
	return l.lasted()
}

// struck lists the faults that a probe saw take effect, and nobody found not to last, as they began.
func struck(h *history.History) []*life {
	var lives []*life
	index, lines := map[int]*life{}, map[int]string{}
	for i := range h.Faults {
		e := &h.Faults[i]
		l := index[e.Fault]
		if l == nil {
			l = &life{InForce: InForce{Number: e.Fault + 1, Kind: e.Kind, What: Deed(e.Kind, e.Line), From: -1, Applied: -1, To: -1}, requested: -1, observed: -1}
			index[e.Fault] = l
			lives = append(lives, l)
			lines[l.Number] = e.Line
		}
		if len(e.Targets) > 0 {
			l.Brokers = e.Targets
		}
		at := int64(e.Time)
		note := func(t *int64) {
			if *t < 0 {
				*t = at
			}
		}
		switch e.Phase {
		case history.FaultRequested:
			note(&l.requested)
		case history.FaultApplied:
			note(&l.Applied)
		case history.FaultObserved:
			note(&l.observed)
		case history.FaultUndone, history.FaultVerified:
			note(&l.To)
		case history.FaultFailed:
			l.failed = true
		}
	}
	var out []*life
	for _, l := range lives {
		if l.observed < 0 || l.failed {
			continue
		}
		s := Strike{l.Kind, lines[l.Number], l.Brokers, l.requested, l.Applied, l.observed}
		l.From, l.done = s.Begun(h.Steps), l.To
		if l.To == l.Applied && AtOnce(l.Kind) {
			l.To = l.From
		}
		l.Applied = max(l.Applied, l.From)
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b *life) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Number, b.Number)) })
	return out
}

// OnMessages reports whether a kind of fault waits for messages: it is in force from when it met the first.
func OnMessages(kind string) bool {
	switch kind {
	case "hold", "drop", "late", "delay", "throttle":
		return true
	default:
		return false
	}
}

// Deed is what a fault does: its plan line without its trigger and its length. kind is the fault's, which the line names.
func Deed(kind, line string) string {
	if at := strings.Index(" "+line, " "+kind+" "); at >= 0 && kind != "" {
		line = line[at:]
	}
	if at := strings.LastIndex(line, " for "); at > 0 {
		if _, err := time.ParseDuration(line[at+len(" for "):]); err == nil {
			line = line[:at]
		}
	}
	return line
}

// interval is a time from one moment to another, both included. A negative end is none.
type interval struct{ from, to int64 }

func (i interval) meets(j interval) bool {
	return (j.to < 0 || i.from <= j.to) && (i.to < 0 || j.from <= i.to)
}

// nameFaults enters into each finding which faults were in force when it came about, as fields and in words.
func nameFaults(h *history.History, findings []Finding) {
	faults := struck(h)
	if len(faults) == 0 {
		return
	}
	for i := range findings {
		f := &findings[i]
		first, when, lost := moments(h, f)
		for j := range faults {
			in := faults[j].InForce
			switch {
			case len(f.Witness.Faults) == inForceMax:
			case first != nil && faults[j].lasted().meets(*first):
				in.When = when
				if when == WhenAcked && in.To >= 0 && in.To < first.to {
					in.When = WhenSent
				}
			case slices.ContainsFunc(lost, faults[j].worked().meets):
				in.When = WhenLost
			}
			if in.When != "" {
				f.Witness.Faults = append(f.Witness.Faults, in)
			}
		}
		for _, m := range []Moment{WhenAcked, WhenSent, WhenShown, WhenLost} {
			f.Text += inForceWords(f.Witness.Faults, m)
		}
	}
}

// moments says when it mattered what was in force: while the operation that shows a finding was under way, and at what took its record away
// since.
func moments(h *history.History, f *Finding) (first *interval, when Moment, lost []interval) {
	w := &f.Witness
	taken := f.Class == LostWrite || f.Class == UncommittedRead
	when = WhenShown
	if op := shownBy(h, f, taken && w.Acked >= 0); op != nil {
		first = &interval{int64(op.Invoke), int64(max(op.Invoke, op.Return))}
		if op.Kind == history.Send && w.Acked >= 0 && op.Value == w.Value {
			when = WhenAcked
		}
	} else if len(w.Steps) > 0 {
		at := int64(w.Steps[0].Time)
		first = &interval{at, at}
	}
	if !taken || first == nil || w.Instead != nil {
		return first, when, nil
	}
	for i := range w.Steps {
		switch s := &w.Steps[i]; s.Kind {
		case history.StepElection, history.StepISR, history.StepTruncate, history.StepRecovery, history.StepDown:
			if at := int64(s.Time); at > first.to {
				lost = append(lost, interval{at, at})
			}
		}
	}
	return first, when, lost
}

// shownBy is the operation that shows a finding: the record's send where that is what is asked for, else an answer rather than a send, and no
// final read, which comes when every fault is undone. It is nil if there is none.
func shownBy(h *history.History, f *Finding, sent bool) *history.Op {
	var best *history.Op
	for _, id := range f.Ops[:min(len(f.Ops), witnessOps)] {
		i, ok := slices.BinarySearchFunc(h.Ops, id, func(op history.Op, id int64) int { return cmp.Compare(op.ID, id) })
		if !ok || h.Ops[i].Final {
			continue
		}
		op := &h.Ops[i]
		isSend := op.Kind == history.Send
		if sent && isSend && op.Value == f.Value || !sent && !isSend {
			return op
		}
		if best == nil {
			best = op
		}
	}
	return best
}

// inForceWords names the faults of a moment in a sentence; "" for none.
func inForceWords(faults []InForce, m Moment) string {
	var names []string
	left := 0
	for i := range faults {
		f := &faults[i]
		switch {
		case f.When != m:
		case len(names) == inForceToldMax:
			left++
		default:
			names = append(names, f.words())
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if left > 0 {
		more = fmt.Sprintf("; and %d more", left)
	}
	head := map[Moment]string{WhenAcked: "In force when it was acknowledged", WhenSent: "In force while its producer waited", WhenShown: "In force then", WhenLost: "In force on the way to its loss"}[m]
	return fmt.Sprintf(" %s: %s%s.", head, strings.Join(names, "; "), more)
}

// words names a fault with whom it struck, and from when to when.
func (f *InForce) words() string {
	on := ""
	switch len(f.Brokers) {
	case 0:
	case 1:
		on = fmt.Sprintf(" (broker %d)", f.Brokers[0])
	default:
		on = " (brokers " + list(f.Brokers) + ")"
	}
	return fmt.Sprintf("fault #%d, %s%s, %s", f.Number, f.What, on, f.Lasted(clock))
}

// Lasted says from when to when a fault was in force, each moment, in nanoseconds since the run's start, as clock writes it.
func (f *InForce) Lasted(clock func(nanos int64) string) string {
	when := "from " + clock(f.From) + ", never undone"
	switch {
	case f.To == f.From:
		when = "at " + clock(f.From)
	case f.To >= 0:
		when = "from " + clock(f.From) + " to " + clock(f.To)
	}
	if AppliedLate(f.Kind, f.From, f.Applied) {
		when += ", applied whole at " + clock(f.Applied)
	}
	return when
}
