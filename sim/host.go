package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"tidemark/broker"
	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/history"
)

// node is what of a broker.Node the simulator drives; tests put simpler ones there.
type node interface {
	Request(now time.Duration, conn broker.ConnID, frame []byte)
	Disconnected(now time.Duration, conn broker.ConnID)
	Response(now time.Duration, link broker.Link, frame []byte)
	LinkFailed(now time.Duration, link broker.Link)
	Flushed(now time.Duration, id disk.FlushID, err error)
	Tick(now time.Duration)
	Deadline() time.Duration
	Ready() broker.Output
	Shutdown(now time.Duration)
	Close()
}

// opener starts a node, as broker.Open does.
type opener func(cfg config.Config, fs disk.FS, now time.Duration, rnd *rand.Rand) (node, error)

// hostState is what a broker's process is doing.
type hostState uint8

const (
	hostDown hostState = iota
	hostBooting
	hostUp
	hostPaused
	hostFrozen
)

// halted reports whether the process stands still while its kernel goes on.
func (s hostState) halted() bool { return s == hostPaused || s == hostFrozen }

// host is a machine with its kernel, disk and clock, and the broker process on it.
type host struct {
	w       *World
	id      history.BrokerID
	index   int // in World.hosts
	cfg     config.Config
	drive   *drive
	clock   clock
	rnd     stream // latencies of this machine
	state   hostState
	powered bool
	held    []*pipe // waiting for power

	node        node // nil unless up or halted
	incarnation int
	boot        event
	bootErr     error
	timer       event
	changed     *signal // notified when state changes

	disks    int // new ones so far
	links    map[broker.Link]*link
	linkList []*link     // in order of first use
	accepted []*conn     // by ConnID-1; nil once closed
	runnable fifo[*conn] // whose next request can be handed in
	inbox    []input     // while halted
	flushes  flushQueue
	last     map[history.Partition]history.ReplicaState // as last observed
}

// input is something for the process from its kernel.
type input struct {
	kind  inputKind
	c     *conn
	frame []byte
}

type inputKind uint8

const (
	inRequest   inputKind = iota // a frame on an accepted connection
	inEnd                        // the peer closed an accepted connection
	inReset                      // an accepted connection was lost
	inConnected                  // a link's connection stands
	inResponse                   // a frame on a link
	inBroken                     // a link could not be opened or broke
	inFlushed                    // a flush is done; frame is unused
)

// input hands something to the process; while it is halted, the kernel keeps it.
func (h *host) input(in input) {
	if h.state.halted() {
		h.inbox = append(h.inbox, in)
		return
	}
	if h.handle(in) {
		h.settle()
	}
}

func (h *host) local() time.Duration { return h.clock.at(h.w.now) }

// handle gives one input to the node and reports whether the node was touched.
func (h *host) handle(in input) bool {
	c := in.c
	h.w.acting = h.id
	switch in.kind {
	case inRequest:
		return h.request(c, in.frame)
	case inEnd:
		if c.acceptor != endOpen {
			return false
		}
		c.ended = true
		if c.busy || c.pending.len() > 0 {
			return false
		}
		h.disconnect(c)
	case inReset:
		if c.acceptor != endOpen {
			return false
		}
		h.disconnect(c)
	case inConnected:
		if c.opener != endConnecting {
			return false
		}
		c.opener = endOpen
		h.w.queue.cancel(&c.timeout)
		for _, frame := range c.unsent {
			c.out.send(segData, frame)
		}
		c.unsent = nil
		return false
	case inResponse:
		if c.opener != endOpen {
			return false
		}
		h.w.events++
		if h.w.note(noteFrame, h.id, c.id, 1, in.frame) {
			h.w.tell(h.id, c.label+": "+c.responseText(in.frame))
		}
		h.node.Response(h.local(), c.link.to, in.frame)
	case inBroken:
		if c.opener == endClosed {
			return false
		}
		if h.w.note(noteEnd, h.id, c.id, 0, nil) {
			h.w.tell(h.id, c.label+" failed")
		}
		c.link.close(segFin)
		h.node.LinkFailed(h.local(), c.link.to)
	case inFlushed:
		h.flushes.report()
	}
	return true
}

// request hands in a frame, or lets it wait for the reply to the one before it.
func (h *host) request(c *conn, frame []byte) bool {
	if c.acceptor != endOpen {
		return false
	}
	if !c.busy && c.pending.len() == 0 {
		h.serve(c, frame)
		return true
	}
	if c.pending.len() >= pendingMax || c.bytes+len(frame) > pendingMaxBytes {
		c.reset()
		return false
	}
	c.pending.push(frame)
	c.bytes += len(frame)
	return false
}

func (h *host) serve(c *conn, frame []byte) {
	h.w.events++
	if h.w.note(noteFrame, h.id, c.id, 0, frame) {
		h.w.tell(h.id, c.label+": "+c.requestText(frame))
	}
	c.busy = true
	c.key, c.version = c.out.api(frame)
	h.node.Request(h.local(), c.number, frame)
}

