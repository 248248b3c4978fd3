package checker

import "tidemark/history"

// portion is a stretch of the operations, counted and sorted by itself: several at the same time.
type portion struct {
	numbers numbering // in order of first use in the portion
	shares  []share   // by these numbers
}

// share is what a portion has of a partition.
type share struct {
	tally
	part *partCheck
}

// tally counts operations by kind; once all portions are counted, a share's says where in its partition it goes on.
type tally struct{ sends, polls, finals, seeks, lists, deletes int }

// tellsEnd reports whether an operation is a ListOffsets that was told where the log ends for consumers.
func tellsEnd(op *history.Op) bool {
	return op.Kind == history.ListOffsets && op.Position == history.Latest && op.Outcome == history.OK
}

// tellsStart reports whether an operation is a ListOffsets that was told where the log begins.
func tellsStart(op *history.Op) bool {
	return op.Kind == history.ListOffsets && op.Position == history.Earliest && op.Outcome == history.OK
}

func isFinal(op *history.Op) bool { return op.Final && op.Outcome == history.OK }

func (s *portion) count(ops []history.Op) {
	for i := range ops {
		op := &ops[i]
		n := s.numbers.of(op.Partition)
		if int(n) == len(s.shares) {
			s.shares = append(s.shares, share{})
		}
		t := &s.shares[n]
		switch op.Kind {
		case history.Send:
			t.sends++
		case history.Poll:
			t.polls++
			if isFinal(op) {
				t.finals++
			}
		case history.Seek:
			t.seeks++
		case history.ListOffsets:
			if tellsEnd(op) {
				t.lists++
			} else if tellsStart(op) {
				t.seeks++
			}
		case history.DeleteRecords:
			t.deletes++
		}
	}
}

// sort hands out the operations, of which the first is at a position of the history.
func (s *portion) sort(ops []history.Op, first int) {
	for i := range ops {
		op := &ops[i]
		at := int32(first + i)
		t := &s.shares[s.numbers.of(op.Partition)]
		switch op.Kind {
		case history.Send:
			t.part.sent[t.sends] = newWrite(op, at)
			t.sends++
		case history.Poll:
			t.part.polls[t.polls] = at
			t.polls++
			if isFinal(op) {
				t.part.finals[t.finals] = at
				t.finals++
			}
		case history.Seek:
			t.part.seeks[t.seeks] = at
			t.seeks++
		case history.ListOffsets:
			if tellsEnd(op) {
				t.part.lists[t.lists] = at
				t.lists++
			} else if tellsStart(op) {
				t.part.seeks[t.seeks] = at
				t.seeks++
			}
		case history.DeleteRecords:
			t.part.deletes[t.deletes] = at
			t.deletes++
		}
	}
}

// split sorts operations and dumps by partition.
func (c *logCheck) split() {
	ops := c.h.Ops
	portions := make([]portion, stretches(len(ops)))
	inStretches(len(ops), func(n, from, to int) { portions[n].count(ops[from:to]) })
	var totals []tally // by partition number
	for n := range portions {
		s := &portions[n]
		for i := range s.shares {
			t := &s.shares[i]
			t.part = c.partition(s.numbers.names[i])
			if int(t.part.part) == len(totals) {
				totals = append(totals, tally{})
			}
			before := &totals[t.part.part]
			here := t.tally
			t.tally = *before
			before.sends += here.sends
			before.polls += here.polls
			before.finals += here.finals
			before.seeks += here.seeks
			before.lists += here.lists
			before.deletes += here.deletes
		}
	}
	for n, t := range totals {
		p := c.parts[n]
		p.sent, p.found = make([]write, t.sends), make([]int32, t.sends)
		p.polls, p.finals, p.seeks = make([]int32, t.polls), make([]int32, t.finals), make([]int32, t.seeks)
		p.lists, p.deletes = make([]int32, t.lists), make([]int32, t.deletes)
	}
	inStretches(len(ops), func(n, from, to int) { portions[n].sort(ops[from:to], from) })
	for i := range c.h.Dumps {
		if d := &c.h.Dumps[i]; d.Err == "" {
			p := c.partition(d.Partition)
			p.dumps = append(p.dumps, d)
		}
	}
}

// partition returns the check of a partition, a new one where it is met for the first time.
func (c *logCheck) partition(p history.Partition) *partCheck {
	n := c.numbers.of(p)
	if int(n) == len(c.parts) {
		c.parts = append(c.parts, &partCheck{premises: &c.premises, part: n, log: finalLog{read: never, start: never}})
	}
	return c.parts[n]
}
