package checker

import (
	"math/rand/v2"
	"slices"

	"tidemark/history"
)

// planter turns a valid history into one with exactly one anomaly of a class; it returns false where the history offers no place for it.
type planter struct {
	class Class
	name  string
	plant func(rng *rand.Rand, h *history.History) bool
}

// allLogs calls fn for the records of every final read and dump of a partition through pointers, offset by offset.
func rewriteEnd(h *history.History, p history.Partition, o history.Offset, value string) {
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Final && op.Partition == p {
			for r := range op.Records {
				if op.Records[r].Offset == o {
					op.Records[r].Value = value
				}
			}
		}
	}
	for i := range h.Dumps {
		if d := &h.Dumps[i]; d.Partition == p {
			for r := range d.Records {
				if d.Records[r].Offset == o {
					d.Records[r].Value = value
				}
			}
		}
	}
}

func rewritePolls(h *history.History, p history.Partition, o history.Offset, value string) {
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Kind == history.Poll && op.Partition == p && !op.Final {
			for r := range op.Records {
				if op.Records[r].Offset == o {
					op.Records[r].Value = value
				}
			}
		}
	}
}

// appendEnd puts one more record at the end of a partition's log, everywhere.
func appendEnd(h *history.History, p history.Partition, value string) {
	last := -1
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Final && op.Partition == p {
			op.HW++
			last = i
		}
	}
	op := &h.Ops[last]
	op.Records = append(op.Records, history.Record{Offset: op.HW - 1, Value: value})
	for i := range h.Dumps {
		if d := &h.Dumps[i]; d.Partition == p {
			d.Records = append(d.Records, history.DumpRecord{Offset: d.LEO, Value: value})
			d.LEO++
			d.HW = d.LEO
		}
	}
}

// cutEnd removes the last record of a partition's log, everywhere.
func cutEnd(h *history.History, p history.Partition) {
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Final && op.Partition == p {
			op.HW--
			op.Records = slices.DeleteFunc(op.Records, func(r history.Record) bool { return r.Offset >= op.HW })
		}
	}
	for i := range h.Dumps {
		if d := &h.Dumps[i]; d.Partition == p {
			d.LEO--
			d.HW = min(d.HW, d.LEO)
			d.Records = d.Records[:len(d.Records)-1]
		}
	}
}

// pick returns a random operation that ok accepts, or nil.
func pick(rng *rand.Rand, h *history.History, ok func(*history.Op) bool) *history.Op {
	if len(h.Ops) == 0 {
		return nil
	}
	start := rng.IntN(len(h.Ops))
	for i := range h.Ops {
		if op := &h.Ops[(start+i)%len(h.Ops)]; ok(op) {
			return op
		}
	}
	return nil
}

func acked(op *history.Op) bool {
	return op.Kind == history.Send && op.Outcome == history.OK && !op.Marker
}

// inLog reports whether a value is in a partition's final log.
func inLog(h *history.History, p history.Partition, value string) bool {
	for i := range h.Dumps {
		if d := &h.Dumps[i]; d.Partition == p {
			return slices.ContainsFunc(d.Records, func(r history.DumpRecord) bool { return r.Value == value })
		}
	}
	return false
}

// absent picks an unknown write that never took effect.
func absent(rng *rand.Rand, h *history.History, p history.Partition) *history.Op {
	return pick(rng, h, func(op *history.Op) bool {
		return op.Kind == history.Send && op.Outcome == history.Info && op.Partition == p && !inLog(h, p, op.Value)
	})
}

func poll(rng *rand.Rand, h *history.History, records int) *history.Op {
	return pick(rng, h, func(op *history.Op) bool {
		return op.Kind == history.Poll && op.Outcome == history.OK && !op.Final && len(op.Records) >= records
	})
}

