package checker

import (
	"slices"

	"tidemark/history"
)

// reading is where a consumer reads on in a partition.
type reading struct {
	next  history.Offset
	start history.Offset // the highest log start that it was told
	moved bool           // it moved itself since its last answer: a seek
}

// checkPositions follows every consumer from answer to answer: it must go on where its last answer ended, unless it moved itself. One that
// goes on beyond, over records of the log, skips them; if it was moved (told that its position is out of range, say) and no answer of its own
// ever holds them, others saw what it never did.
//
// A history of Jepsen's does not tell where a poll began, so there is nothing to follow in one.
func (c *partCheck) checkPositions() {
	if c.run.World == "" {
		return
	}
	consumers := map[int32]*reading{}
	seeks := c.seeks
	for n, i := range c.polls {
		op := &c.h.Ops[i]
		if op.Final || op.Outcome != history.OK {
			continue
		}
		for len(seeks) > 0 && seeks[0] < i {
			if r := consumers[c.h.Ops[seeks[0]].Process]; r != nil {
				r.moved = true
			}
			seeks = seeks[1:]
		}
		r := consumers[op.Process]
		if r == nil {
			r = &reading{next: op.Position}
			consumers[op.Process] = r
		}
		r.start = max(r.start, op.LogStart)
		switch {
		case op.Position < r.next && !r.moved && len(op.Records) > 0 && op.Records[0].Offset < r.next:
			rec := &op.Records[0]
			c.report(anomaly{class: NonmonotonicPoll, part: c.part, offset: rec.Offset, value: rec.Value, send: c.sends.find(rec.Value), op: i,
				detail: "its last answer ended at offset " + itoa(int64(r.next))})
		case op.Position > r.next:
			c.passedOver(i, op, r)
		}
		r.next, r.moved = c.ends[n], false
	}
}

// passedOver tells of the first record that a consumer was taken past, if there is any.
func (c *partCheck) passedOver(i int32, op *history.Op, r *reading) {
	at := c.log.search(max(r.next, r.start))
	if at == len(c.log.slots) || c.log.slots[at].offset >= op.Position {
		return
	}
	s := &c.log.slots[at]
	a := anomaly{class: PollSkip, part: c.part, offset: s.offset, value: s.value, send: s.send, op: i,
		detail: "its last answer ended at offset " + itoa(int64(r.next)) + " and this one was asked from offset " + itoa(int64(op.Position))}
	if r.moved {
		if c.gotBy(op.Process, s) {
			return
		}
		a.class = SeenBySome
	}
	c.report(a)
}

// gotBy reports whether an answer of a consumer holds a record.
func (c *partCheck) gotBy(process int32, s *slot) bool {
	if c.answers == nil {
		c.answers = map[int32][]int32{}
		for _, i := range c.polls {
			c.answers[c.h.Ops[i].Process] = append(c.answers[c.h.Ops[i].Process], i)
		}
	}
	return slices.ContainsFunc(c.answers[process], func(i int32) bool {
		return slices.Contains(c.h.Ops[i].Records, history.Record{Offset: s.offset, Value: s.value})
	})
}
