package franz

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/history"
	"tidemark/workloads"
	"tidemark/world"
)

// underWayMax bounds the records of one producer that kgo still has; with so many it waits.
const underWayMax = 1000

// producer hands unique values to kgo as they come due, without waiting for the earlier ones. So it has many operations under way, each
// under a process number of its own; one whose outcome is known is used again.
type producer struct {
	seat   *workloads.Seat
	client *kgo.Client
	ended  world.Signal // an operation did

	mu       sync.Mutex
	free     []int32 // process numbers that are not in use
	underWay int
	over     bool // what kgo says from now on is not taken down
}

// Produce is the life of a producer.
func (c *Clients) Produce(seat *workloads.Seat, until time.Duration) {
	acks := map[int16]kgo.Acks{0: kgo.NoAck(), 1: kgo.LeaderAck(), -1: kgo.AllISRAcks()}[seat.Acks]
	opts := []kgo.Opt{kgo.RequiredAcks(acks), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProduceRequestTimeout(seat.Timeout * 3 / 4), kgo.RecordDeliveryTimeout(deliveryBound)}
	if !seat.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	client, ok := c.open(seat, opts...)
	if !ok {
		return
	}
	p := &producer{seat: seat, client: client, ended: seat.Env.NewSignal()}
	defer p.leave()
	defer p.idle(closeBound) // kgo ends each record with ErrClientClosed
	defer client.Close()
	partitions := seat.Env.Rand("producer partition", seat.Index)
	for sent := 0; seat.Wait(until); sent++ {
		part := int32(partitions.IntN(seat.Parts))
		process, ok := p.take(until)
		if !ok {
			break
		}
		p.send(process, part, fmt.Sprintf("p%d-%d", process, sent))
	}
	p.idle(drainBound)
}

// take returns a process number that is not in use, once fewer than underWayMax are; false when the end comes first.
func (p *producer) take(until time.Duration) (process int32, ok bool) {
	room := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.underWay < underWayMax
	}
	if !p.ended.Until(room, max(0, until-p.seat.Env.Now())) {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underWay++
	if n := len(p.free); n > 0 {
		process = p.free[n-1]
		p.free = p.free[:n-1]
		return process, true
	}
	return p.seat.Process(), true
}

// send is one operation: invoked before kgo has the record, completed when kgo is done with it.
func (p *producer) send(process, part int32, value string) {
	leader, epoch, _ := p.client.PartitionLeader(p.seat.Topic, part) // as far as the client knows yet: -1 if not
	op := history.Op{Process: process, Kind: history.Send, Acks: p.seat.Acks, Broker: history.BrokerID(leader), Epoch: history.Epoch(epoch),
		Partition: history.Partition{Topic: p.seat.Topic, Index: part}, Value: value, Position: history.UnknownOffset}
	id := p.seat.Record.Invoke(op)
	op.HW, op.LogStart = history.UnknownOffset, history.UnknownOffset
	p.client.Produce(context.Background(), &kgo.Record{Topic: p.seat.Topic, Partition: part, Value: []byte(value)},
		func(r *kgo.Record, err error) { p.complete(id, op, r, err) })
}

// complete takes down what became of a record.
func (p *producer) complete(id int64, op history.Op, r *kgo.Record, err error) {
	conclude(&op, r, err)
	if leader, _, _ := p.client.PartitionLeader(p.seat.Topic, op.Partition.Index); leader >= 0 {
		op.Broker = history.BrokerID(leader) // retries may have gone to another than the first
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.seat.Record.Complete(id, op)
	if op.Outcome != history.Info {
		p.free = append(p.free, op.Process) // else it may still be under way
	}
	p.underWay--
	p.ended.Notify()
}

// idle waits until nothing is under way, at most for so long.
func (p *producer) idle(within time.Duration) {
	p.ended.Until(func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.underWay == 0
	}, within)
}

// leave ends the recording: what has no completion by now never gets one, which is an unknown outcome too.
func (p *producer) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}
