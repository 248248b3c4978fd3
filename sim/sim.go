// Package sim is the simulated world: the broker's own code over a simulated network, disk and clock in one thread. A seed
// replays exactly.
package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"tidemark/broker"
	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/history"
	"tidemark/world"
)

// Options describe a simulated cluster.
type Options struct {
	Seed    uint64
	Configs []config.Config // one a broker, in order of node.id
	// Recreated, if set, is the topic whose incarnations the history tells apart.
	Recreated string
	// Record, if set, is given every protocol step.
	Record func(history.Step)
	// AfterEvent, if set, is called after every event, with the broker that it touched. It must only look.
	AfterEvent func(now time.Duration, b history.BrokerID)
	// EventHash, if set, is given the trace hash up to and including each event.
	EventHash func(hash uint64)
	// Trace, if set, is given every event as a line of text; it costs time.
	Trace func(Event)
	// Until ends the run with an error when virtual time passes it: the limit on everything that grows.
	Until time.Duration
	// MaxEvents ends the run with an error after so many events of any kind; 0 is EventsMax.
	MaxEvents uint64
}

// EventsMax is how many events of any kind a run may have unless Options say otherwise.
const EventsMax = 1_000_000_000

// instantMax is how many events may happen at one instant: more are parts of a simulation that keep waking each other.
const instantMax = 200_000

// World is a simulated world: a world.Env and a world.Cluster.
type World struct {
	opt     Options
	open    opener
	now     time.Duration
	queue   queue
	digest  xxhash.Digest
	noted   uint64 // events in the trace hash
	events  uint64
	steps   uint64 // events of any kind
	instant uint64 // of them, at the present time
	weather weather

	hosts []*host // ascending by id
	ways  []way   // [from][to]
	conns uint64
	dials map[string]int
	isr   map[history.Partition]int32 // newest partition epoch whose ISR was recorded

	catches     []*catch // the faults on messages that are in force
	catchNumber int      // of the last one that began

	acting  history.BrokerID // the broker whose event goes on
	looking bool             // AfterEvent looks, which no fault of a disk may meet
	running *coroutine
	live    []*coroutine
	ran     bool
	over    bool
	err     error // why the simulation has to stop
}

var _ interface {
	world.Env
	world.Cluster
} = (*World)(nil)

// New makes the world; every broker starts within the first fraction of a second after time 0.
func New(opt Options) (*World, error) {
	return newWorld(opt, func(cfg config.Config, fs disk.FS, now time.Duration, rnd *rand.Rand) (node, error) {
		return broker.Open(cfg, fs, now, rnd)
	})
}

func newWorld(opt Options, open opener) (*World, error) {
	if len(opt.Configs) == 0 {
		return nil, errors.New("a simulated cluster without brokers, expected at least one configuration")
	}
	if opt.Until <= 0 {
		return nil, fmt.Errorf("limit of virtual time %v, expected more than 0", opt.Until)
	}
	if opt.MaxEvents == 0 {
		opt.MaxEvents = EventsMax
	}
	w := &World{
		opt: opt, open: open, digest: newDigest(opt.Seed), weather: newWeather(opt.Seed),
		ways: make([]way, len(opt.Configs)*len(opt.Configs)), dials: map[string]int{}, isr: map[history.Partition]int32{},
	}
	for i, cfg := range opt.Configs {
		if cfg.NodeID < 0 {
			return nil, fmt.Errorf("broker %d, expected a node.id from 0 on", cfg.NodeID)
		}
		if i > 0 && cfg.NodeID <= opt.Configs[i-1].NodeID {
			return nil, fmt.Errorf("broker %d after broker %d, expected node.id ascending", cfg.NodeID, opt.Configs[i-1].NodeID)
		}
		w.hosts = append(w.hosts, newHost(w, i, cfg))
	}
	return w, nil
}

// driftMax is how far a clock is off by itself, in parts per billion.
const driftMax = 100_000

