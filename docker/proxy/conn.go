package proxy

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/world"
)

// Bounds of connections.
const (
	dialBound = 10 * time.Second // as Kafka's socket.connection.setup.timeout.ms
	// lateBound is how long the answer to a message that came late is awaited, which nobody is there to hear.
	lateBound = 30 * time.Second
)

// conn is a connection that passes: the two that the proxy has, to its opener and to its target.
type conn struct {
	p       *Proxy
	quorum  bool // it leads to a controller
	out, in way
	asked   asked
	unread  atomic.Bool
}

// pass carries a connection until both of its directions have ended.
func (p *Proxy) pass(opener *net.TCPConn) {
	defer p.open.Add(-1)
	defer opener.Close() //nolint:errcheck // it has ended
	route, target := p.lead(opener)
	if target == nil {
		p.refused.Add(1)
		reset(opener)
		return
	}
	defer target.Close() //nolint:errcheck // it has ended
	p.passed.Add(1)
	c := &conn{p: p, quorum: route.Quorum}
	back := world.Link{From: route.Link.To, To: route.Link.From}
	c.out = way{c: c, src: opener, dst: target, link: route.Link, gone: make(chan struct{})}
	c.in = way{c: c, src: target, dst: opener, link: back, gone: make(chan struct{})}
	if route.Unread {
		c.asked.lose()
		c.unread.Store(true) // it was not counted
	}
	c.out.tail.w, c.in.tail.w = &c.out, &c.in
	c.out.reader, c.in.reader = reader{asked: &c.asked}, reader{asked: &c.asked, responses: true}
	var both sync.WaitGroup
	both.Go(c.out.run)
	c.in.run()
	both.Wait()
}

// lead opens the way on; nil if there is none. Where the first packet had to be sent again, its opener's own would have had to be, too: one that has closed
// meanwhile has given the attempt up, and nothing of it may arrive. How long it took by the clock tells less: on a busy machine the proxy itself may be late.
func (p *Proxy) lead(opener *net.TCPConn) (Route, *net.TCPConn) {
	route, err := p.opt.Route(opener)
	if err != nil {
		return route, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialBound)
	defer cancel()
	dial := p.opt.Dial
	if dial == nil {
		dial = Plain
	}
	conn, err := dial(ctx, route.To)
	if err != nil {
		return route, nil
	}
	target, ok := conn.(*net.TCPConn)
	if !ok || sentAgain(target) && closed(opener) {
		reset(conn)
		return route, nil
	}
	if route.Patience > 0 {
		setUserTimeout(target, route.Patience)
	}
	return route, target
}

// back is the other direction.
func (w *way) back() *way {
	if w == &w.c.out {
		return &w.c.in
	}
	return &w.c.out
}

// reset breaks a connection as a machine does that knows nothing of it.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails on a closed connection only
	}
	_ = c.Close() // it is over
}

// blinded counts the connection, once, as one that cannot be read.
func (c *conn) blinded() {
	if c.unread.CompareAndSwap(false, true) {
		c.p.unread.Add(1)
	}
}
