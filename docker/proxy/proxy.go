// Package proxy stands on the connections between brokers, and between clients and brokers, and does to single messages what a plan asks for:
// it holds one, breaks the connection at one, or lets one arrive long after its connection is gone. What it passes it passes byte for byte and
// in order; of a message that is held nothing is kept but what the kernels buffer, so that the sender is held back.
//
// It reads no more of a frame than its length, API key, version and correlation id, but for messages of which a fault concerns those of one
// partition: they are read whole. What is no Kafka (TLS, for one) passes unread, and is counted.
package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/world"
	"tidemark/world/frames"
)

// connsMax bounds the connections that pass at one time: each takes two buffers.
const connsMax = 8192

// Route is where a connection that was intercepted leads.
type Route struct {
	To   netip.AddrPort
	Link world.Link // from its opener
	// Quorum says that it leads to a port of controllers, where Fetch is the quorum's own.
	Quorum bool
	// Unread says that it is none of Kafka's: it passes as bytes, and does not count as one that could not be read.
	Unread bool
	// Patience is how long bytes on the way to To may go unacknowledged before the connection breaks, as its opener's own would
	// (TCP_USER_TIMEOUT); 0 is as long as TCP allows.
	Patience time.Duration
}

// Options say what a proxy does with what it accepts.
type Options struct {
	// Route tells where an accepted connection leads.
	Route func(net.Conn) (Route, error)
	// Dial opens the way there; nil is a plain connection.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// Proxy passes connections on.
type Proxy struct {
	opt Options

	mu    sync.Mutex
	table table
	lags  lags

	inForce atomic.Int64 // faults; while there are none no message is judged
	late    atomic.Int64 // bytes of messages that are late
	lagging atomic.Int64 // links whose bytes are late
	lagged  atomic.Int64 // bytes that are
	open    atomic.Int64
	passed  atomic.Int64
	unread  atomic.Int64
	refused atomic.Int64
	missed  atomic.Int64
}

// New makes a proxy.
func New(opt Options) *Proxy { return &Proxy{opt: opt} }

// Stats counts what a proxy has passed.
type Stats struct {
	Open        int64 `json:"open"`        // connections now
	Connections int64 `json:"connections"` // so far
	Unread      int64 `json:"unread"`      // of them, those that are no Kafka from some byte on: they pass untouched
	Refused     int64 `json:"refused"`     // that led nowhere, or were too many
	Missed      int64 `json:"missed"`      // messages that were to be read for a fault on a partition, and could not be: none met it
}

// Stats counts what the proxy has passed so far.
func (p *Proxy) Stats() Stats {
	return Stats{Open: p.open.Load(), Connections: p.passed.Load(), Unread: p.unread.Load(), Refused: p.refused.Load(), Missed: p.missed.Load()}
}

// Serve passes on every connection that a listener accepts, until it is closed.
func (p *Proxy) Serve(l net.Listener) error {
	for {
		opener, err := l.Accept()
		var passing net.Error
		switch {
		case errors.As(err, &passing) && passing.Timeout():
			continue
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		tcp, ok := opener.(*net.TCPConn)
		if !ok || p.open.Add(1) > connsMax {
			p.refuse(opener)
			continue
		}
		go p.pass(tcp)
	}
}

// refuse resets a connection.
func (p *Proxy) refuse(opener net.Conn) {
	p.refused.Add(1)
	reset(opener)
	p.open.Add(-1)
}

// Catch lets messages meet a fault from now on.
func (p *Proxy) Catch(f Fault) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.table.add(f); err != nil {
		return err
	}
	p.inForce.Add(1)
	return nil
}

// Settle lets no more messages meet a fault; those that it has under way stay so until it ends.
func (p *Proxy) Settle(number int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.close(number)
}

// End ends a fault and returns what it had done. What it had under way goes on.
func (p *Proxy) End(number int) (world.Caught, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, err := p.table.end(number)
	if err == nil {
		p.inForce.Add(-1)
	}
	return last, err
}

// Answer tells a message that asked whether it is the one that its fault waits for.
type Answer struct {
	Claim int  `json:"claim"`
	Acts  bool `json:"acts"`
}

// Seen is what there is to see of a fault.
type Seen struct {
	world.Caught
	Asking []int `json:"asking,omitempty"` // the claims of messages that ask
}

// Watch gives answers, then waits until what is to see of a fault differs from what was known or a message asks, or ctx ends.
func (p *Proxy) Watch(ctx context.Context, number int, known world.Caught, answers []Answer) (Seen, error) {
	p.mu.Lock()
	for _, a := range answers {
		p.table.answer(number, a.Claim, a.Acts)
	}
	p.mu.Unlock()
	for {
		p.mu.Lock()
		i, err := p.table.find(number)
		if err != nil {
			p.mu.Unlock()
			return Seen{}, err
		}
		c := p.table.catches[i]
		seen, changed := Seen{Caught: c.caught(), Asking: c.asks()}, c.changed
		p.mu.Unlock()
		if seen.Caught != known || len(seen.Asking) > 0 {
			return seen, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return seen, nil
		}
	}
}

// wants returns the names of topics by which a message is to be read; false if it need not be.
func (p *Proxy) wants(m Message) (frames.Names, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.wants(m)
}

// meet lets a message meet the faults beyond a number.
func (p *Proxy) meet(m Message, beyond int) *stay {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.meet(m, beyond)
}

// leave says that a message waits no more.
func (p *Proxy) leave(s *stay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.table.leave(s)
}
