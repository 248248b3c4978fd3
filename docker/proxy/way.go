package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"tidemark/world"
)

// Sizes of buffers. A connection begins with a small one, which grows when it is filled; what is left of a frame beyond spliceMin goes from
// socket to socket without passing through here.
const (
	bufferMin = 4 << 10
	bufferMax = 64 << 10
	spliceMin = 128 << 10
	// lateBytesMax bounds what a proxy keeps of messages that are late: theirs are the only bodies that have to be kept, as their senders'
	// connections are gone. One for which there is no room is held instead.
	lateBytesMax = 128 << 20
	// readBytesMax bounds a message that is read whole; Kafka's followers fetch 10 MiB at most (replica.fetch.response.max.bytes).
	readBytesMax = 16 << 20
)

// way is one direction of a connection.
type way struct {
	c        *conn
	src, dst *net.TCPConn
	link     world.Link
	reader   reader
	need     int           // bytes of the frame that has begun, which are to be there before it is judged; 0: as many as there are
	gone     chan struct{} // closed: nothing that is under way here arrives any more
	once     sync.Once
	tail     tail
}

// How a direction ends before its source does.
var (
	errUnheard = errors.New("nobody is there to hear it")
	errLate    = errors.New("the rest was late, and has arrived")
)

// run carries a direction to its end, and ends it for the other side as it ended here.
func (w *way) run() {
	err := w.carry()
	if errors.Is(err, errUnheard) {
		_, err = io.Copy(io.Discard, w.src)
	}
	w.tail.ended()
	select {
	case <-w.gone:
		return // both sides know
	default:
	}
	switch {
	case errors.Is(err, errLate):
		_ = w.dst.SetReadDeadline(time.Now().Add(lateBound)) // fails on a closed connection only
		_ = w.dst.CloseWrite()
	case err == nil || w == &w.c.out: // also where the opener reset it: what it had sent before must not be lost to that
		_ = w.dst.CloseWrite()
	default:
		reset(w.dst)
	}
}

// carry passes frames on until the source ends: nil if that closed it.
func (w *way) carry() error {
	buf, have := make([]byte, bufferMin), 0
	for {
		if have == 0 && w.reader.left >= spliceMin && w.atOnce() {
			if err := w.splice(); err != nil {
				return err
			}
		}
		n, err := w.src.Read(buf[have:])
		have += n
		full := have == len(buf)
		passed, stop := w.judge(buf[:have])
		if stop != nil {
			return stop
		}
		have = copy(buf, buf[passed:have])
		if err != nil {
			if have > 0 && !w.write(buf[:have]) { // the beginning of a frame that never comes
				return errUnheard
			}
			return ended(err)
		}
		switch {
		case w.need > len(buf):
			buf = append(make([]byte, 0, w.need), buf[:have]...)[:w.need]
		case w.need == 0 && have == 0 && len(buf) > bufferMax: // a large frame was read whole
			buf = make([]byte, bufferMax)
		case full && len(buf) < bufferMax:
			buf = append(make([]byte, 0, 4*len(buf)), buf...)
			buf = buf[:cap(buf)]
		}
	}
}

// ended is nil for the end of a stream.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// atOnce reports whether bytes pass as they come: none are late.
func (w *way) atOnce() bool { return w.c.p.lagging.Load() == 0 && w.tail.empty() }

// splice passes what is left of a large frame.
func (w *way) splice() error {
	n, err := io.CopyN(w.dst, w.src, int64(w.reader.left))
	w.reader.left -= int(n)
	if err == nil || errors.Is(err, io.EOF) {
		return nil // the next read says so
	}
	return errUnheard // or it is the source that failed: then there is nothing more to be heard
}

