package proxy

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"tidemark/world"
)

// What is late lies here. A direction of a connection keeps as much as a kernel would have under way, and all together no more than a bound; beyond that a
// sender is held back, as by a full window.
const (
	lagBytesWay = 4 << 20
	lagBytesMax = 256 << 20
	lagsMax     = 1024 // links
)

// lags are the links whose bytes are late.
type lags struct {
	mu    sync.Mutex
	links map[world.Link]world.Lag
}

// Lag delays the bytes of a link from now on: what is read at a time stays as long under way, and the order is kept. That they overtake each other cannot
// be had of the bytes of a connection.
func (p *Proxy) Lag(at world.Link, l world.Lag) error {
	if err := l.Check(); err != nil {
		return err
	}
	if l.Reorder > 0 {
		return fmt.Errorf("a share of %v of the packets that overtake, expected none: a proxy passes the bytes of connections, whose order stays", l.Reorder)
	}
	p.lags.mu.Lock()
	defer p.lags.mu.Unlock()
	switch _, late := p.lags.links[at]; {
	case late:
		return fmt.Errorf("bytes from %d to %d are late already", at.From, at.To)
	case len(p.lags.links) >= lagsMax:
		return fmt.Errorf("bytes are late on %d links, expected fewer than %d", len(p.lags.links), lagsMax)
	case p.lags.links == nil:
		p.lags.links = map[world.Link]world.Lag{}
	}
	p.lags.links[at] = l
	p.lagging.Add(1)
	return nil
}

// EndLag ends it. What is under way arrives when its time has come, and what comes then stands behind it.
func (p *Proxy) EndLag(at world.Link) error {
	p.lags.mu.Lock()
	defer p.lags.mu.Unlock()
	if _, late := p.lags.links[at]; !late {
		return fmt.Errorf("no bytes from %d to %d are late", at.From, at.To)
	}
	delete(p.lags.links, at)
	p.lagging.Add(-1)
	return nil
}

// drawLag draws by how much bytes of a link that pass now are late.
func (p *Proxy) drawLag(at world.Link) time.Duration {
	if p.lagging.Load() == 0 {
		return 0
	}
	p.lags.mu.Lock()
	defer p.lags.mu.Unlock()
	l := p.lags.links[at]
	if l.Jitter == 0 {
		return l.By
	}
	return l.By - l.Jitter + rand.N(2*l.Jitter+1)
}

// tail is what of a direction is late, in order. Who sends is one, and so is who passes it on, for as long as there is anything.
type tail struct {
	w *way

	mu      sync.Mutex
	late    []lateBytes
	bytes   int
	sending bool
	failed  bool          // nobody is there to hear it
	changed chan struct{} // closed, and another one, at every change that somebody may wait for
}

type lateBytes struct {
	due  time.Time
	data []byte
}

// pass takes some bytes that are late, or stand behind such: false if nobody is there to hear them.
func (t *tail) pass(b []byte, by time.Duration) bool {
	t.mu.Lock()
	for !t.failed && t.bytes > 0 && (t.bytes+len(b) > lagBytesWay || t.w.c.p.lagged.Load() > lagBytesMax) {
		if !t.await() {
			t.failed = true
		}
	}
	defer t.mu.Unlock()
	if t.failed {
		return false
	}
	due := time.Now().Add(by)
	if n := len(t.late); n > 0 && t.late[n-1].due.After(due) {
		due = t.late[n-1].due
	}
	t.late = append(t.late, lateBytes{due, append([]byte(nil), b...)})
	t.bytes += len(b)
	t.w.c.p.lagged.Add(int64(len(b)))
	if !t.sending {
		t.sending = true
		go t.send()
	}
	return true
}

// await waits for a change, without the lock, and reports whether the direction is still there.
func (t *tail) await() bool {
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	changed := t.changed
	t.mu.Unlock()
	defer t.mu.Lock()
	select {
	case <-changed:
		return true
	case <-t.w.gone:
		return false
	}
}

// send passes on what is late, each when it is due, until nothing is left.
func (t *tail) send() {
	for {
		t.mu.Lock()
		if t.failed || len(t.late) == 0 {
			t.w.c.p.lagged.Add(-int64(t.bytes))
			t.late, t.bytes, t.sending = nil, 0, false
			t.tell()
			t.mu.Unlock()
			return
		}
		first := t.late[0]
		t.mu.Unlock()
		timer := time.NewTimer(time.Until(first.due))
		sent := false
		select {
		case <-timer.C:
			_, err := t.w.dst.Write(first.data)
			sent = err == nil
		case <-t.w.gone:
			timer.Stop()
		}
		t.mu.Lock()
		t.failed = t.failed || !sent
		if sent {
			t.late[0].data = nil
			t.late = t.late[1:]
			t.bytes -= len(first.data)
			t.w.c.p.lagged.Add(-int64(len(first.data)))
		}
		t.tell()
		t.mu.Unlock()
	}
}

// tell wakes whoever waits for a change.
func (t *tail) tell() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// empty reports whether nothing is late.
func (t *tail) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.sending
}

// drain waits until nothing is late any more.
func (t *tail) drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.sending && t.await() {
	}
}

// ended waits for the end of a direction to arrive: behind what is late, and as late as a packet of its own.
func (t *tail) ended() {
	if by := t.w.c.p.drawLag(t.w.link); by > 0 {
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-t.w.gone:
		}
	}
	t.drain()
}
