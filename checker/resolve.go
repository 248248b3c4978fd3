package checker

import (
	"fmt"
	"slices"

	"tidemark/history"
)

// Resolved is what evidence makes of a send of unknown outcome.
type Resolved string

// The outcomes after the evidence. Open stays unknown: nothing proves the one or the other.
const (
	InLog     Resolved = "in the log"
	TakenBack Resolved = "read and taken back"
	Absent    Resolved = "absent"
	Open      Resolved = "open"
)

// Resolution is the evidence on one send whose outcome its client never learned. The history keeps the raw outcome; this stands beside it and
// changes nothing there.
type Resolution struct {
	Op       int64              `json:"op"`
	Raw      history.Outcome    `json:"raw"` // Pending or Info
	Outcome  Resolved           `json:"outcome"`
	Offset   history.Offset     `json:"offset"`            // where it stands or was read, UnknownOffset if nowhere
	Read     []int64            `json:"read,omitempty"`    // answers that showed it, the first of each kind: a consumer's, a final read
	HeldBy   []history.BrokerID `json:"heldBy,omitempty"`  // replicas whose dump holds it
	Because  string             `json:"because,omitempty"` // why it is absent or open
	position int32
	send     nth
}

// Resolve looks for evidence on every send of unknown outcome, in order of invocation. A send is absent only if nothing can bring it in any
// more and everything was looked at: its client was closed and drained before the cluster settled, the final reads went through the whole log
// after that, from offset 0 to the end, and no replica holds it, not even above its high watermark. What retention may have removed stays open.
func Resolve(run history.Run, h *history.History) []Resolution {
	c := newLogCheck(run, h, ContractOf(run))
	c.check()
	byPart := make([][]Resolution, len(c.parts))
	inParallel(len(c.parts), func(p int) { byPart[p] = c.parts[p].resolve() })
	out := slices.Concat(byPart...)
	slices.SortFunc(out, func(a, b Resolution) int { return int(a.position) - int(b.position) })
	return out
}

func (c *partCheck) resolve() []Resolution {
	var out []Resolution
	at := map[nth]int{} // by the send that its value is known by
	for i := range c.sent {
		w := &c.sent[i]
		if w.outcome == history.OK || w.outcome == history.Fail {
			continue
		}
		at[c.sends.first(nth(i))] = len(out)
		out = append(out, Resolution{Op: c.h.Ops[w.op].ID, Raw: w.outcome, Offset: history.UnknownOffset, position: w.op, send: nth(i)})
	}
	if len(out) == 0 {
		return nil
	}
	c.readEvidence(out, at)
	for _, d := range c.dumps {
		for r := range d.Records {
			if n, wanted := at[c.sends.find(d.Records[r].Value)]; wanted && !slices.Contains(out[n].HeldBy, d.Broker) {
				out[n].HeldBy = append(out[n].HeldBy, d.Broker)
			}
		}
	}
	for n := range out {
		c.decide(&out[n])
	}
	return out
}

// readEvidence finds the first answer to a consumer, and the first final read, that showed each value.
func (c *partCheck) readEvidence(out []Resolution, at map[nth]int) {
	final := map[int]bool{}
	for _, i := range c.polls {
		op := &c.h.Ops[i]
		if op.Outcome != history.OK {
			continue
		}
		for r := range op.Records {
			n, wanted := at[c.sends.find(op.Records[r].Value)]
			if !wanted || len(out[n].Read) > 0 && (!op.Final || final[n]) {
				continue
			}
			final[n] = op.Final
			out[n].Read = append(out[n].Read, op.ID)
			out[n].Offset = op.Records[r].Offset
		}
	}
}

// decide says what the evidence on one send comes to.
func (c *partCheck) decide(r *Resolution) {
	l := &c.log
	if f := c.found[c.sends.first(r.send)]; f > 0 && !l.slots[f-1].lapsed {
		r.Outcome, r.Offset = InLog, l.slots[f-1].offset
		return
	}
	r.Outcome = Open
	switch {
	case len(r.Read) > 0 && l.covers(r.Offset) && !c.trimmed(r.Offset):
		r.Outcome = TakenBack
	case len(r.Read) > 0:
		r.Because = "it was read, and nothing tells whether it stayed"
	case len(r.HeldBy) > 0:
		r.Because = fmt.Sprintf("broker %d holds it where nothing says that it is committed", r.HeldBy[0])
	case !c.settled:
		r.Because = "nothing tells that its client was drained before the log was read"
	case c.h.Ops[r.position].InvokeIndex > l.read:
		r.Because = "it was sent when the log was being read"
	case c.trimmed(0):
		r.Because = fmt.Sprintf("it may have stood below the log start %d", l.trimmedTo())
	case !l.whole():
		r.Because = "the log was not read from offset 0 to its end"
	case slices.ContainsFunc(c.h.Dumps, func(d history.Dump) bool { return d.Err != "" && d.Partition == c.h.Ops[r.position].Partition }):
		r.Because = "a replica's log could not be read"
	default:
		r.Outcome, r.Because = Absent, "its client was drained, and then the log was read from offset 0 to its end without it"
	}
}

// whole reports whether final reads went through every offset of a settled log from 0 on.
func (l *finalLog) whole() bool { return l.wholeFrom(0) }

// wholeFrom reports whether they went through every one from an offset on.
func (l *finalLog) wholeFrom(o history.Offset) bool {
	return l.ended && (l.end <= o || len(l.covered) == 1 && l.covered[0].from <= o)
}

// String tells a resolution in a line.
func (r Resolution) String() string {
	text := string(r.Outcome)
	if r.Offset >= 0 {
		text += fmt.Sprintf(" at offset %d", r.Offset)
	}
	if len(r.Read) > 0 {
		text += fmt.Sprintf(", read by operation %d", r.Read[0])
	}
	if len(r.Read) > 1 {
		text += fmt.Sprintf(" and at the end by %d", r.Read[1])
	}
	if len(r.HeldBy) > 0 {
		text += ", held by " + lower(brokers(r.HeldBy, "broker"))
	}
	if r.Because != "" {
		text += ": " + r.Because
	}
	return text
}
