package construct

import (
	"tidemark/history"
)

// nobody is a value that nobody sends.
const nobody = "nobody's"

// logPlanters change what the log holds at the end.
var logPlanters = []Planter{
	{"lost acknowledged write", "the log ends before it", nil, func(s *scene) *Planted {
		marker := s.op(s.pick(func(op *history.Op) bool { return op.Marker }))
		s.shorten(marker.Partition.Index)
		return s.planted(marker.Partition.Index, marker.Offset, marker.Value, marker)
	}},
	{"lost acknowledged write", "an unknown write stands in its place", nil, func(s *scene) *Planted {
		var other *history.Op
		op := s.ack(func(op *history.Op) bool {
			p := op.Partition.Index
			other = s.absent(p, min(s.after[p][op.Offset], op.ReturnIndex))
			return other != nil
		})
		if op == nil {
			return nil
		}
		s.replace(place{op.Partition.Index, op.Offset}, other.Value, false)
		return s.planted(op.Partition.Index, op.Offset, op.Value, op)
	}},
	{"lost acknowledged write", "every log has a hole", nil, func(s *scene) *Planted {
		op := s.ack(anyOp)
		if op == nil {
			return nil
		}
		s.replace(place{op.Partition.Index, op.Offset}, "", false)
		return s.planted(op.Partition.Index, op.Offset, op.Value, op)
	}},
	{"two values at one offset", "one replica holds an unknown write", nil, func(s *scene) *Planted {
		d := s.dump(1)
		if d == nil {
			return nil
		}
		p := d.Partition.Index
		r := &d.Records[s.rng.IntN(len(d.Records))]
		other := s.absent(p, s.after[p][r.Offset])
		if other == nil {
			return nil
		}
		r.Value = other.Value
		return s.planted(p, r.Offset, "")
	}},
	{"two values at one offset", "one replica has a hole", nil, func(s *scene) *Planted {
		d := s.dump(3)
		if d == nil {
			return nil
		}
		o := d.Records[1+s.rng.IntN(len(d.Records)-2)].Offset
		replaceIn(d, o, "")
		return s.planted(d.Partition.Index, o, "")
	}},
	{"two values at one offset", "two final reads differ", nil, func(s *scene) *Planted {
		op := s.ack(anyOp)
		if op == nil {
			return nil
		}
		p := op.Partition.Index
		other := s.absent(p, s.after[p][op.Offset])
		if other == nil {
			return nil
		}
		again := *s.final(place{p, op.Offset})
		again.ID, again.InvokeIndex, again.ReturnIndex = int64(len(s.h.Ops)), again.ReturnIndex+1, again.ReturnIndex+1
		again.Process += int32(s.Run.Writers + s.Run.Readers + 2) // who has the first may have the next under way
		again.Records = replaced(append([]history.Record{}, again.Records...), op.Offset, other.Value)
		s.h.Ops = append(s.h.Ops, again)
		return s.planted(p, op.Offset, "")
	}},
	{"duplicate", "a copy stands in place of an unknown write", nil, func(s *scene) *Planted {
		var first *history.Op
		spare, at := s.spare(func(_ *history.Op, at place) bool {
			first = s.ack(func(op *history.Op) bool {
				return op.Partition.Index == at.part && op.Offset < at.offset && op.InvokeIndex < min(s.after[at.part][at.offset], s.shown[at.part][at.offset])
			})
			return first != nil
		})
		if spare == nil {
			return nil
		}
		s.replace(at, first.Value, true)
		return s.planted(at.part, at.offset, first.Value, first)
	}},
	{"duplicate", "a copy at the end", nil, func(s *scene) *Planted {
		op := s.ack(anyOp)
		if op == nil {
			return nil
		}
		return s.planted(op.Partition.Index, s.extend(op.Partition.Index, op.Value), op.Value, op)
	}},
	{"phantom", "it stands in place of an unknown write", nil, func(s *scene) *Planted {
		spare, at := s.spare(func(*history.Op, place) bool { return true })
		if spare == nil {
			return nil
		}
		s.replace(at, nobody, true)
		return s.planted(at.part, at.offset, nobody)
	}},
	{"phantom", "it stands at the end", nil, func(s *scene) *Planted {
		p := int32(s.rng.IntN(len(s.Logs)))
		return s.planted(p, s.extend(p, nobody), nobody)
	}},
	{"corrupted value", "it stands in place of an acknowledged write", nil, func(s *scene) *Planted {
		op := s.ack(anyOp)
		if op == nil {
			return nil
		}
		s.replace(place{op.Partition.Index, op.Offset}, nobody, s.rng.IntN(2) == 0)
		return s.planted(op.Partition.Index, op.Offset, op.Value, op)
	}},
	{"two values at one offset", "one replica holds what nobody sent", nil, func(s *scene) *Planted {
		d := s.dump(1)
		if d == nil {
			return nil
		}
		r := &d.Records[s.rng.IntN(len(d.Records))]
		r.Value = nobody
		return s.planted(d.Partition.Index, r.Offset, "")
	}},
	{"read of a failed write", "it stands in place of an unknown write", nil, func(s *scene) *Planted {
		var failed *history.Op
		spare, at := s.spare(func(_ *history.Op, at place) bool {
			failed = s.refused(at.part, min(s.after[at.part][at.offset], s.shown[at.part][at.offset]))
			return failed != nil
		})
		if spare == nil {
			return nil
		}
		s.replace(at, failed.Value, true)
		return s.planted(at.part, at.offset, failed.Value, failed)
	}},
	{"read of a failed write", "it stands at the end", nil, func(s *scene) *Planted {
		op := s.refused(int32(s.rng.IntN(len(s.Logs))), never)
		if op == nil {
			return nil
		}
		return s.planted(op.Partition.Index, s.extend(op.Partition.Index, op.Value), op.Value, op)
	}},
	{"order against real time", "two producers' writes change places", nil, func(s *scene) *Planted {
		return s.swap(false)
	}},
	{"order against real time", "an unknown write stands before one that was acknowledged when it was sent", nil, func(s *scene) *Planted {
		var other *history.Op
		spare, at := s.spare(func(op *history.Op, at place) bool {
			for _, k := range s.lost {
				o := &s.h.Ops[k]
				if o.Partition.Index == at.part && o.InvokeIndex > s.after[at.part][at.offset] && o.InvokeIndex < s.shown[at.part][at.offset] &&
					!s.ownAfter(o, at) {
					other = o
					return true
				}
			}
			return false
		})
		if spare == nil {
			return nil
		}
		s.replace(at, other.Value, true)
		return s.planted(at.part, at.offset, other.Value, other)
	}},
	{"producer goes back", "two of its writes change places", nil, func(s *scene) *Planted {
		return s.swap(true)
	}},
	{"acknowledged at another offset", "the acknowledgement names another record's offset", nil, func(s *scene) *Planted {
		op := s.ack(func(op *history.Op) bool { return op.Offset > 0 })
		if op == nil {
			return nil
		}
		at := op.Offset
		for op.Offset == at {
			op.Offset = history.Offset(s.rng.Int64N(int64(at) + 1))
		}
		return s.planted(op.Partition.Index, op.Offset, op.Value, op)
	}},
	{"acknowledged at another offset", "the acknowledgement names offset 0", nil, func(s *scene) *Planted {
		op := s.ack(func(op *history.Op) bool { return op.Offset > 0 })
		if op == nil {
			return nil
		}
		op.Offset = 0
		return s.planted(op.Partition.Index, 0, op.Value, op)
	}},
}

