package workloads

import (
	"fmt"
	"time"
)

// Foreign is clients of the load that are not the raw ones: each method is the life of one client until the time comes, and returns when
// that client is closed and no operation of its will be completed any more.
type Foreign interface {
	// Produce sends unique values to partitions that it draws.
	Produce(c *Seat, until time.Duration)
	// Consume reads every partition.
	Consume(c *Seat, until time.Duration)
}

// Seat is a client's place in the load: what it needs of the workload to pace and to record its operations as a raw client does.
type Seat struct {
	*Append
	Name   string // of the client in the network, and its Kafka client id
	Index  int    // among the producers or among the consumers
	client int
	pace   *pace
}

// seat is the place of producer or consumer number index, client number client of all.
func (a *Append) seat(kind string, index, client int) *Seat {
	a.number()
	return &Seat{Append: a, Name: fmt.Sprintf("%s-%d", kind, index), Index: index, client: client,
		pace: newPace(a.Env, a.Env.Rand(kind+" pace", index), a.gap())}
}

// Process returns a process number that no other operation has had.
func (s *Seat) Process() int32 { return s.process(s.client) }

// Wait sleeps until the client's next operation is due; false when the end comes first.
func (s *Seat) Wait(until time.Duration) bool { return s.pace.wait(until) }

// Every makes a client that does so many operations at once wait as many times as long between them.
func (s *Seat) Every(operations int) { s.pace.mean *= time.Duration(operations) }
