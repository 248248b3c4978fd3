package docker

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"tidemark/docker/agent"
	"tidemark/history"
)

// counter numbers probes.
type counter struct{ atomic.Uint64 }

// Cut drops everything that goes from one broker to another, in that direction only, where it arrives: in the receiver's namespace,
// so that the sender notices nothing but silence.
func (c *Cluster) Cut(from, to history.BrokerID) error {
	return c.rule("cut", from, to, 1, func(ctx context.Context, a agent.Client, r agent.Rule) error { return a.Add(ctx, r) })
}

// Heal ends a cut.
func (c *Cluster) Heal(from, to history.BrokerID) error {
	return c.rule("heal", from, to, 1, func(ctx context.Context, a agent.Client, r agent.Rule) error { return a.Remove(ctx, r) })
}

// Lose drops a share of what goes from one broker to another, drawn for each packet.
func (c *Cluster) Lose(from, to history.BrokerID, share float64) error {
	return c.rule("lose packets", from, to, share, func(ctx context.Context, a agent.Client, r agent.Rule) error { return a.Add(ctx, r) })
}

// EndLoss ends what Lose with the same share began.
func (c *Cluster) EndLoss(from, to history.BrokerID, share float64) error {
	return c.rule("end the loss of packets", from, to, share, func(ctx context.Context, a agent.Client, r agent.Rule) error { return a.Remove(ctx, r) })
}

// Rules lists what is dropped on its way to a broker, with how much was.
func (c *Cluster) Rules(at history.BrokerID) ([]agent.Counted, error) {
	m, err := c.machine(at)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	return m.agent.Rules(ctx)
}

func (c *Cluster) rule(what string, from, to history.BrokerID, loss float64, do func(context.Context, agent.Client, agent.Rule) error) error {
	src, dst, err := c.ends(from, to)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	if err := do(ctx, dst.agent, agent.Rule{Direction: agent.In, Peer: src.ip(), Loss: loss}); err != nil {
		return fmt.Errorf("%s %d to %d: %w", what, from, to, err)
	}
	return nil
}

func (c *Cluster) ends(from, to history.BrokerID) (src, dst *machine, err error) {
	if src, err = c.machine(from); err != nil {
		return nil, nil, err
	}
	if dst, err = c.machine(to); err != nil {
		return nil, nil, err
	}
	if src == dst {
		return nil, nil, fmt.Errorf("broker %d and itself", from)
	}
	return src, dst, nil
}

// ip is the machine's address on the private network, which was checked when the sidecar started.
func (m *machine) ip() netip.Addr {
	a, _ := netip.ParseAddr(m.address)
	return a
}

// probeBound is how long a probe of the doctor may take.
const probeBound = 500 * time.Millisecond

// answerBound is how much longer than a probe the answer about it may take.
const answerBound = 2 * time.Second

// ProbeLink sends a datagram from one broker's namespace to the other's, which needs no answer: it passes the same rules as
// everything else in that direction. A connection would need both.
func (c *Cluster) ProbeLink(from, to history.BrokerID, timeout time.Duration) bool {
	src, dst, err := c.ends(from, to)
	if err != nil || timeout <= 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, timeout+answerBound)
	defer cancel()
	probe := agent.Probe{Nonce: fmt.Sprintf("%s-%08d", c.owner.run, c.probed.Add(1)), To: dst.ip(), For: timeout}
	go func() { _, _ = src.agent.Send(ctx, probe) }() // until the answer is there; what counts is what arrives
	answer, err := dst.agent.Await(ctx, agent.Probe{Nonce: probe.Nonce, For: timeout})
	return err == nil && answer.Passed
}
