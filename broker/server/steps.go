package server

import (
	"sync"
	"time"

	"tidemark/broker"
	"tidemark/broker/kafka"
	"tidemark/broker/server/debug"
)

// steps remembers the last protocol steps: a ring, in which a step has its sequence number's place.
type steps struct {
	mu   sync.Mutex
	ring []debug.Step
	max  int
	next int64 // the number of the next step
}

func newSteps(most int) steps { return steps{max: most} }

// add takes down what a node reports.
func (st *steps) add(out *broker.Output) {
	if len(out.Steps)+len(out.ISR) == 0 {
		return
	}
	now := time.Now().UnixNano()
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range out.Steps {
		s := &out.Steps[i]
		st.push(debug.Step{
			Time: now, Kind: string(s.Kind), Topic: s.Partition.Topic, Partition: s.Partition.Index, Epoch: int32(s.Epoch),
			Peer: int32(s.Peer), From: int64(s.From), To: int64(s.To), Detail: s.Detail,
		})
	}
	for i := range out.ISR {
		s := &out.ISR[i]
		st.push(debug.Step{
			Time: now, Kind: debug.ISRStep, Topic: s.Partition.Topic, Partition: s.Partition.Index, Epoch: int32(s.Epoch),
			Peer: int32(s.Leader), From: -1, To: -1, Detail: s.Detail, ISR: numbers(s.ISR), PartitionEpoch: s.PartitionEpoch, Unclean: s.Unclean,
		})
	}
}

func (st *steps) push(s debug.Step) {
	s.Seq = st.next
	st.next++
	if len(st.ring) < st.max {
		st.ring = append(st.ring, s)
		return
	}
	st.ring[s.Seq%int64(st.max)] = s
}

// from returns at most so many steps from a number on, how many of those asked for are forgotten, and where the next ones begin.
func (st *steps) from(seq int64, most int) (out []debug.Step, lost, next int64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	seq = min(max(seq, 0), st.next)
	first := max(seq, st.next-int64(len(st.ring)))
	next = min(first+int64(most), st.next)
	out = make([]debug.Step, 0, next-first)
	for n := first; n < next; n++ {
		out = append(out, st.ring[n%int64(st.max)])
	}
	return out, first - seq, next
}

// count is how many steps there were.
func (st *steps) count() int64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.next
}

func numbers(ids []kafka.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}
