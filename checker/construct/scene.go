package construct

import (
	"math"
	"math/rand/v2"
	"slices"

	"tidemark/history"
)

const never = math.MaxInt64

// scene is a history in which a planter looks for a place: the log that it was made from, and when what became known.
type scene struct {
	*Case
	rng   *rand.Rand
	h     *history.History
	sends map[string]int   // position of the send of each value
	at    map[string]place // where each value stands in the log, the last of its copies
	shown [][]int64        // of each partition and offset: index of the first answer that showed it
	known [][]int64        // likewise: of the first entry that tells that it was in the log, answer or acknowledgement
	after [][]int64        // likewise: the earliest known of those behind it
	polls map[stream][]int // of each consumer and partition: its polls that succeeded, final ones left out
	start []history.Offset // log start of each partition
	lost  []int            // sends of unknown outcome that are not in the log
}

// place is an offset of a partition.
type place struct {
	part   int32
	offset history.Offset
}

// stream is what one consumer reads of one partition.
type stream struct {
	process int32
	part    int32
}

func newScene(rng *rand.Rand, c *Case) *scene {
	s := &scene{Case: c, rng: rng, h: c.History, sends: map[string]int{}, at: map[string]place{}, polls: map[stream][]int{},
		start: make([]history.Offset, len(c.Logs))}
	for _, log := range c.Logs {
		s.shown = append(s.shown, filled(len(log)))
		s.known = append(s.known, filled(len(log)))
	}
	for p, log := range c.Logs {
		for o := range log {
			if log[o].Value != "" {
				s.at[log[o].Value] = place{int32(p), history.Offset(o)}
			}
		}
	}
	for i := range s.h.Ops {
		s.index(i)
	}
	for p := range s.known {
		least, after := int64(never), make([]int64, len(s.known[p]))
		for o := len(after) - 1; o >= 0; o-- {
			after[o] = least
			least = min(least, s.known[p][o])
		}
		s.after = append(s.after, after)
	}
	for i := range s.h.Dumps {
		d := &s.h.Dumps[i]
		s.start[d.Partition.Index] = d.Start
	}
	return s
}

func filled(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = never
	}
	return out
}

func (s *scene) index(i int) {
	op := &s.h.Ops[i]
	p := op.Partition.Index
	switch {
	case op.Kind == history.Send:
		s.sends[op.Value] = i
		at, in := s.at[op.Value]
		switch {
		case in && op.Outcome == history.OK:
			s.known[p][at.offset] = min(s.known[p][at.offset], op.ReturnIndex)
		case !in && unknown(op):
			s.lost = append(s.lost, i)
		}
	case op.Kind == history.Poll && op.Outcome == history.OK:
		for r := range op.Records {
			o := op.Records[r].Offset
			s.shown[p][o] = min(s.shown[p][o], op.ReturnIndex)
			s.known[p][o] = min(s.known[p][o], op.ReturnIndex)
		}
		if !op.Final {
			key := stream{op.Process, p}
			s.polls[key] = append(s.polls[key], i)
		}
	}
}

func unknown(op *history.Op) bool {
	return op.Kind == history.Send && (op.Outcome == history.Info || op.Outcome == history.Pending)
}

func acked(op *history.Op) bool {
	return op.Kind == history.Send && op.Outcome == history.OK && !op.Marker
}

// pick returns the position of a random operation that ok accepts, or -1.
func (s *scene) pick(ok func(op *history.Op) bool) int {
	n := len(s.h.Ops)
	from := s.rng.IntN(max(1, n))
	for i := range n {
		if k := (from + i) % n; ok(&s.h.Ops[k]) {
			return k
		}
	}
	return -1
}

// poll picks a poll of the load that returned so many records at least.
func (s *scene) poll(records int) *history.Op {
	return s.op(s.pick(func(op *history.Op) bool {
		return op.Kind == history.Poll && op.Outcome == history.OK && !op.Final && len(op.Records) >= records
	}))
}

// ack picks an acknowledged write that stands in the log, above its start, where its acknowledgement says.
func (s *scene) ack(ok func(op *history.Op) bool) *history.Op {
	return s.op(s.pick(func(op *history.Op) bool {
		return acked(op) && op.Offset >= s.start[op.Partition.Index] && ok(op)
	}))
}

func (s *scene) op(i int) *history.Op {
	if i < 0 {
		return nil
	}
	return &s.h.Ops[i]
}

func anyOp(*history.Op) bool { return true }

// spare picks a write of unknown outcome that stands in the log once, above its start: nobody would miss it.
func (s *scene) spare(ok func(op *history.Op, at place) bool) (*history.Op, place) {
	op := s.op(s.pick(func(op *history.Op) bool {
		at, in := s.at[op.Value]
		return in && unknown(op) && at.offset >= s.start[at.part] && ok(op, at)
	}))
	if op == nil {
		return nil, place{}
	}
	return op, s.at[op.Value]
}

// absent picks a write of unknown outcome that never came into the log, sent to the partition before an index.
func (s *scene) absent(part int32, before int64) *history.Op {
	if len(s.lost) == 0 {
		return nil
	}
	from := s.rng.IntN(len(s.lost))
	for i := range s.lost {
		if op := &s.h.Ops[s.lost[(from+i)%len(s.lost)]]; op.Partition.Index == part && op.InvokeIndex < before {
			return op
		}
	}
	return nil
}

// successor is the answer that the same consumer got next of the partition, going on where the last one ended; nil if there is none, or if
// the consumer moved itself between the two.
func (s *scene) successor(op *history.Op) *history.Op {
	polls := s.polls[stream{op.Process, op.Partition.Index}]
	if i := slices.IndexFunc(polls, func(k int) bool { return s.h.Ops[k].ID == op.ID }); i >= 0 && i+1 < len(polls) {
		after := &s.h.Ops[polls[i+1]]
		for k := op.ID; k < after.ID; k++ {
			if seek := &s.h.Ops[k]; seek.Kind == history.Seek && seek.Process == op.Process && seek.Partition == op.Partition {
				return nil
			}
		}
		if n := len(op.Records); n > 0 && after.Position == op.Records[n-1].Offset+1 {
			return after
		}
	}
	return nil
}
