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

	next    []int32 // number of each client's next process
	markers int     // sent so far
}

// process returns a process number that no other operation has had. It does not depend on the order of events: producers count
// from 0, then consumers, the one that settles, and the one that reads at the end; each goes on in steps of the count of them all.
func (a *Append) process(client int) int32 {
	if a.next == nil {
		a.next = make([]int32, a.Writers+a.Readers+2)
		for i := range a.next {
			a.next[i] = int32(i)
		}
	}
	p := a.next[client]
	a.next[client] += int32(len(a.next))
	return p
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
	ended := a.Env.NewSignal()
	start := func(name string, index, client int, run func(index int, process int32, until time.Duration)) {
		process := a.process(client)
		a.Env.Go(fmt.Sprintf("%s-%d", name, index), func() {
			run(index, process, until)
			mu.Lock()
			running--
			mu.Unlock()
			ended.Notify()
		})
	}
	for i := range a.Writers {
		start("producer", i, i, a.runProducer)
	}
	for i := range a.Readers {
		start("consumer", i, a.Writers+i, a.runConsumer)
	}
	ended.Until(func() bool {
		mu.Lock()
		defer mu.Unlock()
		return running == 0
	}, -1)
}
