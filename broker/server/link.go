package server

import (
	"bufio"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/broker"
)

// queueMax and queueMaxBytes bound what waits to be written to one peer for one purpose; beyond them the connection has failed.
const (
	queueMax      = 4096
	queueMaxBytes = 64 << 20
)

// link is the way to one peer for one purpose, as the loop has it: one connection after another.
type link struct {
	to  broker.Link
	way *way // nil while there is none

	problem string // why there was no address last, as logged
}

// way is one connection to a peer, from the moment that it is dialled on. What it reports after it was given up is not heard.
type way struct {
	to      broker.Link
	address string
	queue   chan []byte
	bytes   atomic.Int64 // in queue
	dead    chan struct{}
	cancel  context.CancelFunc

	mu     sync.Mutex
	closed bool
	conn   net.Conn // nil until it stands
}

// send queues a frame, over a new connection if there is none. False if the link has failed.
func (l *link) send(s *Server, frame []byte) bool {
	if l.way == nil {
		address, err := s.addressOf(l.to)
		if err != nil {
			if l.problem != err.Error() {
				l.problem = err.Error()
				s.log.Warn("no way to a peer", "error", err)
			}
			return false
		}
		l.problem = ""
		ctx, cancel := context.WithTimeout(context.Background(), min(s.cfg.Shell.ConnectionSetupTimeout, s.linkTimeout(l.to)))
		w := &way{to: l.to, address: address, queue: make(chan []byte, queueMax), dead: make(chan struct{}), cancel: cancel}
		l.way = w
		s.working.Go(func() { w.run(ctx, s) })
	}
	w := l.way
	if w.bytes.Add(int64(len(frame))) <= queueMaxBytes {
		select {
		case w.queue <- frame:
			return true
		default:
		}
	}
	l.close()
	return false
}

// close gives the connection up.
func (l *link) close() {
	if l.way != nil {
		l.way.close()
		l.way = nil
	}
}

func (w *way) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	close(w.dead)
	w.cancel()
	if w.conn != nil {
		_ = w.conn.Close()
	}
}

// stands takes the connection once it is established; false if it was given up meanwhile.
func (w *way) stands(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = conn.Close()
		return false
	}
	w.conn = conn
	return true
}

// run dials and writes until the connection fails or is given up.
func (w *way) run(ctx context.Context, s *Server) {
	defer s.post(event{kind: evFailed, way: w})
	defer w.close()
	dialer := net.Dialer{KeepAlive: keepAlive}
	conn, err := dialer.DialContext(ctx, "tcp", w.address)
	if err != nil || !w.stands(conn) {
		return
	}
	s.metrics.linksOpened.Add(1)
	setUserTimeout(conn, s.linkTimeout(w.to))
	var reader sync.WaitGroup
	reader.Go(func() { w.read(s, conn) })
	w.write(s, conn)
	w.close()
	reader.Wait()
}

// linkTimeout is how long bytes on the way to a peer may go unacknowledged: a connection that a cut has silenced is not to outlive
// it by the minutes that TCP would wait. Raft messages have no answers whose absence could be noticed.
func (s *Server) linkTimeout(to broker.Link) time.Duration {
	if to.Purpose == broker.ForRaft {
		return min(2*s.cfg.QuorumElectionTimeout, s.cfg.Shell.FrameTimeout)
	}
	return min(s.cfg.ReplicaSocketTimeout, s.cfg.Shell.FrameTimeout)
}

func (w *way) write(s *Server, conn net.Conn) {
	for {
		select {
		case frame := <-w.queue:
			w.bytes.Add(-int64(len(frame)))
			_ = conn.SetWriteDeadline(time.Now().Add(s.cfg.Shell.FrameTimeout))
			if err := writeFrame(conn, frame); err != nil {
				return
			}
		case <-w.dead:
			return
		}
	}
}

// read hands answers to the loop until the connection ends, which ends the writer too.
func (w *way) read(s *Server, conn net.Conn) {
	defer w.close()
	limit := max(s.cfg.SocketRequestMaxBytes, s.cfg.ReplicaFetchResponseMaxBytes+s.cfg.MessageMaxBytes)
	in := bufio.NewReaderSize(conn, readBuffer)
	for {
		size, err := readSize(in, limit)
		if err != nil {
			return
		}
		frame, err := readBody(in, nil, size, func(int) error { return nil })
		if err != nil || !s.post(event{kind: evResponse, way: w, frame: frame}) {
			return
		}
	}
}