var planters = []planter{
	{LostWrite, "the log ends before it", func(rng *rand.Rand, h *history.History) bool {
		cutEnd(h, pick(rng, h, acked).Partition) // the marker was the last
		return true
	}},
	{LostWrite, "replaced by an unknown write", func(rng *rand.Rand, h *history.History) bool {
		var other *history.Op
		op := pick(rng, h, func(op *history.Op) bool {
			if !acked(op) {
				return false
			}
			other = pick(rng, h, func(o *history.Op) bool {
				return o.Kind == history.Send && o.Outcome == history.Info && o.Partition == op.Partition && o.InvokeIndex < op.ReturnIndex &&
					o.ReturnIndex > op.InvokeIndex && !inLog(h, op.Partition, o.Value)
			})
			return other != nil
		})
		if op == nil {
			return false
		}
		rewriteEnd(h, op.Partition, op.Offset, other.Value)
		return true
	}},
	{TwoValues, "one replica holds another value", func(rng *rand.Rand, h *history.History) bool {
		d := &h.Dumps[rng.IntN(len(h.Dumps))]
		if len(d.Records) < 2 {
			return false
		}
		i := rng.IntN(len(d.Records) - 1)
		d.Records[i].Value = d.Records[i+1].Value + "'"
		return true
	}},
	{TwoValues, "one replica has a hole", func(rng *rand.Rand, h *history.History) bool {
		d := &h.Dumps[rng.IntN(len(h.Dumps))]
		if len(d.Records) < 3 {
			return false
		}
		i := 1 + rng.IntN(len(d.Records)-2)
		d.Records = slices.Delete(d.Records, i, i+1)
		return true
	}},
	{Duplicate, "a copy at the end", func(rng *rand.Rand, h *history.History) bool {
		op := pick(rng, h, acked)
		if op == nil {
			return false
		}
		appendEnd(h, op.Partition, op.Value)
		return true
	}},
	{Phantom, "nobody sent it", func(rng *rand.Rand, h *history.History) bool {
		appendEnd(h, h.Dumps[0].Partition, "nobody")
		return true
	}},
	{Corrupted, "a consumer alone saw it", func(rng *rand.Rand, h *history.History) bool {
		op := poll(rng, h, 1)
		if op == nil {
			return false
		}
		op.Records[len(op.Records)-1].Value = "nobody"
		return true
	}},
	{AbortedRead, "a failed write in the log", func(rng *rand.Rand, h *history.History) bool {
		op := pick(rng, h, func(op *history.Op) bool { return op.Kind == history.Send && op.Outcome == history.Fail })
		if op == nil {
			return false
		}
		appendEnd(h, op.Partition, op.Value)
		return true
	}},
	{RealtimeOrder, "two writes change places", func(rng *rand.Rand, h *history.History) bool {
		var second *history.Op
		first := pick(rng, h, func(first *history.Op) bool {
			if !acked(first) {
				return false
			}
			second = pick(rng, h, func(op *history.Op) bool {
				return acked(op) && op.Partition == first.Partition && op.Process != first.Process && op.InvokeIndex > first.ReturnIndex &&
					op.Offset == first.Offset+1
			})
			// a poll may have seen the first before the second was sent, which would be a phantom after the change
			return second != nil && pick(rng, h, func(op *history.Op) bool {
				return op.Kind == history.Poll && op.Partition == first.Partition && op.ReturnIndex < second.InvokeIndex &&
					slices.ContainsFunc(op.Records, func(r history.Record) bool { return r.Offset == first.Offset })
			}) == nil
		})
		if first == nil {
			return false
		}
		p, a, b := first.Partition, first.Offset, second.Offset
		rewriteEnd(h, p, a, second.Value)
		rewriteEnd(h, p, b, first.Value)
		rewritePolls(h, p, a, second.Value)
		rewritePolls(h, p, b, first.Value)
		first.Offset, second.Offset = b, a
		return true
	}},
	{UncommittedRead, "read and not there at the end", func(rng *rand.Rand, h *history.History) bool {
		op := poll(rng, h, 1)
		if op == nil {
			return false
		}
		other := absent(rng, h, op.Partition)
		if other == nil || other.InvokeIndex > op.ReturnIndex {
			return false
		}
		op.Records[len(op.Records)-1].Value = other.Value
		return true
	}},
	{NonmonotonicPoll, "the answer begins before the position", func(rng *rand.Rand, h *history.History) bool {
		op := poll(rng, h, 1)
		if op == nil {
			return false
		}
		op.Position++
		return true
	}},
	{NonmonotonicPoll, "two records of an answer change places", func(rng *rand.Rand, h *history.History) bool {
		op := poll(rng, h, 2)
		if op == nil {
			return false
		}
		n := len(op.Records)
		op.Records[n-1], op.Records[n-2] = op.Records[n-2], op.Records[n-1]
		return true
	}},
	{PollSkip, "a record is missing inside an answer", func(rng *rand.Rand, h *history.History) bool {
		op := poll(rng, h, 2)
		if op == nil {
			return false
		}
		i := rng.IntN(len(op.Records) - 1)
		op.Records = slices.Delete(op.Records, i, i+1)
		return true
	}},
	{AckOffsetMismatch, "acknowledged elsewhere", func(rng *rand.Rand, h *history.History) bool {
		op := pick(rng, h, func(op *history.Op) bool { return acked(op) && op.Offset > 0 })
		if op == nil {
			return false
		}
		op.Offset = 0
		return true
	}},
	{NotSettled, "the bound passed", func(rng *rand.Rand, h *history.History) bool {
		for i := range h.Marks {
			if h.Marks[i].Name == "settle" {
				h.Marks[i].Failed = true
			}
		}
		return true
	}},
}
