package sim

import (
	"fmt"
	"strconv"
	"time"

	"tidemark/broker"
	"tidemark/history"
)

// How long a process takes to come up, and a machine to boot.
const (
	processStartMin = 20 * time.Millisecond
	processStartMax = 200 * time.Millisecond
	machineBootMin  = 300 * time.Millisecond
	machineBootMax  = time.Second
)

// ending is how a process ends, which is what its peers see of it.
type ending uint8

const (
	endByExit  ending = iota // it closes its connections
	endByKill                // the kernel resets its connections
	endByPower               // silence: peers learn it from their own timeouts, or from a reset once the machine is back
)

// start boots the process after delay, with power on.
func (h *host) start(delay time.Duration) {
	h.state, h.bootErr = hostBooting, nil
	h.w.queue.schedule(&h.boot, h.w.now+delay)
}

// open is the moment at which the process has come up: it recovers from its disk and listens.
func (h *host) open() {
	h.incarnation++
	h.inbox, h.runnable, h.accepted = nil, fifo[*conn]{}, nil
	h.links, h.linkList = map[broker.Link]*link{}, nil
	if !h.powered {
		h.powered = true
		releaseAll(&h.held)
	}
	if h.w.note(noteProcess, h.id, uint64(h.incarnation), 0, nil) {
		h.w.tell(h.id, "start of incarnation "+strconv.Itoa(h.incarnation))
	}
	rnd := h.w.Rand("broker/"+strconv.Itoa(int(h.id)), h.incarnation)
	node, err := h.w.open(h.cfg, h.drive, h.local(), rnd)
	if err != nil {
		h.bootErr = fmt.Errorf("broker %d did not start: %w", h.id, err)
		h.step(history.StepDown, h.bootErr.Error())
		h.become(hostDown)
		if h.incarnation == 1 {
			h.w.fail(h.bootErr)
		}
		return
	}
	h.node = node
	h.step(history.StepStart, "incarnation "+strconv.Itoa(h.incarnation))
	h.become(hostUp)
	h.settle()
}

// end is the end of the process.
func (h *host) end(how ending, detail string) {
	h.w.queue.cancel(&h.boot)
	h.w.queue.cancel(&h.timer)
	h.flushes.abort()
	h.drive.dropLost()
	if h.w.note(noteProcess, h.id, uint64(h.incarnation), 1+uint64(how), nil) {
		h.w.tell(h.id, detail)
	}
	if h.node != nil {
		h.node.Close()
		h.node = nil
	}
	goodbye := segReset
	if how == endByExit {
		goodbye = segFin
	}
	for _, c := range h.accepted {
		if c == nil {
			continue
		}
		h.forget(c)
		if how == endByPower {
			c.in.silence()
		} else {
			c.in.send(goodbye, nil)
		}
	}
	for _, l := range h.linkList {
		c := l.conn
		if c == nil {
			continue
		}
		if how == endByPower {
			c.opener, l.conn = endClosed, nil
			h.w.queue.cancel(&c.timeout)
			c.out.silence()
		} else {
			l.close(goodbye)
		}
	}
	h.inbox, h.runnable, h.accepted = nil, fifo[*conn]{}, nil
	h.links, h.linkList = nil, nil
	h.step(history.StepDown, detail)
	h.become(hostDown)
}

// silence is a pipe whose sender lost its power: what is on the wire arrives, what waits to be sent again is lost.
func (p *pipe) silence() {
	if p.held && p.by == nil || p.tries > 0 {
		p.drop()
	}
}

// halt is SIGSTOP or the freezer, by the state that it leads to: the kernel goes on, the process does not.
func (h *host) halt(s hostState) {
	if h.w.note(noteProcess, h.id, uint64(h.incarnation), 10, nil) {
		h.w.tell(h.id, s.String())
	}
	h.w.queue.cancel(&h.timer)
	h.become(s)
}

// resume is SIGCONT or the end of a freeze: what the kernel kept is handled in order, before or after the timer that is overdue.
func (h *host) resume() {
	if h.w.note(noteProcess, h.id, uint64(h.incarnation), 11, nil) {
		h.w.tell(h.id, "resumed")
	}
	h.become(hostUp)
	if h.rnd.chance(0.5) && h.node.Deadline() <= h.local() {
		h.tick()
	}
	inbox := h.inbox
	h.inbox = nil
	for _, in := range inbox {
		if h.state != hostUp {
			return
		}
		h.input(in)
	}
	if h.state == hostUp {
		h.flushes.resume()
		h.arm()
	}
}

// become changes the process's state and tells who waits for that.
func (h *host) become(s hostState) {
	h.state = s
	h.changed.Notify()
}

// step records a step of the whole broker.
func (h *host) step(kind history.StepKind, detail string) {
	if h.w.opt.Record != nil {
		h.w.opt.Record(history.Step{
			Time: h.w.now, Kind: kind, Broker: h.id, Epoch: -1, Peer: history.NoBroker,
			From: history.UnknownOffset, To: history.UnknownOffset, Detail: detail,
		})
	}
}

func (s hostState) String() string {
	return [...]string{"down", "starting", "running", "paused", "frozen"}[s]
}
