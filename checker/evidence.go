package checker

import (
	"cmp"
	"slices"

	"tidemark/history"
)

// tellCorrupted looks at every record that nobody sent for the one that belongs at its offset: the one that the log holds there where only an
// answer showed other bytes; else the one that was acknowledged there and is nowhere else; else the one that an answer showed there. If there is
// one its bytes were changed, and the finding is about it; if there is none, somebody made the record up.
func (c *partCheck) tellCorrupted() {
	var acked, shown map[history.Offset]int32
	for i := range c.anomalies {
		a := &c.anomalies[i]
		if a.class != Phantom || a.send >= 0 {
			continue
		}
		if acked == nil {
			acked, shown = c.ackedAt(), c.shownAt()
		}
		send := int32(-1)
		if here := c.log.at(a.offset); here != nil && here.value != a.value {
			send = c.position(here.send)
		}
		if send < 0 {
			if by, ok := acked[a.offset]; ok {
				send = by
			} else if by, ok := shown[a.offset]; ok {
				send = by
			}
		}
		if send >= 0 {
			a.class, a.send, a.value, a.other = Corrupted, send, c.h.Ops[send].Value, a.value
		}
	}
}

// ackedAt finds the sends that are not in the log by the offsets of their acknowledgements.
func (c *partCheck) ackedAt() map[history.Offset]int32 {
	out := map[history.Offset]int32{}
	for i := range c.sent {
		w := &c.sent[i]
		if w.told && w.offset >= 0 && c.found[c.sends.first(nth(i))] <= 0 {
			out[w.offset] = w.op
		}
	}
	return out
}

// shownAt finds the sends that are not in the log by the offsets at which answers showed them.
func (c *partCheck) shownAt() map[history.Offset]int32 {
	out := map[history.Offset]int32{}
	for i := range c.anomalies {
		if a := &c.anomalies[i]; a.class == UncommittedRead && a.send >= 0 && c.found[c.sends.find(a.value)] <= 0 {
			out[a.offset] = a.send
		}
	}
	return out
}

// checkUnseen counts the acknowledged writes of which nothing tells whether they are in the log.
func (c *partCheck) checkUnseen() {
	for i := range c.sent {
		w := &c.sent[i]
		if c.found[i] != undecided || c.shown(w) {
			continue
		}
		c.note(anomaly{class: Unseen, part: c.part, offset: w.offset, value: w.value, send: w.op, op: -1})
	}
}

// shown reports whether a poll returned an acknowledged write that nothing at the end tells about. The observations must be in order.
func (c *partCheck) shown(w *write) bool {
	at, _ := slices.BinarySearchFunc(c.loose, w.offset, func(s sighting, o history.Offset) int { return cmp.Compare(s.offset, o) })
	for ; at < len(c.loose) && c.loose[at].offset == w.offset; at++ {
		if s := &c.loose[at]; s.value == w.value && s.send < 0 {
			return true
		}
	}
	return false
}
