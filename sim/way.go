package sim

import (
	"fmt"
	"time"

	"tidemark/broker"
	"tidemark/history"
	"tidemark/world"
)

// way is what a fault puts in the way from one broker to another, in that direction: cuts, which hold what comes until they heal, the
// loss of packets, which TCP hides by sending again, and their lag.
type way struct {
	cut  [ports]bool
	held []*pipe   // by the cuts
	lost int64     // packets, over the whole run
	loss float64   // the share that is lost; 0 while none is
	lag  world.Lag // zero while nothing is late
}

// port is a world.Port, as an index.
type port uint8

const (
	anyPort port = iota
	brokerPort
	controllerPort
	ports
)

func portOf(at world.Port) (port, error) {
	switch at {
	case world.AnyPort:
		return anyPort, nil
	case world.BrokerPort:
		return brokerPort, nil
	case world.ControllerPort:
		return controllerPort, nil
	}
	return 0, fmt.Errorf("port %q, expected none, %s or %s", at, world.BrokerPort, world.ControllerPort)
}

// portFor is the port that connections of a purpose go to: replicas are fetched from brokers, all else is asked of controllers.
func portFor(p broker.Purpose) port {
	if p == broker.ForFetch {
		return brokerPort
	}
	return controllerPort
}

// closed reports whether nothing passes at a port.
func (y *way) closed(at port) bool { return y.cut[anyPort] || y.cut[at] }

// way finds what is between two machines.
func (w *World) way(from, to *host) *way { return &w.ways[from.index*len(w.hosts)+to.index] }

// pair finds what is between the two brokers of a fault.
func (w *World) pair(what string, from, to history.BrokerID) (*way, error) {
	a, err := w.host(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	b, err := w.host(to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if a == b {
		return nil, fmt.Errorf("%s broker %d from itself", what, from)
	}
	return w.way(a, b), nil
}

// Cut drops what goes from one broker to another at a port, in that direction only. Existing connections stay, stalled: TCP
// sends again after the heal.
func (w *World) Cut(from, to history.BrokerID, at world.Port) error {
	return w.setCut("cut", from, to, at, true)
}

// Heal ends a cut.
func (w *World) Heal(from, to history.BrokerID, at world.Port) error {
	return w.setCut("heal", from, to, at, false)
}

func (w *World) setCut(what string, from, to history.BrokerID, at world.Port, on bool) error {
	y, err := w.pair(what, from, to)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s %d to %d", what, from, to)
	if at != world.AnyPort {
		text += " at the " + string(at) + " port"
	}
	p, err := portOf(at)
	switch {
	case err != nil:
		return fmt.Errorf("%s %d to %d: %w", what, from, to, err)
	case y.cut[p] && on:
		return fmt.Errorf("%s: it is cut already", text)
	case !y.cut[p] && !on:
		return fmt.Errorf("%s: it is not cut", text)
	}
	w.fault(from, text)
	y.cut[p] = on
	held := y.held
	y.held = nil
	for _, p := range held {
		if y.closed(p.c.port) {
			y.held = append(y.held, p)
		} else {
			p.release()
		}
	}
	return nil
}

// Lose drops a share of the packets that go from one broker to another, drawn for each.
func (w *World) Lose(from, to history.BrokerID, share float64) error {
	y, err := w.pair("loss", from, to)
	switch {
	case err != nil:
		return err
	case !(share > 0 && share < 1):
		return fmt.Errorf("loss from %d to %d: a share of %v, expected more than 0 and less than 1", from, to, share)
	case y.loss > 0:
		return fmt.Errorf("loss from %d to %d: %v of the packets are lost already", from, to, y.loss)
	}
	w.fault(from, fmt.Sprintf("loss from %d to %d: %v of the packets", from, to, share))
	y.loss = share
	return nil
}

// EndLoss ends it. What was lost is sent again when its time comes.
func (w *World) EndLoss(from, to history.BrokerID) error {
	y, err := w.pair("end of loss", from, to)
	if err != nil {
		return err
	}
	if y.loss == 0 {
		return fmt.Errorf("end of loss from %d to %d: nothing is lost there", from, to)
	}
	w.fault(from, fmt.Sprintf("no loss any more from %d to %d", from, to))
	y.loss = 0
	return nil
}

// Lost counts the packets that were lost from one broker to another so far.
func (w *World) Lost(from, to history.BrokerID) (packets int64, err error) {
	y, err := w.pair("loss", from, to)
	if err != nil {
		return 0, err
	}
	return y.lost, nil
}

// What is lost is sent again after a timeout that doubles each time: TCP_TIMEOUT_INIT for a connection attempt, TCP_RTO_MIN for what
// follows (round trips here are shorter), TCP_RTO_MAX at most, as in Linux. A probe is a datagram that its sender repeats.
const (
	lossSyn   = time.Second
	lossData  = 200 * time.Millisecond
	lossMax   = 2 * time.Minute
	lossProbe = 25 * time.Millisecond
)

// loses draws whether the first segment of a pipe is lost; if so it is sent again later, and what stands behind it waits. The draws
// come from a stream of the pipe's own, so that delays are as they would have been.
func (p *pipe) loses(y *way) bool {
	if y.loss == 0 {
		return false
	}
	w := p.c.w
	if p.luck == nil {
		p.luck = p.stream("loss/")
	}
	if !p.luck.chance(y.loss) {
		return false
	}
	y.lost++
	if w.note(noteLoss, p.from.id, p.c.id, uint64(p.tries), nil) {
		w.tell(p.from.id, p.c.label+": a packet is lost")
	}
	w.queue.schedule(&p.arrival, w.now+p.again())
	return true
}

// again is the timeout after which a pipe's first segment is sent once more.
func (p *pipe) again() time.Duration {
	timeout := lossData
	switch p.queue.first().kind {
	case segProbe:
		return lossProbe
	case segSyn, segSynAck:
		timeout = lossSyn
	}
	for range p.tries {
		timeout = min(2*timeout, lossMax)
	}
	p.tries++
	return timeout
}
