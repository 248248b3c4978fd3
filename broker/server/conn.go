package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/broker"
)

// conn is one accepted connection. Its reader hands in a request at a time and waits until the writer has written the answer
// (Kafka mutes the channel so): there is never more than one answer to keep for a client.
type conn struct {
	id       broker.ConnID
	listener string // whose it is
	net      net.Conn
	replies  chan answer   // holds the one answer that may be due
	unmuted  chan struct{} // after each answer
	dead     chan struct{}
	once     sync.Once
	used     atomic.Int64 // when a frame last began or ended, in nanoseconds of the broker's clock

	// Guarded by the registry's lock.
	owed      int           // bytes of the answer that is being written
	owedSince time.Duration // when it was given
}

// answer is what a connection's writer is to do.
type answer struct {
	frame []byte // nil: there is none
	close bool
}

// smallFrame is the size up to which a request is admitted whatever else is queued, and its buffer is kept: brokers' heartbeats do
// not wait behind clients' megabytes.
const smallFrame = 16 << 10

// close ends the connection at once.
func (c *conn) close() {
	c.once.Do(func() {
		close(c.dead)
		_ = c.net.Close()
	})
}

// serve runs an accepted connection to its end.
func (s *Server) serve(c *conn) {
	var writer sync.WaitGroup
	writer.Go(func() { s.write(c) })
	s.read(c)
	c.close()
	writer.Wait()
	s.conns.remove(c)
	s.post(event{kind: evClosed, conn: c.id})
}

// read hands in requests until the client ends its side, breaks the protocol, or the connection is closed.
func (s *Server) read(c *conn) {
	in := bufio.NewReaderSize(c.net, readBuffer)
	var buf []byte
	asked := false
	for {
		size, err := readSize(in, s.cfg.SocketRequestMaxBytes)
		if err != nil && !endOfStream(err) {
			var lost *net.OpError
			if !errors.As(err, &lost) {
				s.metrics.badFrames.Add(1)
			}
			return
		}
		// A client that has closed its side may still wait for the answer to what it sent before.
		if asked {
			select {
			case <-c.unmuted:
			case <-c.dead:
				return
			}
		}
		if err != nil {
			return
		}
		c.used.Store(int64(s.now()))
		frame, taken, err := s.readRequest(c, in, buf, size)
		posted := err == nil && s.post(event{kind: evRequest, conn: c.id, frame: frame, taken: taken})
		if !posted {
			s.requests.give(taken)
			return
		}
		asked = true
		if buf = frame; cap(buf) > smallFrame {
			buf = nil
		}
	}
}

// endOfStream reports whether a client closed its side, be it inside a frame.
func endOfStream(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// readRequest reads a frame of that size, within the bounds of time and of the bytes that requests may take: those that it took are
// to be given back. It takes the whole frame's bytes at once, as requests that each hold a part would wait for one another, but only
// when more than a small frame's have arrived, as a claim costs its sender nothing.
func (s *Server) readRequest(c *conn, in *bufio.Reader, buf []byte, size int) (frame []byte, taken int, err error) {
	if in.Buffered() < size {
		_ = c.net.SetReadDeadline(time.Now().Add(s.cfg.Shell.FrameTimeout))
		defer func() { _ = c.net.SetReadDeadline(time.Time{}) }()
	}
	frame, err = readBody(in, buf, size, func(to int) error {
		if to <= smallFrame || taken > 0 {
			return nil
		}
		if err := s.requests.take(size, c.dead, s.cfg.Shell.FrameTimeout); err != nil {
			return err
		}
		taken = size
		return nil
	})
	return frame, taken, err
}

// write writes answers until the connection is closed.
func (s *Server) write(c *conn) {
	defer c.close()
	for {
		var a answer
		select {
		case a = <-c.replies:
		case <-c.dead:
			return
		}
		if a.frame != nil {
			_ = c.net.SetWriteDeadline(time.Now().Add(s.cfg.Shell.FrameTimeout))
			if err := writeFrame(c.net, a.frame); err != nil {
				return
			}
			c.used.Store(int64(s.now()))
		}
		s.conns.paid(c)
		if a.close {
			return
		}
		c.unmuted <- struct{}{}
	}
}