// judge passes on what may pass of some bytes, and says how many did. It returns when what is left of them is too short to be judged; an error says
// why nothing more will pass.
func (w *way) judge(b []byte) (passed int, err error) {
	ready := 0 // up to here they have passed
	for passed < len(b) {
		n, what := w.reader.next(b[passed:])
		if w.reader.blind {
			w.c.blinded()
		}
		if what == tooFew {
			break
		}
		if what == passing {
			passed += n
			continue
		}
		if w.c.p.inForce.Load() > 0 {
			m := Message{Link: w.link, Response: w.reader.responses, API: apiOf(w.reader.begun.key, w.c.quorum)}
			if !w.read(&m, b[passed:]) {
				break
			}
			if s := w.c.p.meet(m, 0); s != nil {
				if !w.write(b[ready:passed]) {
					w.c.p.leave(s)
					return passed, errUnheard
				}
				ready = passed
				if err := w.stay(m, s, b[passed:]); err != nil {
					return passed, err
				}
			}
		}
		w.reader.admit()
		w.need = 0
	}
	if !w.write(b[ready:passed]) {
		return passed, errUnheard
	}
	return passed, nil
}

// read reads a message that begins with some bytes, if a fault concerns those of one partition; false if more of it must arrive first. One that
// is too large, or no such message, tells nothing.
func (w *way) read(m *Message, b []byte) bool {
	names, ok := w.c.p.wants(*m)
	if !ok {
		return true
	}
	size := lengthBytes + w.reader.begun.size
	switch {
	case size > readBytesMax:
		w.c.p.missed.Add(1)
		return true
	case len(b) < size:
		w.need = size
		return false
	}
	var err error
	if m.Told, err = w.reader.told(b[:size], names); err != nil {
		w.c.p.missed.Add(1)
	}
	return true
}

// write passes bytes on; false if nobody is there to hear them.
func (w *way) write(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if by := w.c.p.drawLag(w.link); by > 0 || !w.tail.empty() {
		return w.tail.pass(b, by)
	}
	_, err := w.dst.Write(b)
	return err == nil
}

// stay does to a message, of which some bytes have arrived, what faults ask for, one after the other. Nil lets it pass.
func (w *way) stay(m Message, s *stay, arrived []byte) error {
	var late []byte // it, and what has come behind it: their sender is gone
	defer func() { w.c.p.late.Add(-int64(cap(late))) }()
	for ; s != nil; s = w.c.p.meet(m, s.of.Number) {
		if !w.wait(s, s.decided, 0) {
			return errUnheard
		}
		if !s.acts {
			continue
		}
		switch {
		case s.kind() == world.CanDrop:
			w.lose()
			w.back().lose()
			return errUnheard
		case s.kind() == world.CanLate && late == nil:
			if late = w.take(arrived); late == nil {
				break // it is held instead
			}
			w.back().forget()
			reset(w.src)
		}
		if !w.wait(s, s.over, s.lasts(lengthBytes+w.reader.begun.size)) {
			return errUnheard
		}
	}
	switch {
	case late == nil:
		return nil
	case !w.write(whole(late)):
		return errUnheard
	}
	return errLate
}

// take takes in a message, of which some bytes have arrived; nil if there is no room for it.
func (w *way) take(arrived []byte) []byte {
	size := max(lengthBytes+w.reader.begun.size, len(arrived))
	if w.c.p.late.Add(int64(size)) > lateBytesMax {
		w.c.p.late.Add(-int64(size))
		return nil
	}
	all := append(make([]byte, 0, size), arrived...)
	n, _ := io.ReadFull(w.src, all[len(all):size]) // what its sender did not send whole will not arrive
	return all[:len(all)+n]
}

// forget lets nothing that is under way here arrive any more.
func (w *way) forget() { w.once.Do(func() { close(w.gone) }) }

// lose breaks this direction: nothing of it arrives, and its source is reset.
func (w *way) lose() {
	w.forget()
	reset(w.src)
}

// wait waits for what a message waits for, at most for a time if that is not 0; false if the message is lost meanwhile.
func (w *way) wait(s *stay, what <-chan struct{}, most time.Duration) bool {
	var timeout <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-what:
		return true
	case <-timeout:
		w.c.p.leave(s)
		return true
	case <-w.gone:
		w.c.p.leave(s)
		return false
	}
}

// whole is the frames of some bytes, without the last if it is not all there.
func whole(b []byte) []byte {
	n := 0
	for len(b)-n >= lengthBytes {
		size := int(int32(binary.BigEndian.Uint32(b[n:])))
		if size < 0 || size > len(b)-n-lengthBytes {
			break
		}
		n += lengthBytes + size
	}
	return b[:n]
}
