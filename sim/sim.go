// Package sim is the simulated world: the broker's own code over a simulated network, disk and clock in one thread. A seed
// replays exactly.
package sim

import (
	"time"

	"tidemark/broker"
	"tidemark/broker/config"
	"tidemark/history"
	"tidemark/world"
)

// Options describe a simulated cluster.
type Options struct {
	Seed    uint64
	Configs []config.Config // one a broker, in order of node.id
	// Record, if set, is given every protocol step.
	Record func(history.Step)
	// AfterEvent, if set, is called after every event, with the broker that it touched (history.NoBroker if none).
	AfterEvent func(now time.Duration, b history.BrokerID)
	// Trace, if set, is given every event as a line of text; it costs time.
	Trace func(Event)
	// Until ends the run with an error when virtual time passes it: the limit on everything that grows.
	Until time.Duration
}

// Event is one event of a simulated run, as the trace tells it.
type Event struct {
	Seq  uint64
	Time time.Duration
	Node history.BrokerID
	Text string
	Hash uint64 // of the trace up to and including this event
}

// World is a simulated world: a world.Env and a world.Cluster.
type World struct{}

var _ interface {
	world.Env
	world.Cluster
} = (*World)(nil)

// New makes the world and starts every broker at time 0.
func New(opt Options) (*World, error) { panic("not built") }

// Run runs main as the first coroutine and returns when it does: its error, or why the simulation had to stop.
func (w *World) Run(main func() error) error { panic("not built") }

// Hash is the hash over every event so far: time, node, message bytes, disk bytes.
func (w *World) Hash() uint64 { panic("not built") }

// Events counts events: delivered messages, fired timers, flushes.
func (w *World) Events() uint64 { panic("not built") }

// Node is the running incarnation of a broker, nil while it is down.
func (w *World) Node(b history.BrokerID) *broker.Node { panic("not built") }
