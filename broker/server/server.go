// Package server is the shell of the broker's state machine for real life: TCP, timers, files. It decides nothing: the simulator
// is the other shell of the same broker.Node.
//
// One goroutine, the loop, owns the node: everything that happens comes to it as an event. Each listener has a goroutine that
// accepts; each accepted connection one that reads a request at a time and one that writes its answer; each way to a peer one that
// dials and writes and one that reads; one goroutine flushes files. None of them waits for another but through the loop, which waits
// for none.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"tidemark/broker"
	"tidemark/broker/config"
	"tidemark/broker/kafka"
)

// Server is one broker's process, or one of several in a process.
type Server struct {
	cfg     config.Config
	log     *slog.Logger
	started time.Time // the node's clock counts from here
	node    *broker.Node
	events  chan event
	quit    chan struct{} // closed when the loop has ended: nothing is taken from events any more
	stop    chan struct{} // closed by Close
	stopped sync.Once
	done    chan struct{} // closed when everything is released
	err     error         // why it ended by itself; set before done is closed

	store     *store
	listeners []listener
	debug     *debugServer // nil without a debug listener
	conns     registry
	requests  *budget
	links     map[broker.Link]*link
	flusher   flusher
	steps     steps
	metrics   metrics
	working   sync.WaitGroup // every goroutine but the loop's own

	epoch      kafka.BrokerEpoch // as last logged
	controller kafka.BrokerID    // as last logged
}

// listener is one of listeners, bound.
type listener struct {
	net.Listener
	name string
}

// ErrClosed says that Close, and not the broker itself, ended it.
var ErrClosed = errors.New("closed")

// drainMax bounds how long a broker that has shut down waits for clients to take their last answers.
const drainMax = time.Second

// Start opens a broker's directories, recovers what is in them and serves. Lines for people go to log, which may be nil.
func Start(cfg config.Config, log *slog.Logger) (*Server, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		cfg: cfg, log: log.With("broker", cfg.NodeID), started: time.Now(),
		events: make(chan event, cfg.Shell.QueuedMaxRequests),
		quit:   make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
		requests: newBudget(cfg.Shell.QueuedMaxRequestBytes), links: map[broker.Link]*link{},
		conns: newRegistry(cfg.Shell), steps: newSteps(cfg.Shell.DebugStepsMax), flusher: newFlusher(),
		epoch: kafka.NoBrokerEpoch, controller: kafka.NoBroker,
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	for _, l := range s.listeners {
		s.working.Go(func() { s.accept(l) })
	}
	s.working.Go(s.reap)
	s.working.Go(s.flush)
	if s.debug != nil {
		s.working.Go(s.debug.serve)
	}
	go s.run()
	s.log.Info("serving", "listeners", cfg.Listeners, "advertised.listeners", cfg.AdvertisedListeners, "log.dirs", cfg.Shell.LogDir)
	return s, nil
}

// open acquires what Start needs, the node last.
func (s *Server) open() (err error) {
	if s.store, err = openStore(s.cfg.Shell); err != nil {
		return err
	}
	for _, l := range s.cfg.Listeners {
		bound, err := net.Listen("tcp", l.Address())
		if err != nil {
			return fmt.Errorf("listeners: %w", err)
		}
		s.listeners = append(s.listeners, listener{bound, l.Name})
	}
	if s.cfg.Shell.DebugListener != "" {
		if s.debug, err = newDebugServer(s, s.cfg.Shell.DebugListener); err != nil {
			return fmt.Errorf("tidemark.debug.listener: %w", err)
		}
	}
	s.node, err = broker.Open(s.cfg, s.store.fs, s.now(), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	return err
}

// release gives back what open acquired.
func (s *Server) release() error {
	var errs []error
	if s.node != nil {
		s.node.Close()
	}
	for _, l := range s.listeners {
		errs = append(errs, ignoreClosed(l.Close()))
	}
	if s.debug != nil {
		errs = append(errs, ignoreClosed(s.debug.close()))
	}
	if s.store != nil {
		errs = append(errs, s.store.close())
	}
	return errors.Join(errs...)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// now is the node's clock. It never goes back.
func (s *Server) now() time.Duration { return time.Since(s.started) }

// run is the loop and what follows its end.
func (s *Server) run() {
	err := s.loop()
	if err == nil {
		s.drain()
	}
	close(s.quit)
	for _, l := range s.listeners {
		_ = l.Close()
	}
	if s.debug != nil {
		_ = s.debug.close()
	}
	s.conns.closeAll()
	for _, l := range s.links {
		l.close()
	}
	s.working.Wait()
	s.err = err
	if closing := s.release(); closing != nil {
		s.log.Warn("closing", "error", closing)
	}
	close(s.done)
}

// drain lets clients take the last answers.
func (s *Server) drain() {
	for end := time.Now().Add(drainMax); s.conns.owed() > 0 && time.Now().Before(end); {
		select {
		case <-s.stop:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// Shutdown stops the broker in good order, as SIGTERM does: its leaders move away, everything is flushed and the clean-shutdown marker
// written. When ctx ends before that, the broker is closed as it is.
func (s *Server) Shutdown(ctx context.Context) error {
	s.post(event{kind: evShutdown})
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		s.Close()
		return fmt.Errorf("broker %d did not shut down in good order: %w", s.cfg.NodeID, ctx.Err())
	}
}

// Close ends the broker at once, as the end of its process does: nothing is handed over or flushed.
func (s *Server) Close() {
	s.stopped.Do(func() { close(s.stop) })
	<-s.done
}

// Done is closed when the broker has ended and everything that it held is released.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says, after Done, how the broker ended: nil after a shutdown in good order, ErrClosed after Close, else the disk error that
// stopped it.
func (s *Server) Err() error { return s.err }

// Addr is the address that the first of the broker's listeners is bound to.
func (s *Server) Addr() string { return s.listeners[0].Addr().String() }

// DebugAddr is the address of the debug endpoint, empty if there is none.
func (s *Server) DebugAddr() string {
	if s.debug == nil {
		return ""
	}
	return s.debug.listener.Addr().String()
}
