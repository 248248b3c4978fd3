// Package workloads is what clients do: generators of operations, the Kafka client over one connection, and the recording of each
// operation's invocation and completion.
package workloads

import (
	"fmt"
	"sync"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Append is the workload `append`: producers with unique values and consumers that read by position, at a set rate. Its methods are
// called one after the other, in their order here.
type Append struct {
	Env        world.Env
	Cluster    world.Cluster
	Record     *history.Recorder
	Topic      string
	Parts      int
	Factor     int
	Configs    map[string]string // topic configuration, such as min.insync.replicas
	Placed     bool              // Create says where the replicas go (Placement), and does not leave it to the brokers
	Acks       int16
	Idempotent bool          // producers have producer ids and sequence numbers, and send again what was not acknowledged
	Writers    int           // producers
	Readers    int           // consumers
	Rate       float64       // operations a second, all clients together; above 0
	Timeout    time.Duration // of one request
	// Lossy says that the contract allows loss: a consumer whose position is beyond the log's end seeks to the end it is told, and goes on.
	Lossy bool
	// Trims says that records may be removed from a log's beginning: a consumer whose position is below it seeks to it, and goes on.
	Trims bool
	// Trim is the mean time between two requests to remove a partition's oldest records; 0 is none.
	Trim time.Duration
	// Nearby lets consumers read from followers, each from the one in its rack (RackOf).
	Nearby bool
	// Foreign, if set, is the last ForeignWriters of the producers and the last ForeignReaders of the consumers.
	Foreign                        Foreign
	ForeignWriters, ForeignReaders int

	next    []int32 // number of each client's next process
	markers int     // sent so far
	settled []route // where the settler knew each partition's leader to be in the end; nil if it did not come that far
}

// process returns a process number that no other operation has had. It does not depend on the order of events: producers count
// from 0, then consumers, the one that settles, and the one that reads at the end; each goes on in steps of the count of them all.
func (a *Append) process(client int) int32 {
	a.number()
	p := a.next[client]
	a.next[client] += int32(len(a.next))
	return p
}

// number gives each client its first process number, once; from then on each changes only its own.
func (a *Append) number() {
	if a.next != nil {
		return
	}
	a.next = make([]int32, a.Writers+a.Readers+2)
	for i := range a.next {
		a.next[i] = int32(i)
	}
}

func (a *Append) settler() int { return a.Writers + a.Readers }

func (a *Append) finisher() int { return a.settler() + 1 }

// gap is the mean time between two operations of one client.
func (a *Append) gap() time.Duration {
	return max(time.Microsecond, time.Duration(float64(a.Writers+a.Readers)/a.Rate*float64(time.Second)))
}

// partition names one of the topic's partitions.
func (a *Append) partition(index int) history.Partition {
	return history.Partition{Topic: a.Topic, Index: int32(index)}
}

// Load runs producers and consumers until the time comes; it returns when every client is closed and drained.
func (a *Append) Load(until time.Duration) {
	var mu sync.Mutex
	running := a.Writers + a.Readers
	if a.Trim > 0 {
		running++
	}
	ended := a.Env.NewSignal()
	run := func(name string, life func()) {
		a.Env.Go(name, func() {
			life()
			mu.Lock()
			running--
			mu.Unlock()
			ended.Notify()
		})
	}
	start := func(name string, index, client int, life func(index int, process int32, until time.Duration)) {
		process := a.process(client)
		run(fmt.Sprintf("%s-%d", name, index), func() { life(index, process, until) })
	}
	produce := a.runProducer
	if a.Idempotent {
		produce = a.runIdempotent
	}
	for i := range a.Writers {
		if i < a.Writers-a.ForeignWriters {
			start("producer", i, i, produce)
		} else {
			seat := a.seat("producer", i, i)
			run(seat.Name, func() { a.Foreign.Produce(seat, until) })
		}
	}
	for i := range a.Readers {
		if i < a.Readers-a.ForeignReaders {
			start("consumer", i, a.Writers+i, a.runConsumer)
		} else {
			seat := a.seat("consumer", i, a.Writers+i)
			run(seat.Name, func() { a.Foreign.Consume(seat, until) })
		}
	}
	if a.Trim > 0 {
		process := a.process(a.settler())
		run("trimmer", func() { a.runTrimmer(process, until) })
	}
	ended.Until(func() bool {
		mu.Lock()
		defer mu.Unlock()
		return running == 0
	}, -1)
}
