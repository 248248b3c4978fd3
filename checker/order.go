package checker

import "tidemark/history"

// checkOrder looks for a record that stands before one that was in the log before it was sent. "Was in the log" is known from the
// acknowledgement or from the first answer that showed it. One pass from the log's end down, keeping the earliest such moment above: the
// record at hand must have been sent before it.
//
// Of a value that a retry repeated every copy is judged, and the acknowledgement is that of the copy at its offset alone: another may have
// come into the log at any time since the value was sent.
//
// It judges only records that stand in the log at the end, so a loss that the contract allows never looks like a change of order. And a record
// that was shown before it was sent is a phantom.
func (c *partCheck) checkOrder() {
	ops, slots := c.h.Ops, c.log.slots
	earliest, by := int64(never), int32(-1)
	for i := len(slots) - 1; i >= 0; i-- {
		s := &slots[i]
		if s.send < 0 || s.told || c.resent(s.send) {
			continue
		}
		op := &ops[s.send]
		if s.seen < op.InvokeIndex {
			c.report(anomaly{class: Phantom, part: c.part, offset: s.offset, value: s.value, send: s.send, op: -1,
				detail: "it was read before it was sent"})
			continue
		}
		if op.InvokeIndex > earliest {
			c.report(anomaly{class: RealtimeOrder, part: c.part, offset: s.offset, value: s.value, send: s.send, op: by,
				other: ops[by].Value})
			continue
		}
		known := s.seen
		if op.Outcome == history.OK && op.Acks != 0 && (op.Offset == s.offset || !c.mayRepeat(op)) {
			known = min(known, op.ReturnIndex)
		}
		if known < earliest {
			earliest, by = known, s.send
		}
	}
}

func (c *partCheck) resent(send int32) bool {
	_, again := c.sends.again[send]
	return again
}
