package sim

import (
	"encoding/binary"
	"time"
)

// The network's weather. Every pipe draws from a stream of its own.
const (
	delayMin     = 200 * time.Microsecond
	delayMax     = 2 * time.Millisecond
	stallMin     = 20 * time.Millisecond
	stallMax     = 400 * time.Millisecond
	stallMost    = 1.0 / 500              // a run's chance for a segment to stall is drawn from 0 to this
	resetMost    = 1.0 / 50_000           // and that of its connection to be reset
	retryMin     = 200 * time.Millisecond // after a heal, TCP's next retransmission comes after this to retryMax
	retryMax     = 2 * time.Second
	connectMin   = time.Second // a connection attempt that nothing answers fails after this to connectMax
	connectMax   = 3 * time.Second
	pipeMax      = 10_000   // segments that one pipe holds before its connection breaks
	pipeMaxBytes = 64 << 20 // and bytes
)

// weather is how rough a run's network is; some runs have none at all.
type weather struct{ stall, reset float64 }

func newWeather(seed uint64) weather {
	s := newStream(seed, "weather", 0)
	if s.chance(0.3) {
		return weather{}
	}
	return weather{stall: stallMost * s.unit(), reset: resetMost * s.unit()}
}

// segment is what travels through a pipe.
type segment struct {
	kind    segmentKind
	key     int16         // of the API, if it is a frame
	version int16         // of it
	at      time.Duration // when it arrives unless something holds it
	frame   []byte
}

type segmentKind uint8

const (
	segSyn    segmentKind = iota // asks for the connection
	segSynAck                    // the peer's kernel accepted
	segData                      // one frame
	segFin                       // the sender closed
	segReset                     // the connection is lost
	segProbe                     // asks for nothing but to arrive
)

// pipe is one direction of a connection: what goes in comes out in order, each segment after a delay, and a segment that is
// held holds everything behind it. Only the first segment is in the event queue.
type pipe struct {
	c       *conn
	from    *host // nil: a client
	to      *host
	forward bool // from the side that opened the connection
	arrival event
	queue   fifo[segment]
	bytes   int
	last    time.Duration // when the segment sent last arrives
	rnd     stream
	held    bool    // by a cut, a machine without power or a fault on messages, which knows this pipe
	by      *catch  // the fault on messages that keeps the first segment under way
	judged  int     // number of the last such fault that the first segment met
	luck    *stream // whether a segment is lost, once any may be
	tries   int     // how often the first segment was lost
	late    *stream // by how much a segment is late, once any may be
}

// send puts a segment into the pipe.
func (p *pipe) send(kind segmentKind, frame []byte) {
	w := p.c.w
	draw := p.rnd.pcg.Uint64()
	delay := delayMin + time.Duration((draw>>32)*uint64(delayMax-delayMin)>>32)
	switch luck := float64(uint32(draw)) / (1 << 32); {
	case luck < w.weather.reset && kind == segData:
		p.c.reset()
		return
	case luck < w.weather.reset+w.weather.stall:
		delay += p.rnd.between(stallMin, stallMax)
	}
	delay += p.lag()
	p.last = max(p.last, w.now+delay)
	s := segment{kind: kind, at: p.last, frame: frame}
	if kind == segData {
		s.key, s.version = p.api(frame)
	}
	p.queue.push(s)
	p.bytes += len(frame)
	if !p.held && !p.arrival.queued() {
		w.queue.schedule(&p.arrival, p.last)
	}
}

// api is the API key of a frame that goes into the pipe, and its version: a request bears them, an answer is to the request that is being
// handled.
func (p *pipe) api(frame []byte) (key, version int16) {
	switch {
	case !p.forward:
		return p.c.key, p.c.version
	case len(frame) < 4:
		return keyNone, 0
	}
	return int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
}

// full reports whether the pipe holds more than a kernel would buffer.
func (p *pipe) full() bool { return p.queue.len() > pipeMax || p.bytes > pipeMaxBytes }

// fire delivers the first segment, unless something holds it.
func (p *pipe) fire() {
	w := p.c.w
	p.letGo()
	if p.from != nil && p.to != nil {
		if y := w.way(p.from, p.to); y.closed(p.c.port) {
			p.held = true
			y.held = append(y.held, p)
			return
		}
	}
	if p.to != nil && !p.to.powered {
		p.held = true
		p.to.held = append(p.to.held, p)
		return
	}
	if len(w.catches) > 0 && p.caught() {
		return
	}
	if p.from != nil && p.to != nil && p.loses(w.way(p.from, p.to)) {
		return
	}
	s := p.queue.pop()
	p.tries, p.judged = 0, 0
	p.bytes -= len(s.frame)
	if p.queue.len() > 0 {
		w.queue.schedule(&p.arrival, max(p.queue.first().at, w.now))
	}
	if p.forward {
		p.c.arriveAtAcceptor(s)
	} else {
		p.c.arriveAtOpener(s)
	}
}

// release lets a held pipe go on when the sender next retransmits.
func (p *pipe) release() {
	p.held = false
	if p.queue.len() == 0 {
		return
	}
	at := p.c.w.now + p.rnd.between(retryMin, retryMax)
	p.last = max(p.last, at)
	p.c.w.queue.schedule(&p.arrival, at)
}

// drop forgets everything in the pipe.
func (p *pipe) drop() {
	p.letGo()
	p.c.w.queue.cancel(&p.arrival)
	p.queue, p.bytes, p.tries, p.judged = fifo[segment]{}, 0, 0, 0
}

// releaseAll lets held pipes go on.
func releaseAll(held *[]*pipe) {
	pipes := *held
	*held = nil
	for _, p := range pipes {
		p.release()
	}
}
