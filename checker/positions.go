package checker

import (
	"cmp"
	"maps"
	"slices"

	"tidemark/history"
)

// reading is where a consumer reads on in a partition.
type reading struct {
	next  history.Offset // where its last answer ended, or where it moved itself since
	from  history.Offset // where its last answer ended
	moved bool           // it moved itself since its last answer: a seek
	start history.Offset // the highest log start that it was told, where brokers remove records unasked also by ListOffsets

	got    []span   // what its answers went through
	passed []passed // what it was moved past
}

// passed is a stretch that a consumer was moved past, and the poll after it.
type passed struct {
	span
	ended history.Offset // where its last answer before ended
	op    int32
}

// went takes in that an answer went through a stretch.
func (r *reading) went(from, to history.Offset) {
	if from >= to {
		return
	}
	if n := len(r.got); n > 0 && r.got[n-1].from <= from && from <= r.got[n-1].to {
		r.got[n-1].to = max(r.got[n-1].to, to)
		return
	}
	r.got = append(r.got, span{from, to})
}

// positions follows every consumer from answer to answer: it must go on where its last answer ended, or where it moved itself since. One that
// goes on beyond, over records of the log, skips them; of those that it moved itself past (it was told that its position is out of range, say) it
// never saw what no answer of its own ever holds, and that is an anomaly if other consumers were given it.
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
		f.seek(&f.c.h.Ops[f.seeks[0]])
		f.seeks = f.seeks[1:]
	}
	r := f.consumers[op.Process]
	if r == nil {
		r = &reading{next: op.Position, from: op.Position}
		f.consumers[op.Process] = r
	}
	r.start = max(r.start, f.c.mayBegin(op))
	if over := (span{max(r.from, r.start, f.c.mayHaveBegun(op)), r.next}); r.moved && over.from < over.to {
		r.passed = append(r.passed, passed{over, r.from, i})
	}
	back := len(op.Records) > 0 && op.Position < r.next && op.Records[0].Offset < r.next
	switch {
	case back:
		rec := &op.Records[0]
		f.anomalies = append(f.anomalies, anomaly{class: NonmonotonicPoll, part: f.c.part, offset: rec.Offset, value: rec.Value, send: f.c.sender(rec.Value), op: i,
			detail: r.began()})
	case op.Position > r.next:
		f.skipped(i, op, r)
	}
	r.went(max(op.Position, 0), end)
	if !back {
		end = max(end, r.next) // an answer without records leaves a consumer where it was
	}
	r.next, r.from, r.moved = end, end, false
}

// seek takes in that a consumer moved itself, or was told where the log begins. What a leader's retention has removed the next leader may still have,
// but whoever was told that it is gone need not come back for it.
func (f *positions) seek(op *history.Op) {
	r := f.consumers[op.Process]
	switch told := op.Kind == history.ListOffsets; {
	case told && r != nil && !f.c.dense:
		r.start = max(r.start, op.Offset)
	case told:
	case r == nil:
		f.consumers[op.Process] = &reading{next: op.Position, from: op.Position, moved: true}
	default:
		r.next, r.moved = op.Position, true
	}
}

// began says where a consumer had to go on.
func (r *reading) began() string {
	if r.moved {
		return "it had moved to offset " + itoa(int64(r.next))
	}
	return "its last answer ended at offset " + itoa(int64(r.next))
}

// skipped tells of the first record that a consumer was taken past without having moved itself, if there is any.
func (f *positions) skipped(i int32, op *history.Op, r *reading) {
	at := f.c.log.search(max(r.next, r.start))
	if at == len(f.c.log.slots) || f.c.log.slots[at].offset >= op.Position {
		return
	}
	s := &f.c.log.slots[at]
	f.anomalies = append(f.anomalies, anomaly{class: PollSkip, part: f.c.part, offset: s.offset, value: s.value, send: f.c.position(s.send), op: i,
		detail: r.began() + " and this one was asked from offset " + itoa(int64(op.Position))})
}

// finish tells, of each stretch that a consumer was moved past, the first record that others were given and it never was.
func (f *positions) finish() {
	for _, process := range slices.Sorted(maps.Keys(f.consumers)) {
		r := f.consumers[process]
		if len(r.passed) == 0 {
			continue
		}
		unseen := f.unseen(r)
		for _, p := range r.passed {
			n, _ := slices.BinarySearchFunc(unseen, p.from, func(s *slot, o history.Offset) int { return cmp.Compare(s.offset, o) })
			if n == len(unseen) || unseen[n].offset >= p.to {
				continue
			}
			s := unseen[n]
			f.anomalies = append(f.anomalies, anomaly{class: SeenBySome, part: f.c.part, offset: s.offset, value: s.value, send: f.c.position(s.send), op: p.op,
				detail: "its last answer ended at offset " + itoa(int64(p.ended)) + " and this one was asked from offset " + itoa(int64(f.c.h.Ops[p.op].Position))})
		}
	}
}

// unseen lists the records in reach of what a consumer was moved past that some consumer was given and it was not, in order.
func (f *positions) unseen(r *reading) []*slot {
	from, to := r.passed[0].from, r.passed[0].to
	for _, p := range r.passed {
		from, to = min(from, p.from), max(to, p.to)
	}
	got := mergeSpans(r.got)
	var out []*slot
	slots := f.c.log.slots
	for i := f.c.log.search(from); i < len(slots) && slots[i].offset < to; i++ {
		s := &slots[i]
		for len(got) > 0 && got[0].to <= s.offset {
			got = got[1:]
		}
		if s.given && (len(got) == 0 || s.offset < got[0].from) {
			out = append(out, s)
		}
	}
	return out
}
