package server

import (
	"errors"
	"net"
	"sync"
	"time"

	"tidemark/broker"
	"tidemark/broker/config"
)

// registry holds the accepted connections, and their bounds: how many there are, and the bytes of the answers that they owe their
// clients. When a bound is reached, the connection that has used it worst goes, so that those that are in use stay.
type registry struct {
	max      int   // connections
	maxBytes int64 // of answers

	mu     sync.Mutex
	conns  map[broker.ConnID]*conn
	last   broker.ConnID
	due    int   // answers that are being written
	bytes  int64 // of them
	closed bool
}

func newRegistry(cfg config.Shell) registry {
	return registry{max: cfg.MaxConnections, maxBytes: cfg.QueuedMaxResponseBytes, conns: map[broker.ConnID]*conn{}}
}

// add registers a connection; nil when the broker is closing. At the limit the one that was idle longest is closed (KIP-402 does so
// for connections between brokers): evicted says so.
func (r *registry) add(nc net.Conn, listener string, now time.Duration) (c *conn, evicted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false
	}
	if len(r.conns) >= r.max {
		evicted = r.evict()
	}
	r.last++
	c = &conn{id: r.last, listener: listener, net: nc, replies: make(chan answer, 1), unmuted: make(chan struct{}, 1), dead: make(chan struct{})}
	c.used.Store(int64(now))
	r.conns[c.id] = c
	return c, evicted
}

// closeIdlest closes the connection that was idle longest; false if there is none.
func (r *registry) closeIdlest() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evict()
}

func (r *registry) evict() bool {
	var idlest *conn
	for _, c := range r.conns {
		if idlest == nil || c.used.Load() < idlest.used.Load() {
			idlest = c
		}
	}
	if idlest == nil {
		return false
	}
	r.drop(idlest)
	idlest.close()
	return true
}

// get is the connection of that number, nil once it is gone.
func (r *registry) get(id broker.ConnID) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conns[id]
}

// remove forgets a connection, with what it owes.
func (r *registry) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(c)
}

func (r *registry) drop(c *conn) {
	r.settle(c)
	delete(r.conns, c.id)
}

func (r *registry) settle(c *conn) {
	if c.owed > 0 {
		r.due--
		r.bytes -= int64(c.owed)
		c.owed = 0
	}
}

// owe takes down an answer that is about to be written. Where all of them take too many bytes, the connections that have taken longest
// for theirs are closed; false says so.
func (r *registry) owe(c *conn, bytes int, now time.Duration) (within bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes == 0 || r.conns[c.id] != c {
		return true
	}
	within = true
	for r.bytes > 0 && r.bytes+int64(bytes) > r.maxBytes {
		var slowest *conn
		for _, other := range r.conns {
			if other.owed > 0 && (slowest == nil || other.owedSince < slowest.owedSince) {
				slowest = other
			}
		}
		r.drop(slowest)
		slowest.close()
		within = false
	}
	c.owed, c.owedSince = bytes, now
	r.due++
	r.bytes += int64(bytes)
	return within
}

// paid says that a connection's answer is written.
func (r *registry) paid(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(c)
}

// owed is how many answers are being written.
func (r *registry) owed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.due
}

// size is how many connections there are, and the bytes of the answers that are being written.
func (r *registry) size() (conns int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns), r.bytes
}

// closeIdle closes the connections that were not used since a time, and says how many.
func (r *registry) closeIdle(since time.Duration) (closed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		if c.used.Load() < int64(since) {
			r.drop(c)
			c.close()
			closed++
		}
	}
	return closed
}

// closeAll closes every connection; none is added any more.
func (r *registry) closeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, c := range r.conns {
		c.close()
	}
}

// acceptRetry is the wait after an accept that failed, as when there are no descriptors left.
const acceptRetry = 20 * time.Millisecond

// accept takes a listener's connections until it is closed. The bounds are all listeners' together.
func (s *Server) accept(l listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			s.log.Warn("accept", "listener", l.name, "error", err)
			if s.conns.closeIdlest() {
				s.metrics.evicted.Add(1)
			}
			select {
			case <-time.After(acceptRetry):
				continue
			case <-s.quit:
				return
			}
		}
		setUserTimeout(nc, s.cfg.Shell.FrameTimeout)
		c, evicted := s.conns.add(nc, l.name, s.now())
		if c == nil {
			_ = nc.Close()
			return
		}
		s.metrics.accepted.Add(1)
		if evicted {
			s.metrics.evicted.Add(1)
		}
		s.working.Go(func() { s.serve(c) })
	}
}

// reap closes idle connections.
func (s *Server) reap() {
	idle := s.cfg.Shell.ConnectionsMaxIdle
	ticker := time.NewTicker(min(max(idle/4, time.Millisecond), time.Minute))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.metrics.idleClosed.Add(int64(s.conns.closeIdle(s.now() - idle)))
		case <-s.quit:
			return
		}
	}
}
