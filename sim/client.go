package sim

import (
	"bytes"
	"fmt"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Conn is a client's connection: a world.Conn. One coroutine at a time may wait on it.
type Conn struct {
	c      *conn
	inbox  fifo[[]byte]
	waiter *coroutine
	err    error // why nothing more will come
	own    bool  // of the harness itself: no fault on messages concerns it
}

// Dial connects a client to a broker. Clients reach every broker, whatever cuts there are between brokers.
func (w *World) Dial(client string, to history.BrokerID, timeout time.Duration) (world.Conn, error) {
	return w.dial(client, to, timeout, false)
}

// admin is the world to the harness's own clients.
type admin struct{ *World }

// Dial connects one of them.
func (a admin) Dial(client string, to history.BrokerID, timeout time.Duration) (world.Conn, error) {
	return a.dial(client, to, timeout, true)
}

func (w *World) dial(client string, to history.BrokerID, timeout time.Duration, own bool) (world.Conn, error) {
	h, err := w.host(to)
	if err != nil {
		return nil, err
	}
	name := client + ">" + fmt.Sprint(to)
	nth := w.dials[name]
	w.dials[name] = nth + 1
	conn := &Conn{own: own}
	conn.c = w.newConn(nil, h, nil, conn, name, nth)
	if w.note(noteConnect, history.NoBroker, conn.c.id, 0, nil) {
		w.tell(history.NoBroker, name+" connects")
	}
	if !conn.wait(timeout, func() bool { return conn.c.opener != endConnecting }) {
		conn.Close()
		return nil, fmt.Errorf("%s to broker %d: %w after %v", client, to, world.ErrTimeout, timeout)
	}
	if conn.err != nil {
		return nil, fmt.Errorf("%s to broker %d: %w", client, to, world.ErrRefused)
	}
	return conn, nil
}

// wait blocks until cond holds, at most for timeout.
func (k *Conn) wait(timeout time.Duration, cond func() bool) bool {
	deadline := after(k.c.w.now, max(timeout, 0))
	for !cond() {
		left := deadline - k.c.w.now
		if left <= 0 {
			return false
		}
		k.waiter = k.c.w.current("Conn")
		k.waiter.park(left)
		k.waiter = nil
	}
	return true
}

// arrive takes a segment for a client.
func (k *Conn) arrive(s segment) {
	c := k.c
	switch s.kind {
	case segSynAck:
		c.opener = endOpen
	case segData:
		c.w.events++
		if c.w.note(noteFrame, history.NoBroker, c.id, 1, s.frame) {
			c.w.tell(history.NoBroker, c.label+": "+c.responseText(s.frame))
		}
		k.inbox.push(s.frame)
	default:
		if c.w.note(noteEnd, history.NoBroker, c.id, uint64(s.kind), nil) {
			c.w.tell(history.NoBroker, c.label+" closed by the broker")
		}
		c.opener = endClosed
		k.err = world.ErrClosed
	}
	if k.waiter != nil {
		k.waiter.unpark()
	}
}

// Send hands one frame to the network. The frame is copied: the caller may use it again.
func (k *Conn) Send(frame []byte) error {
	if k.c.opener != endOpen {
		return world.ErrClosed
	}
	k.c.out.send(segData, bytes.Clone(frame))
	return nil
}

// Receive blocks for the next frame, which belongs to the caller.
func (k *Conn) Receive(timeout time.Duration) ([]byte, error) {
	if !k.wait(timeout, func() bool { return k.inbox.len() > 0 || k.err != nil }) {
		return nil, world.ErrTimeout
	}
	if k.inbox.len() == 0 {
		return nil, k.err
	}
	return k.inbox.pop(), nil
}

// Close closes it; what was sent may still arrive at the broker.
func (k *Conn) Close() {
	c := k.c
	if c.opener == endOpen {
		c.out.send(segFin, nil)
	}
	c.opener = endClosed
	k.inbox, k.err = fifo[[]byte]{}, world.ErrClosed
	if k.waiter != nil {
		k.waiter.unpark()
	}
}