// refused picks a definitely failed write that was sent to a partition before an index.
func (s *scene) refused(part int32, before int64) *history.Op {
	return s.op(s.pick(func(op *history.Op) bool {
		return op.Kind == history.Send && op.Outcome == history.Fail && op.Partition.Index == part && op.InvokeIndex < before
	}))
}

// client is the client that a process belongs to.
func (s *scene) client(process int32) int32 { return process % int32(s.Run.Writers+s.Run.Readers+2) }

// swap has two acknowledged writes change places that stand next to each other, the one acknowledged before the other was sent; of one
// producer or of two.
func (s *scene) swap(same bool) *Planted {
	var second *history.Op
	first := s.ack(func(op *history.Op) bool {
		p, o := op.Partition.Index, op.Offset
		if o+1 >= s.end(p) {
			return false
		}
		k, sent := s.sends[s.Logs[p][o+1].Value]
		if !sent {
			return false
		}
		second = &s.h.Ops[k]
		return acked(second) && second.Offset == o+1 && second.InvokeIndex > op.ReturnIndex && s.shown[p][o] > second.InvokeIndex &&
			(same && op.Process == second.Process || !same && s.client(op.Process) != s.client(second.Process))
	})
	if first == nil {
		return nil
	}
	p := first.Partition.Index
	a, b := first.Offset, second.Offset
	s.replace(place{p, a}, second.Value, true)
	s.replace(place{p, b}, first.Value, true)
	for i := range s.h.Ops { // an answer that ended between the two shows the one that was there
		op := &s.h.Ops[i]
		if n := len(op.Records); op.Kind == history.Poll && op.Partition.Index == p && n > 0 && op.ReturnIndex < second.InvokeIndex && op.Records[n-1].Offset == a {
			return nil
		}
	}
	first.Offset, second.Offset = b, a
	return s.planted(p, a, second.Value, first, second)
}

// ownAfter reports whether a producer has a write behind a place that was acknowledged before it sent another.
func (s *scene) ownAfter(op *history.Op, at place) bool {
	for o := at.offset + 1; o < s.end(at.part); o++ {
		if k, sent := s.sends[s.Logs[at.part][o].Value]; sent {
			own := &s.h.Ops[k]
			if s.client(own.Process) == s.client(op.Process) && own.Outcome == history.OK && own.ReturnIndex < op.InvokeIndex {
				return true
			}
		}
	}
	return false
}
