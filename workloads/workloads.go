// Package workloads is what clients do: generators of operations, the Kafka client over one connection, and the recording of each
// operation's invocation and completion.
package workloads

import (
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Append is the workload `append`: producers with unique values and consumers that read by position, at a set rate.
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
	Rate    float64       // operations a second, all clients together
	Timeout time.Duration // of one request
	// Lossy says that the contract allows loss: a consumer whose position is out of range seeks to the end it is told, and goes on.
	Lossy bool
}

// Create creates the topic and waits until every partition has a leader and a full ISR, at most for within.
func (a *Append) Create(within time.Duration) error { panic("not built") }

// Load runs producers and consumers until the time comes; it returns when every client is closed and drained.
func (a *Append) Load(until time.Duration) { panic("not built") }

// Settle waits, at most until the bound: a marker acknowledged on every partition and read back, ISR full, every LEO = HW. An error says
// what did not come about.
func (a *Append) Settle(within time.Duration) error { panic("not built") }

// Final reads every partition from its log start to its high watermark, as polls marked Final.
func (a *Append) Final(within time.Duration) error { panic("not built") }
