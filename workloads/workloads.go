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
	Env     world.Env
	Cluster world.Cluster
	Record  *history.Recorder
	Topic   string
	Parts   int
	Factor  int
	Configs map[string]string // topic configuration, such as min.insync.replicas
	Acks    int16
	Writers int           // producers
	Readers int           // consumers
	Rate    float64       // operations a second, all clients together; above 0
	Timeout time.Duration // of one request
	// Lossy says that the contract allows loss: a consumer whose position is out of range seeks to the end it is told, and goes on.
	Lossy bool
}

// Processes are numbered so that each is unique and none depends on the order of events: producers from 0, then consumers, then
// one for settling and one for final reads; a client that goes on under a new number adds the count of them all.

// processes is the count of processes that a run starts with.
func (a *Append) processes() int32 { return int32(a.Writers + a.Readers + 2) }

func (a *Append) settler() int32 { return int32(a.Writers + a.Readers) }

func (a *Append) finisher() int32 { return a.settler() + 1 }

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
	ended := a.Env.NewSignal()
	start := func(name string, index int, run func(int, time.Duration)) {
		a.Env.Go(fmt.Sprintf("%s-%d", name, index), func() {
			run(index, until)
			mu.Lock()
			running--
			mu.Unlock()
			ended.Notify()
		})
	}
	for i := range a.Writers {
		start("producer", i, a.runProducer)
	}
	for i := range a.Readers {
		start("consumer", i, a.runConsumer)
	}
	ended.Until(func() bool {
		mu.Lock()
		defer mu.Unlock()
		return running == 0
	}, -1)
}
