package server

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"tidemark/broker"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// event is something that happened, for the node.
type event struct {
	kind  eventKind
	conn  broker.ConnID
	frame []byte
	taken int          // of evRequest: bytes to be given back to the budget of requests
	way   *way         // of evResponse and evLinkFailed
	flush disk.FlushID // of evFlushed
	err   error        // of evFlushed
	look  func()       // of evLook: reads the node, changes nothing
}

type eventKind uint8

const (
	evRequest  eventKind = iota // a frame on an accepted connection
	evClosed                    // an accepted connection is gone
	evResponse                  // a frame on a link
	evFailed                    // a link could not be opened, or broke
	evFlushed                   // a flush is done
	evShutdown                  // the process is asked to stop
	evLook                      // someone wants to see the node
)

// batchMax bounds how many events are handled between two looks at the clock's timer.
const batchMax = 64

// post hands an event to the loop; false once the loop has ended.
func (s *Server) post(e event) bool {
	select {
	case s.events <- e:
		return true
	case <-s.quit:
		return false
	}
}

// loop owns the node until it ends: nil when a controlled shutdown is complete.
func (s *Server) loop() error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ended, err := s.carry()
		if ended {
			return err
		}
		s.tell()
		timer.Reset(max(s.node.Deadline()-s.now(), 0))
		select {
		case e := <-s.events:
			if ended, err := s.handleBatch(e); ended {
				return err
			}
		case <-timer.C:
		case <-s.stop:
			return ErrClosed
		}
		if now := s.now(); s.node.Deadline() <= now {
			s.node.Tick(now)
		}
	}
}

// tell logs what an operator waits for.
func (s *Server) tell() {
	if epoch := s.node.BrokerEpoch(); epoch != s.epoch {
		s.epoch = epoch
		s.log.Info("registered", "broker epoch", epoch)
	}
	if id, term := s.node.ActiveController(); id != s.controller && id != kafka.NoBroker {
		s.controller = id
		s.log.Info("follows the controller", "controller", id, "term", term)
	}
}

// handleBatch handles an event and those that wait behind it, up to a bound.
func (s *Server) handleBatch(e event) (ended bool, err error) {
	for n := 1; ; n++ {
		s.handle(&e)
		if ended, err = s.carry(); ended {
			return true, err
		}
		if n == batchMax { // before another is taken: what is taken is handled
			return false, nil
		}
		select {
		case e = <-s.events:
		case <-s.stop:
			return true, ErrClosed
		default:
			return false, nil
		}
	}
}

// handle gives one event to the node.
func (s *Server) handle(e *event) {
	now := s.now()
	switch e.kind {
	case evRequest:
		if c := s.conns.get(e.conn); c != nil {
			s.metrics.requests.Add(1)
			s.node.RequestAt(now, c.listener, e.conn, e.frame)
		}
		s.requests.give(e.taken)
	case evClosed:
		s.node.Disconnected(now, e.conn)
	case evResponse:
		if l := s.links[e.way.to]; l != nil && l.way == e.way {
			s.node.Response(now, e.way.to, e.frame)
		}
	case evFailed:
		if l := s.links[e.way.to]; l != nil && l.way == e.way {
			l.way = nil
			s.metrics.linkFailures.Add(1)
			s.node.LinkFailed(now, e.way.to)
		}
	case evFlushed:
		s.node.Flushed(now, e.flush, e.err)
	case evShutdown:
		s.log.Info("shutting down")
		s.node.Shutdown(now)
	case evLook:
		e.look()
	}
}

// carry does what the node wants done. A link that cannot take a frame has failed: that is an input again, so it repeats.
func (s *Server) carry() (ended bool, err error) {
	for {
		out := s.node.Ready()
		s.steps.add(&out)
		if out.Fatal != nil {
			return true, fmt.Errorf("broker %d: %w", s.cfg.NodeID, out.Fatal)
		}
		for _, to := range out.Resets {
			if l := s.links[to]; l != nil {
				l.close()
			}
		}
		var failed []broker.Link
		for i := range out.Sends {
			if l := s.link(out.Sends[i].Link); !l.send(s, out.Sends[i].Frame) {
				failed = append(failed, l.to)
			}
		}
		for i := range out.Replies {
			s.reply(&out.Replies[i])
		}
		for _, f := range out.Flushes {
			s.flusher.add(f)
		}
		if out.Exit {
			return true, nil
		}
		if failed == nil {
			return false, nil
		}
		for _, to := range failed {
			s.metrics.linkFailures.Add(1)
			s.node.LinkFailed(s.now(), to)
		}
	}
}

// reply hands an answer to its connection's writer, which is idle: a connection's next request is read after its answer.
func (s *Server) reply(r *broker.Reply) {
	c := s.conns.get(r.Conn)
	if c == nil {
		return
	}
	if !s.conns.owe(c, len(r.Frame), s.now()) {
		s.metrics.slowClosed.Add(1)
	}
	select {
	case c.replies <- answer{r.Frame, r.Close}:
	default:
		s.log.Error("a second answer to one request", "connection", r.Conn)
		c.close()
	}
}

// addressOf is where a peer listens for what goes to it: fetches go to its inter-broker listener, where it registered; the controller's
// part of it is where controller.quorum.voters says. What the quorum sends to a broker that is no voter goes to where that one registered.
func (s *Server) addressOf(to broker.Link) (string, error) {
	listeners := []string{s.cfg.InterBrokerListener}
	if to.Purpose != broker.ForFetch {
		for _, v := range s.cfg.Voters {
			if v.ID == to.Peer {
				return address(v.Host, v.Port), nil
			}
		}
		if to.Purpose != broker.ForRaft {
			return "", fmt.Errorf("node %d is no voter", to.Peer)
		}
		listeners = s.cfg.QuorumListeners()
	}
	b := s.node.Image().Brokers[to.Peer]
	for _, name := range listeners {
		if e, ok := b.Endpoint(name); ok {
			return address(e.Host, e.Port), nil
		}
	}
	return "", fmt.Errorf("broker %d is registered with endpoints %v, expected one at %v", to.Peer, b.Endpoints, listeners)
}

func address(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

// link is the way to a peer for one purpose, made at its first use.
func (s *Server) link(to broker.Link) *link {
	l := s.links[to]
	if l == nil {
		l = &link{to: to}
		s.links[to] = l
	}
	return l
}
