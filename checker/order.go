package checker

import (
	"cmp"
	"slices"

	"tidemark/history"
)

// checkOrder looks for a record that stands before one that was in the log before it was sent. "Was in the log" is known from the
// acknowledgement or from the first answer that showed it. One pass from the log's end down, keeping the earliest such moment above: the
// record at hand must have been sent before it. Where one producer sent both, that is what is told: it went back behind its own.
//
// Of a value that a retry repeated every copy is judged, and the acknowledgement is that of the copy at its offset alone: another may have
// come into the log at any time since the value was sent.
//
// It judges only records that stand in the log at the end, so a loss that the contract allows never looks like a change of order; where the
// contract keeps what was acknowledged or read, also those that were removed and, of what was acknowledged, those that nothing at the end tells
// about. And a record that was shown before it was sent is a phantom.
func (c *partCheck) checkOrder() {
	c.checkWithin()
	slots := c.ordered()
	earliest, by := int64(never), nth(-1)
	var own map[int32]nth // by process: its send above that was in the log first; from the first anomaly on
	for i := len(slots) - 1; i >= 0; i-- {
		s := &slots[i]
		if s.send < 0 || c.resent(s.send) {
			continue
		}
		w := &c.sent[s.send]
		if s.seen < w.invokeIndex {
			c.report(anomaly{class: Phantom, part: c.part, offset: s.offset, value: s.value, send: w.op, op: -1,
				detail: "it was read before it was sent"})
			continue
		}
		if s.told || s.lapsed {
			continue
		}
		if w.invokeIndex > earliest {
			if own == nil {
				own = c.producers(slots[i+1:])
			}
			a := anomaly{class: RealtimeOrder, part: c.part, offset: s.offset, value: s.value, send: w.op, op: c.sent[by].op, other: c.sent[by].value}
			if before, ok := own[c.process(w)]; ok && c.sent[before].returnIndex < w.invokeIndex {
				a.class, a.op, a.other = NonmonotonicSend, c.sent[before].op, c.sent[before].value
			}
			c.report(a)
			continue
		}
		known := c.known(s)
		if known < earliest {
			earliest, by = known, s.send
		}
		if own != nil && c.ackedHere(s) {
			c.earlier(own, s.send)
		}
	}
}

// checkWithin looks for sends of one operation of Jepsen's that stand in another order than it names them: what a process has under way at one time
// is one operation's.
func (c *partCheck) checkWithin() {
	if c.run.World != "" {
		return
	}
	last := map[int32]nth{} // by process: the send that stands furthest of its operation
	for n := range c.sent {
		i, w := nth(n), &c.sent[n]
		at, stands := c.standsAt(i)
		if !stands {
			continue
		}
		before, known := last[c.process(w)]
		if known && c.sent[before].returnIndex > w.invokeIndex {
			if o, _ := c.standsAt(before); o > at {
				c.report(anomaly{class: NonmonotonicSend, part: c.part, offset: at, value: w.value, send: w.op, op: c.sent[before].op, other: c.sent[before].value})
				continue
			}
		}
		last[c.process(w)] = i
	}
}

// standsAt is where an acknowledged send that was sent once stands in the log.
func (c *partCheck) standsAt(i nth) (history.Offset, bool) {
	if !c.sent[i].told || c.found[i] <= 0 || c.resent(i) {
		return 0, false
	}
	s := &c.log.slots[c.found[i]-1]
	return s.offset, !s.told
}

// known is the index by which a record was in the log.
func (c *partCheck) known(s *slot) int64 {
	if c.ackedHere(s) {
		return min(s.seen, c.sent[s.send].returnIndex)
	}
	return s.seen
}

// ackedHere reports whether the acknowledgement of a record's send is of the record at its offset, and not of a copy.
func (c *partCheck) ackedHere(s *slot) bool {
	w := &c.sent[s.send]
	return w.told && (w.offset == s.offset || !c.mayRepeat(&c.h.Ops[w.op]))
}

// ordered is the log with the acknowledgements that nothing at the end tells about, where they must stay.
func (c *partCheck) ordered() []slot {
	if len(c.loose) == 0 || !c.contract.Durable {
		return c.log.slots
	}
	var more []slot
	for i := range c.loose {
		s := &c.loose[i]
		if s.send >= 0 && c.found[s.send] == undecided {
			more = append(more, slot{offset: s.offset, value: s.value, send: s.send, seen: never})
		}
	}
	slices.SortStableFunc(more, func(a, b slot) int { return cmp.Compare(a.offset, b.offset) })
	return mergeSlots(c.log.slots, more)
}

// producers finds, by process, the acknowledged send of a stretch of the log that its process sent first.
func (c *partCheck) producers(slots []slot) map[int32]nth {
	own := map[int32]nth{}
	for i := range slots {
		s := &slots[i]
		if s.send < 0 || s.told || s.lapsed || c.resent(s.send) || !c.ackedHere(s) {
			continue
		}
		c.earlier(own, s.send)
	}
	return own
}

// earlier enters a send for its process if it returned before the one that stands there.
func (c *partCheck) earlier(own map[int32]nth, i nth) {
	process := c.process(&c.sent[i])
	if before, ok := own[process]; !ok || c.sent[i].returnIndex < c.sent[before].returnIndex {
		own[process] = i
	}
}

func (c *partCheck) process(w *write) int32 { return c.h.Ops[w.op].Process }

func (c *partCheck) resent(send nth) bool {
	_, again := c.sends.again[send]
	return again
}
