package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemark/docker/agent"
	"tidemark/history"
	"tidemark/world"
)

// late is what delays packets in this run, and where it does now. The kernel does it where it has netem. Elsewhere the proxies of faults on messages delay
// the bytes of the connections between brokers.
type late struct {
	mu    sync.Mutex
	means means
	why   string              // there is no netem
	links map[link][]*machine // where each lag is in force
}

// means is by what packets are delayed.
type means uint8

const (
	byNothing means = iota // no line of the plan asked for it
	byNetem
	byProxy
)

// errNoLag is for delays in a run without such lines in its plan.
var errNoLag = errors.New("packets are not delayed in this run, as no line of its plan asked for that")

// prepareLags looks by what packets can be delayed, if a plan asks for that, before the brokers open their first connection.
func (c *Cluster) prepareLags() error {
	if !c.opt.Lags {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	netem, err := c.machines[0].agent.Netem(ctx)
	if err != nil {
		return fmt.Errorf("whether the kernel delays packets: %w", err)
	}
	c.late.mu.Lock()
	defer c.late.mu.Unlock()
	if netem.Has {
		c.late.means = byNetem
		return nil
	}
	if c.opt.Reorders {
		return fmt.Errorf("the plan lets packets overtake (reorder), which takes netem, and %s: without reorder its lags can be had, as a proxy delays the bytes of connections then", netem.Why)
	}
	c.late.means, c.late.why = byProxy, netem.Why
	c.opt.Messages = true // the proxies stand on the connections
	return nil
}

// Lag delays what goes from one broker to another: by netem where it leaves the sender's namespace, or in the proxies that its connections pass.
func (c *Cluster) Lag(from, to history.BrokerID, l world.Lag) (detail string, err error) {
	wrong := func(err error) (string, error) { return "", fmt.Errorf("lag %d to %d: %w", from, to, err) }
	src, dst, err := c.ends(from, to)
	if err == nil {
		err = l.Check()
	}
	if err != nil {
		return wrong(err)
	}
	c.late.mu.Lock()
	defer c.late.mu.Unlock()
	at := link{from, to}
	if len(c.late.links[at]) > 0 {
		return wrong(errors.New("it is late already"))
	}
	// A connection passes the proxy of who opened it, so what goes from one to the other passes either's.
	machines := []*machine{src, dst}
	switch c.late.means {
	case byNetem:
		machines, detail = machines[:1], "by netem"
	case byProxy:
		if src == c.keeper || dst == c.keeper {
			return wrong(fmt.Errorf("a proxy stands between brokers alone, not before a ZooKeeper, and %s", c.late.why))
		}
		detail = "by a proxy, as " + c.late.why
	default:
		return wrong(errNoLag)
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	for _, m := range machines {
		if c.late.means == byNetem {
			err = m.agent.Lag(ctx, agent.Lag{Peer: dst.ip(), Lag: l})
		} else {
			err = m.agent.LagBytes(ctx, agent.Bytes{Link: world.Link{From: from, To: to}, Lag: l})
		}
		if err != nil {
			return wrong(errors.Join(err, c.endLag(ctx, at, dst)))
		}
		c.late.links[at] = append(c.late.links[at], m)
	}
	return detail, nil
}

// EndLag ends what Lag began.
func (c *Cluster) EndLag(from, to history.BrokerID) error {
	_, dst, err := c.ends(from, to)
	if err == nil {
		c.late.mu.Lock()
		defer c.late.mu.Unlock()
		at := link{from, to}
		if len(c.late.links[at]) == 0 {
			err = errors.New("nothing is late")
		} else {
			ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
			defer cancel()
			err = c.endLag(ctx, at, dst)
		}
	}
	if err != nil {
		return fmt.Errorf("end the lag %d to %d: %w", from, to, err)
	}
	return nil
}

// endLag ends the lag of a link, under the lock, wherever it is not ended yet: after an error it is called again for what is left.
func (c *Cluster) endLag(ctx context.Context, at link, dst *machine) (err error) {
	for len(c.late.links[at]) > 0 {
		left := c.late.links[at]
		m := left[len(left)-1]
		if c.late.means == byNetem {
			err = m.agent.EndLag(ctx, dst.ip())
		} else {
			err = m.agent.EndLagBytes(ctx, world.Link{From: at.from, To: at.to})
		}
		if err != nil {
			return err
		}
		c.late.links[at] = left[:len(left)-1]
	}
	delete(c.late.links, at)
	return nil
}

// Transit sends one message from one broker's sidecar to the other's, and compares when it went with when it came: on one clock, which both read. It is a
// datagram, or goes over a connection where a proxy may delay it.
func (c *Cluster) Transit(from, to history.BrokerID, timeout time.Duration) (time.Duration, bool) {
	src, dst, err := c.ends(from, to)
	if err != nil || timeout <= 0 {
		return 0, false
	}
	c.late.mu.Lock()
	stream := c.late.means == byProxy
	c.late.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.env.ctx, timeout+answerBound)
	defer cancel()
	nonce := fmt.Sprintf("%s-%08d", c.owner.run, c.probed.Add(1))
	sent, err := src.agent.Transit(ctx, agent.Transit{Nonce: nonce, To: dst.ip(), Stream: stream, For: timeout})
	if err != nil {
		return 0, false
	}
	came, err := dst.agent.Await(ctx, agent.Probe{Nonce: nonce, For: timeout})
	took := came.At - sent.At
	return took, err == nil && came.Passed && took <= timeout
}
