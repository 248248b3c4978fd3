package franz

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/history"
	"tidemark/workloads"
)

// pollWait is how long a poll waits for the first record, as the raw consumer's.
const pollWait = 100 * time.Millisecond

// consumer polls every partition, which are assigned to it, from the start on. One of its polls is an operation on each partition, each
// under a process number of its own. Where none of a partition's records came, the operation succeeded without records: kgo keeps to itself
// whether its broker answered.
type consumer struct {
	seat      *workloads.Seat
	client    *kgo.Client
	processes []int32
	positions []history.Offset
	pending   []int64 // operation of each partition that is under way, -1 if none
}

// Consume is the life of a consumer.
func (c *Clients) Consume(seat *workloads.Seat, until time.Duration) {
	n := seat.Parts
	k := &consumer{seat: seat, processes: make([]int32, n), positions: make([]history.Offset, n), pending: make([]int64, n)}
	from := make(map[int32]kgo.Offset, n)
	for i := range n {
		from[int32(i)] = kgo.NewOffset().AtStart()
		k.processes[i], k.pending[i] = seat.Process(), -1
	}
	opts := []kgo.Opt{kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{seat.Topic: from})}
	if seat.Nearby {
		brokers := seat.Cluster.Brokers()
		opts = append(opts, kgo.Rack(workloads.RackOf(brokers[seat.Index%len(brokers)])))
	}
	client, ok := c.open(seat, opts...)
	if !ok {
		return
	}
	defer client.Close()
	k.client = client
	seat.Every(n)
	for seat.Wait(until) {
		k.poll()
	}
}

// poll is one operation on each partition; more where kgo gives a partition in several pieces.
func (k *consumer) poll() {
	for i := range k.pending {
		k.invoke(i)
	}
	ctx, cancel := context.WithTimeout(context.Background(), pollWait)
	fetched := k.client.PollFetches(ctx)
	cancel()
	fetched.EachPartition(func(p kgo.FetchTopicPartition) {
		if p.Topic == k.seat.Topic && p.Partition >= 0 && int(p.Partition) < len(k.pending) { // else it is the end of the context
			k.take(int(p.Partition), &p.FetchPartition)
		}
	})
	for i := range k.pending {
		if k.pending[i] >= 0 {
			k.complete(i, history.Op{Outcome: history.OK, HW: history.UnknownOffset, LogStart: history.UnknownOffset})
		}
	}
}

func (k *consumer) op(part int) history.Op {
	leader, epoch, _ := k.client.PartitionLeader(k.seat.Topic, int32(part)) // as far as the client knows yet: -1 if not
	return history.Op{Process: k.processes[part], Kind: history.Poll, Broker: history.BrokerID(leader), Epoch: history.Epoch(epoch),
		Partition: history.Partition{Topic: k.seat.Topic, Index: int32(part)}, Position: k.positions[part]}
}

func (k *consumer) invoke(part int) { k.pending[part] = k.seat.Record.Invoke(k.op(part)) }

func (k *consumer) complete(part int, done history.Op) {
	done.Offset, done.Broker = history.UnknownOffset, k.op(part).Broker
	k.seat.Record.Complete(k.pending[part], done)
	k.pending[part] = -1
}

// take takes down what kgo fetched from a partition. kgo gives no record below the offset that it asked from, so one below the position
// tells that kgo itself went back, after an answer that its offset is out of range or its epoch's end lies below: a seek.
func (k *consumer) take(part int, f *kgo.FetchPartition) {
	if k.pending[part] < 0 {
		k.invoke(part)
	}
	if len(f.Records) > 0 && history.Offset(f.Records[0].Offset) < k.positions[part] {
		k.complete(part, history.Op{Outcome: history.OK, HW: history.UnknownOffset, LogStart: history.UnknownOffset})
		k.seek(part, history.Offset(f.Records[0].Offset))
		k.invoke(part)
	}
	done := history.Op{Outcome: history.OK, HW: max(history.Offset(f.HighWatermark), history.UnknownOffset),
		LogStart: max(history.Offset(f.LogStartOffset), history.UnknownOffset)}
	if f.Err != nil {
		done.Error = errorText(f.Err)
		if len(f.Records) == 0 {
			done.Outcome = history.Fail
		}
	}
	for _, r := range f.Records {
		done.Records = append(done.Records, history.Record{Offset: history.Offset(r.Offset), Value: string(r.Value)})
		k.positions[part] = history.Offset(r.Offset) + 1
	}
	k.complete(part, done)
}

// seek records that the client moved its position.
func (k *consumer) seek(part int, to history.Offset) {
	k.positions[part] = to
	op := k.op(part)
	op.Kind = history.Seek
	id := k.seat.Record.Invoke(op)
	op.Outcome, op.Offset, op.HW, op.LogStart = history.OK, history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
	k.seat.Record.Complete(id, op)
}
