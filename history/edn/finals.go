package edn

import (
	"cmp"
	"math"
	"slices"

	"tidemark/history"
)

// sighting is a record that a poll returned.
type sighting struct {
	history.Record
	returned int64
}

// span is a stretch of offsets [from, to) that an answer went through.
type span struct{ from, to history.Offset }

// seen is what polls showed of a partition.
type seen struct {
	records []sighting
	spans   []span
}

// addFinals adds, for each partition, what all answers together showed of it as final reads of process -1: the last record that was seen
// at each offset, one read for each stretch of offsets that answers went through without a break. Consumers of a group go through all that
// lies between two answers of one of them, unless one of its polls failed, whose records nobody knows.
func (b *builder) addFinals() {
	parts := map[history.Partition]*seen{}
	var order []history.Partition
	for i := range b.h.Ops {
		op := &b.h.Ops[i]
		if op.Kind != history.Poll || op.Outcome != history.OK || len(op.Records) == 0 {
			continue
		}
		s := parts[op.Partition]
		if s == nil {
			s = &seen{}
			parts[op.Partition] = s
			order = append(order, op.Partition)
		}
		s.add(op)
	}
	slices.SortFunc(order, history.Partition.Compare)
	n := 0
	for _, p := range order {
		if !b.unread {
			parts[p].spans = append(parts[p].spans, b.passed[p]...)
		}
		for _, op := range parts[p].reads() {
			op.Partition, op.Invoke, op.Return = p, b.last, b.last
			op.InvokeIndex, op.ReturnIndex = b.entries<<entryShift|int64(n), b.entries<<entryShift|int64(n+1)
			n += 2
			b.h.Ops = append(b.h.Ops, op)
		}
	}
}

// add takes in an answer. Where offsets fall, another stretch begins.
func (s *seen) add(op *history.Op) {
	at := span{op.Position, op.Position}
	for _, r := range op.Records {
		if r.Offset < at.to {
			s.through(at)
			at.from = r.Offset
		}
		at.to = r.Offset
		if at.to < math.MaxInt64 {
			at.to++
		}
		s.records = append(s.records, sighting{r, op.ReturnIndex})
	}
	s.through(at)
}

func (s *seen) through(at span) {
	if at.from < at.to {
		s.spans = append(s.spans, at)
	}
}

// reads lays the answers together.
func (s *seen) reads() []history.Op {
	slices.SortFunc(s.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	slices.SortStableFunc(s.records, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.returned, b.returned))
	})
	var out []history.Op
	records := s.records
	for i := 0; i < len(s.spans); {
		whole := s.spans[i]
		for i++; i < len(s.spans) && s.spans[i].from <= whole.to; i++ {
			whole.to = max(whole.to, s.spans[i].to)
		}
		op := history.Op{Process: -1, Kind: history.Poll, Outcome: history.OK, Final: true, Broker: history.NoBroker, Epoch: -1,
			Offset: history.UnknownOffset, Position: whole.from, HW: history.UnknownOffset, LogStart: history.UnknownOffset}
		for ; len(records) > 0 && (records[0].Offset < whole.to || i == len(s.spans)); records = records[1:] {
			if len(records) > 1 && records[1].Offset == records[0].Offset {
				continue // seen again
			}
			op.Records = append(op.Records, records[0].Record)
		}
		out = append(out, op)
	}
	return out
}
