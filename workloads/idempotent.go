package workloads

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// The idempotent producer's bounds, as Kafka's own producer has them: max.in.flight.requests.per.connection, which idempotence bounds so,
// delivery.timeout.ms (120 s there), and for its buffer a number of records for each partition.
const (
	inFlightMax   = 5
	deliveryBound = 10 * time.Second
	queueMax      = 20
	drainBound    = 5 * time.Second // for what is under way when the load ends
)

// idempotent is a producer as Kafka's own is (enable.idempotence, KIP-98): it sends without waiting for the answers to what it sent before, and
// what was not acknowledged it sends again, in order and with the same sequence numbers, to whoever leads then, until it is acknowledged
// or too old. A record that it gives up has an unknown outcome if any of its sendings may have been appended; the producer then goes on in
// a new epoch, or with a new producer id (KIP-360).
//
// It has many operations under way, each under a process number of its own; one whose outcome is known is used again. Each partition has a
// lane, which goes its way independently of the others.
type idempotent struct {
	a     *Append
	index int
	until time.Duration // the load ends then
	lanes []*lane
	ids   *client    // that producer ids are asked for with
	rnd   *rand.Rand // of ids: whom to ask, with which sequence number to begin

	changed world.Signal
	mu      sync.Mutex // guards what is below, and the lanes
	self    identity
	asking  bool // for a producer id
	since   int  // records since the producer id was new
	renewAt int  // with so many it behaves as one that was started anew
	free    []int32
	sent    int
	running int  // functions of its lanes
	over    bool // nothing is sent or taken down any more
}

// identity is what a producer is to brokers.
type identity struct {
	id    int64 // -1: to be asked for
	epoch int16
	first int32 // the sequence number that it begins with on each partition
}

var nobody = identity{id: -1}

// runIdempotent is the life of idempotent producer number index.
func (a *Append) runIdempotent(index int, process int32, until time.Duration) {
	p := &idempotent{a: a, index: index, until: until, free: []int32{process}, self: nobody, changed: a.Env.NewSignal(), rnd: a.Env.Rand("producer id", index)}
	p.ids = newClient(a.Env, a.Cluster, fmt.Sprintf("producer-%d", index), a.Timeout)
	for part := range a.Parts {
		l := newLane(p, part)
		p.lanes = append(p.lanes, l)
		p.run(fmt.Sprintf("%s-%d", p.ids.name, part), l.run)
	}
	partitions := a.Env.Rand("producer partition", index)
	due := newPace(a.Env, a.Env.Rand("producer pace", index), a.gap())
	for due.wait(until) {
		p.produce(p.lanes[partitions.IntN(a.Parts)])
	}
	p.changed.Until(func() bool { return p.guarded(p.idle) }, drainBound)
	p.guarded(func() bool { p.leave(); return true })
	p.changed.Notify()
	p.changed.Until(func() bool { return p.guarded(func() bool { return p.running == 0 }) }, -1)
	p.ids.close()
}

// guarded calls fn with the producer's state locked.
func (p *idempotent) guarded(fn func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fn()
}

// run starts a function whose end the producer waits for.
func (p *idempotent) run(name string, fn func()) {
	p.guarded(func() bool { p.running++; return true })
	p.a.Env.Go(name, func() {
		fn()
		p.guarded(func() bool { p.running--; return true })
		p.changed.Notify()
	})
}

// produce begins one operation, unless the partition has as many under way as it may.
func (p *idempotent) produce(l *lane) {
	p.mu.Lock()
	if len(l.queue) >= queueMax {
		p.mu.Unlock()
		return
	}
	var process int32
	if n := len(p.free); n > 0 {
		process, p.free = p.free[n-1], p.free[:n-1]
	} else {
		process = p.a.process(p.index)
	}
	op := history.Op{Process: process, Kind: history.Send, Acks: p.a.Acks, Broker: l.to.leader, Epoch: l.to.epoch, Partition: l.partition,
		Value: fmt.Sprintf("p%d-%d", process, p.sent), Position: history.UnknownOffset}
	p.sent++
	x := &sending{op: op, id: p.a.Record.Invoke(op), deadline: p.a.Env.Now() + deliveryBound}
	x.op.Offset, x.op.HW, x.op.LogStart = history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
	l.queue = append(l.queue, x)
	if p.since++; p.since == p.renewAt {
		p.self = nobody
	}
	p.mu.Unlock()
	p.changed.Notify()
}

// idle reports whether no operation is under way.
func (p *idempotent) idle() bool {
	for _, l := range p.lanes {
		if len(l.queue) > 0 {
			return false
		}
	}
	return true
}

// leave gives up what is under way, and ends the recording.
func (p *idempotent) leave() {
	for _, l := range p.lanes {
		for len(l.queue) > 0 {
			l.giveUp(l.queue[0], "not acknowledged when the load ended")
		}
	}
	p.over = true
}

// complete takes down an operation's end.
func (p *idempotent) complete(x *sending) {
	if p.over {
		return
	}
	p.a.Record.Complete(x.id, x.op)
	if x.op.Outcome != history.Info {
		p.free = append(p.free, x.op.Process) // else it may still be under way
	}
}
