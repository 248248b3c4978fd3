package sim

import (
	"fmt"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Lag delays what goes from one broker to another from now on. A frame counts as one packet.
func (w *World) Lag(from, to history.BrokerID, l world.Lag) (string, error) {
	y, err := w.pair("lag", from, to)
	if err != nil {
		return "", err
	}
	switch wrong := l.Check(); {
	case wrong != nil:
		return "", fmt.Errorf("lag from %d to %d: %w", from, to, wrong)
	case y.lag != world.Lag{}:
		return "", fmt.Errorf("lag from %d to %d: packets are late by %v already", from, to, y.lag)
	}
	w.fault(from, fmt.Sprintf("lag from %d to %d: %v", from, to, l))
	y.lag = l
	return "", nil
}

// EndLag ends it. What is under way arrives when its time has come.
func (w *World) EndLag(from, to history.BrokerID) error {
	y, err := w.pair("end of lag", from, to)
	if err != nil {
		return err
	}
	if y.lag == (world.Lag{}) {
		return fmt.Errorf("end of lag from %d to %d: nothing is late there", from, to)
	}
	w.fault(from, fmt.Sprintf("no lag any more from %d to %d", from, to))
	y.lag = world.Lag{}
	return nil
}

// lag draws by how much a segment that is sent now arrives later. What overtakes others is not late by itself; it waits in its pipe for what was sent before,
// as it does in the receiver's kernel. The draws come from a stream of the pipe's own, so that delays are as they would have been.
func (p *pipe) lag() time.Duration {
	if p.from == nil || p.to == nil {
		return 0
	}
	w := p.c.w
	l := w.way(p.from, p.to).lag
	if l == (world.Lag{}) {
		return 0
	}
	if p.late == nil {
		p.late = p.stream("lag/")
	}
	if l.Reorder > 0 && p.late.chance(l.Reorder) {
		return 0
	}
	if l.Jitter == 0 {
		return l.By
	}
	return p.late.between(l.By-l.Jitter, l.By+l.Jitter)
}

// stream is a random stream that is named after a pipe.
func (p *pipe) stream(what string) *stream {
	direction := "in/"
	if p.forward {
		direction = "out/"
	}
	s := newStream(p.c.w.opt.Seed, what+direction+p.c.label, p.c.nth)
	return &s
}