func newHost(w *World, index int, cfg config.Config) *host {
	id := history.BrokerID(cfg.NodeID)
	name := strconv.Itoa(int(id))
	h := &host{
		w: w, id: id, index: index, cfg: cfg, drive: newDrive(w, id), powered: true,
		rnd: newStream(w.opt.Seed, "machine "+name, 0), changed: w.newSignal(), last: map[history.Partition]history.ReplicaState{},
	}
	h.flushes.h, h.flushes.work.h = h, &h.flushes
	h.timer.h, h.boot.h = call(h.tick), call(h.open)
	h.clock = clock{local: h.rnd.between(0, time.Hour), rate: ppb - driftMax + uint64(h.rnd.below(2*driftMax))}
	h.start(h.rnd.between(0, processStartMax))
	return h
}

// Run runs main as the first coroutine and returns when it does: its error, or why the simulation had to stop, which may be that
// ctx has ended. What still waits then is unwound. A world runs once.
func (w *World) Run(ctx context.Context, main func() error) (err error) {
	if w.ran {
		return errors.New("this world has run already")
	}
	w.ran = true
	defer w.stopAll()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("at %v, in an event of broker %d: panic: %v\n%s", w.now, w.acting, r, debug.Stack())
		}
	}()
	done := false
	var result error
	w.Go("main", func() {
		result = main()
		done = true
	})
	for !done && w.err == nil {
		if w.steps%interruptEvery == 0 && ctx.Err() != nil {
			w.fail(ctx.Err())
			break
		}
		w.next()
	}
	if w.err != nil {
		return fmt.Errorf("at %v: %w", w.now, w.err)
	}
	return result
}

// interruptEvery is after how many events a run looks whether it is still wanted.
const interruptEvery = 4096

// next lets the next event happen.
func (w *World) next() {
	ev := w.queue.pop()
	switch {
	case ev == nil:
		w.fail(fmt.Errorf("nothing is left to happen, and these still wait: %s", w.waiting()))
		return
	case ev.at > w.opt.Until:
		w.fail(fmt.Errorf("virtual time would pass the limit of %v", w.opt.Until))
		return
	case ev.at > w.now:
		w.now, w.instant = ev.at, 0
	}
	w.steps++
	w.instant++
	if w.steps > w.opt.MaxEvents || w.instant > instantMax {
		w.fail(fmt.Errorf("%d events, %d of them at this instant, expected at most %d and %d: the next is of %T",
			w.steps, w.instant, w.opt.MaxEvents, instantMax, ev.h))
		return
	}
	ev.h.fire()
}

// waiting names the coroutines that are alive.
func (w *World) waiting() string {
	var names []string
	for i, c := range w.live {
		if i == 10 {
			names = append(names, fmt.Sprintf("%d more", len(w.live)-i))
			break
		}
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// fail stops the simulation; the first reason counts.
func (w *World) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// touched runs the caller's hook after an event of a broker.
func (w *World) touched(b history.BrokerID) {
	if w.opt.AfterEvent != nil {
		w.looking = true
		w.opt.AfterEvent(w.now, b)
		w.looking = false
	}
}

// Now is the virtual time since the run's start.
func (w *World) Now() time.Duration { return w.now }

// Rand returns the random stream of that name, from its beginning.
func (w *World) Rand(purpose string, index int) *rand.Rand {
	return world.Stream(w.opt.Seed, purpose, index)
}

// Node is the running incarnation of a broker, nil while it is down.
func (w *World) Node(b history.BrokerID) *broker.Node {
	h, err := w.host(b)
	if err != nil || h.node == nil {
		return nil
	}
	n, _ := h.node.(*broker.Node)
	return n
}

// host finds a broker's machine.
func (w *World) host(b history.BrokerID) (*host, error) {
	i, ok := slices.BinarySearchFunc(w.hosts, b, func(h *host, b history.BrokerID) int { return int(h.id) - int(b) })
	if !ok {
		return nil, fmt.Errorf("broker %d does not exist, expected one of %v", b, w.Brokers())
	}
	return w.hosts[i], nil
}

// Brokers lists every broker, ascending.
func (w *World) Brokers() []history.BrokerID {
	ids := make([]history.BrokerID, len(w.hosts))
	for i, h := range w.hosts {
		ids[i] = h.id
	}
	return ids
}
