package sim

import (
	"fmt"
	"strconv"

	"tidemark/broker"
	"tidemark/history"
)

// conn is one TCP connection, as both kernels see it. Brokers open one for each peer and purpose, clients one for each Dial.
type conn struct {
	w       *World
	id      uint64
	label   string // for the trace
	nth     int    // of this label
	port    port   // of the accepting broker, as cuts tell them apart
	link    *link  // the opener, if it is a broker
	client  *Conn  // the opener, if it is a client
	dst     *host
	probe   func() // of a message that only tests the way: it arrived
	out, in pipe   // from the opener, and back to it
	timeout event  // of a broker's connection attempt

	opener   endState
	unsent   [][]byte // the opener's frames until the connection stands
	acceptor endState
	number   broker.ConnID // in the accepting incarnation
	pending  fifo[[]byte]  // requests that arrived while the one before is being handled
	bytes    int           // of pending
	busy     bool          // a request was handed to the node, its reply is awaited
	key      int16         // of the request that was handed in last
	version  int16         // of it
	ended    bool          // the opener closed; the node learns it after what is pending
	asked    []asked       // of the requests handed in last, for the trace alone
}

// endState is one side's view of a connection.
type endState uint8

const (
	endNone endState = iota
	endConnecting
	endOpen
	endClosed
)

// pendingMax and pendingMaxBytes bound the requests that wait on one connection; past that it is reset.
const (
	pendingMax      = 10_000
	pendingMaxBytes = 64 << 20
)

// newConn starts a connection attempt. The stream of each direction is named after the two ends, the purpose, and how many
// connections of that name there were before.
func (w *World) newConn(src, dst *host, l *link, client *Conn, name string, nth int) *conn {
	w.conns++
	c := &conn{w: w, id: w.conns, label: name, nth: nth, link: l, client: client, dst: dst, opener: endConnecting}
	c.out = pipe{c: c, from: src, to: dst, forward: true, rnd: newStream(w.opt.Seed, "net/out/"+name, nth)}
	c.in = pipe{c: c, from: dst, to: src, rnd: newStream(w.opt.Seed, "net/in/"+name, nth)}
	c.out.arrival.h, c.in.arrival.h, c.timeout.h = &c.out, &c.in, c
	if l != nil {
		c.port = portFor(l.to.Purpose)
	}
	c.out.send(segSyn, nil)
	return c
}

// reset loses the connection both ways, with all that is under way.
func (c *conn) reset() {
	if c.w.note(noteReset, history.NoBroker, c.id, 0, nil) {
		c.w.tell(history.NoBroker, c.label+" reset by the network")
	}
	c.lose()
}

// lose breaks the connection: what is under way never arrives, and both ends see a reset.
func (c *conn) lose() {
	for _, p := range [2]*pipe{&c.out, &c.in} {
		p.drop()
		p.send(segReset, nil)
	}
}

// arriveAtAcceptor is what the accepting machine's kernel does with a segment.
func (c *conn) arriveAtAcceptor(s segment) {
	h := c.dst
	switch s.kind {
	case segProbe:
		c.probe()
	case segSyn:
		if h.node == nil {
			if c.w.note(noteRefuse, h.id, c.id, 0, nil) {
				c.w.tell(h.id, c.label+" refused")
			}
			c.acceptor = endClosed
			c.in.send(segReset, nil)
			return
		}
		h.accepted = append(h.accepted, c)
		c.number, c.acceptor = broker.ConnID(len(h.accepted)), endOpen
		if c.w.note(noteAccept, h.id, c.id, uint64(c.number), nil) {
			c.w.tell(h.id, c.label+" accepted")
		}
		c.in.send(segSynAck, nil)
	case segData:
		if c.acceptor == endOpen {
			h.input(input{kind: inRequest, c: c, frame: s.frame})
			return
		}
		c.bounce(&c.in, h.id)
	case segFin:
		if c.acceptor == endOpen {
			h.input(input{kind: inEnd, c: c})
		}
	case segReset:
		if c.acceptor == endOpen {
			h.input(input{kind: inReset, c: c})
		}
	}
}

// arriveAtOpener is what the opening machine's kernel does with a segment.
func (c *conn) arriveAtOpener(s segment) {
	if c.opener == endClosed {
		if s.kind == segData || s.kind == segSynAck {
			c.bounce(&c.out, history.NoBroker)
		}
		return
	}
	if c.client != nil {
		c.client.arrive(s)
		return
	}
	h := c.link.h
	switch s.kind {
	case segSynAck:
		h.input(input{kind: inConnected, c: c})
	case segData:
		h.input(input{kind: inResponse, c: c, frame: s.frame})
	case segFin, segReset:
		h.input(input{kind: inBroken, c: c})
	}
}

// bounce answers a segment for a socket that is no longer there.
func (c *conn) bounce(back *pipe, node history.BrokerID) {
	if c.w.note(noteDrop, node, c.id, 0, nil) {
		c.w.tell(node, c.label+": arrived at a closed connection")
	}
	back.send(segReset, nil)
}

// fire is a connection attempt's timeout, or the end of one whose buffer is full.
func (c *conn) fire() { c.link.h.input(input{kind: inBroken, c: c}) }

// link is a broker's way to one peer for one purpose: one connection after another.
type link struct {
	h      *host
	to     broker.Link
	dst    *host
	conn   *conn // nil while there is none
	opened int
}

// send sends a frame, over a new connection if there is none.
func (l *link) send(frame []byte) {
	w := l.h.w
	if l.conn == nil {
		name := strconv.Itoa(int(l.h.id)) + ">" + strconv.Itoa(int(l.dst.id)) + " " + purposeName(l.to.Purpose)
		l.conn = w.newConn(l.h, l.dst, l, nil, name, l.opened)
		l.opened++
		w.queue.schedule(&l.conn.timeout, w.now+l.conn.out.rnd.between(connectMin, connectMax))
		if w.note(noteConnect, l.h.id, l.conn.id, 0, nil) {
			w.tell(l.h.id, name+" connects")
		}
	}
	c := l.conn
	if c.opener == endConnecting {
		c.unsent = append(c.unsent, frame)
		return
	}
	if c.out.full() {
		w.queue.schedule(&c.timeout, w.now)
		return
	}
	c.out.send(segData, frame)
}

// close closes the link's connection from this side, as a process does: what was sent may still arrive.
func (l *link) close(kind segmentKind) {
	c := l.conn
	if c == nil {
		return
	}
	l.conn = nil
	l.h.w.queue.cancel(&c.timeout)
	if c.opener == endOpen {
		c.out.send(kind, nil)
	} else {
		c.out.drop() // a kernel forgets an attempt that was given up
	}
	c.opener = endClosed
	c.unsent = nil
}

func purposeName(p broker.Purpose) string {
	switch p {
	case broker.ForFetch:
		return "fetch"
	case broker.ForHeartbeat:
		return "heartbeat"
	case broker.ForAlter:
		return "alter"
	case broker.ForRaft:
		return "raft"
	case broker.ForForward:
		return "forward"
	default:
		return fmt.Sprintf("purpose %d", p)
	}
}
