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

// positions follows every consumer from answer to answer: it must go on where its last answer ended, unless it moved itself. One that goes on
// beyond, over records of the log, skips them; if it was moved (told that its position is out of range, say) and no answer of its own ever
// holds them, others saw what it never did.
//
// A history of Jepsen's does not tell where a poll began, so there is nothing to follow in one.
type positions struct {
	c         *partCheck
	seeks     []int32 // that are still to come
	consumers map[int32]*reading
	anomalies []anomaly
}

func newPositions(c *partCheck) *positions {
	return &positions{c: c, seeks: c.seeks, consumers: map[int32]*reading{}}
}

// follow takes in the next poll that succeeded, and where its answer ended.
func (f *positions) follow(i int32, op *history.Op, end history.Offset) {
	if op.Final || f.c.run.World == "" {
		return
	}
	for len(f.seeks) > 0 && f.seeks[0] < i {
		if r := f.consumers[f.c.h.Ops[f.seeks[0]].Process]; r != nil {
			r.moved = true
		}
		f.seeks = f.seeks[1:]
	}
	r := f.consumers[op.Process]
	if r == nil {
		r = &reading{next: op.Position}
		f.consumers[op.Process] = r
	}
	r.start = max(r.start, f.c.mayBegin(op.LogStart))
	switch {
	case op.Position < r.next && !r.moved && len(op.Records) > 0 && op.Records[0].Offset < r.next:
		rec := &op.Records[0]
		f.anomalies = append(f.anomalies, anomaly{class: NonmonotonicPoll, part: f.c.part, offset: rec.Offset, value: rec.Value, send: f.c.sender(rec.Value), op: i,
			detail: "its last answer ended at offset " + itoa(int64(r.next))})
	case op.Position > r.next:
		f.passedOver(i, op, r)
	}
	r.next, r.moved = end, false
}

// passedOver tells of the first record that a consumer was taken past, if there is any.
func (f *positions) passedOver(i int32, op *history.Op, r *reading) {
	at := f.c.log.search(max(r.next, r.start))
	if at == len(f.c.log.slots) || f.c.log.slots[at].offset >= op.Position {
		return
	}
	s := &f.c.log.slots[at]
	a := anomaly{class: PollSkip, part: f.c.part, offset: s.offset, value: s.value, send: f.c.position(s.send), op: i,
		detail: "its last answer ended at offset " + itoa(int64(r.next)) + " and this one was asked from offset " + itoa(int64(op.Position))}
	if r.moved {
		if f.c.gotBy(op.Process, s) {
			return
		}
		a.class = SeenBySome
	}
	f.anomalies = append(f.anomalies, a)
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