func (h *host) disconnect(c *conn) {
	if h.w.note(noteEnd, h.id, c.id, 1, nil) {
		h.w.tell(h.id, c.label+" closed by its opener")
	}
	h.forget(c)
	h.node.Disconnected(h.local(), c.number)
}

// forget closes the accepting side of a connection.
func (h *host) forget(c *conn) {
	c.acceptor = endClosed
	c.pending, c.bytes, c.busy = fifo[[]byte]{}, 0, false
	h.accepted[c.number-1] = nil
}

// settle carries out what the node wants done after an input, hands in requests that waited for a reply, and sets the timer.
func (h *host) settle() {
	for {
		out := h.node.Ready()
		h.carry(&out)
		h.w.touched(h.id)
		if h.node == nil {
			return
		}
		if !h.next() {
			break
		}
	}
	h.arm()
}

// next hands in the next request of a connection whose last one was answered; false when there is none.
func (h *host) next() bool {
	for h.runnable.len() > 0 {
		c := h.runnable.pop()
		if c.acceptor != endOpen || c.busy {
			continue
		}
		if c.pending.len() > 0 {
			frame := c.pending.pop()
			c.bytes -= len(frame)
			h.serve(c, frame)
			return true
		}
		if c.ended {
			h.disconnect(c)
			return true
		}
	}
	return false
}

// carry does what the node wants done.
func (h *host) carry(out *broker.Output) {
	h.record(out)
	if out.Fatal != nil {
		how := history.ExitedByItself
		if errors.As(out.Fatal, new(injected)) {
			how = history.DiskFailed
		}
		h.end(endByKill, how+": "+out.Fatal.Error())
		return
	}
	for _, to := range out.Resets {
		if l := h.links[to]; l != nil {
			l.close(segFin)
		}
	}
	for i := range out.Sends {
		if l := h.link(out.Sends[i].Link); l != nil {
			l.send(out.Sends[i].Frame)
		}
	}
	for i := range out.Replies {
		h.reply(&out.Replies[i])
	}
	for _, f := range out.Flushes {
		h.flushes.add(f)
	}
	if out.Exit {
		h.end(endByExit, "shut down")
	}
}

func (h *host) reply(r *broker.Reply) {
	if r.Conn == 0 || int(r.Conn) > len(h.accepted) {
		h.w.fail(fmt.Errorf("broker %d replied on connection %d, which it never accepted", h.id, r.Conn))
		return
	}
	c := h.accepted[r.Conn-1]
	if c == nil {
		return
	}
	if r.Frame != nil {
		c.in.send(segData, r.Frame)
	}
	if r.Close {
		c.in.send(segFin, nil)
		h.forget(c)
		return
	}
	if !c.busy {
		h.w.fail(fmt.Errorf("broker %d replied on connection %d (%s), where no request waits for one", h.id, r.Conn, c.label))
		return
	}
	c.busy = false
	if c.ended || c.pending.len() > 0 {
		h.runnable.push(c)
	}
}

func (h *host) link(to broker.Link) *link {
	l := h.links[to]
	if l == nil {
		dst, err := h.w.host(history.BrokerID(to.Peer))
		if err != nil {
			h.w.fail(fmt.Errorf("broker %d sends to a peer: %w", h.id, err))
			return nil
		}
		l = &link{h: h, to: to, dst: dst}
		h.links[to] = l
		h.linkList = append(h.linkList, l)
	}
	return l
}

// arm sets the timer to the node's deadline by its own clock.
func (h *host) arm() {
	at := max(h.clock.when(h.node.Deadline()), h.w.now)
	switch {
	case at == forever:
		h.w.queue.cancel(&h.timer)
	case !h.timer.queued() || h.timer.at != at:
		h.w.queue.schedule(&h.timer, at)
	}
}

// tick is the timer's handler.
func (h *host) tick() {
	h.w.events++
	h.w.acting = h.id
	if h.w.note(noteTick, h.id, 0, 0, nil) {
		h.w.tell(h.id, "timer")
	}
	h.node.Tick(h.local())
	h.settle()
}

// record translates the node's protocol steps.
func (h *host) record(out *broker.Output) {
	if h.w.opt.Record == nil {
		return
	}
	for i := range out.Steps {
		s := &out.Steps[i]
		h.w.opt.Record(history.Step{
			Time: h.w.now, Kind: history.StepKind(s.Kind), Broker: h.id, Partition: h.w.name(s.Partition, s.TopicID),
			Epoch: history.Epoch(s.Epoch), Peer: history.BrokerID(s.Peer),
			From: history.Offset(s.From), To: history.Offset(s.To), Detail: s.Detail,
		})
	}
	h.w.recordISR(h, out.ISR)
}

func partitionOf(tp kafka.TopicPartition) history.Partition {
	return history.Partition{Topic: tp.Topic, Index: tp.Index}
}

func brokersOf(ids []kafka.BrokerID) []history.BrokerID {
	if ids == nil {
		return nil
	}
	out := make([]history.BrokerID, len(ids))
	for i, id := range ids {
		out[i] = history.BrokerID(id)
	}
	return out
}
