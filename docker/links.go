package docker

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"tidemark/docker/agent"
	"tidemark/history"
	"tidemark/world"
)

// counter numbers probes.
type counter struct{ atomic.Uint64 }

// Part is a part of what goes over a link.
type Part struct {
	Port  uint16  // only TCP packets to this port; 0 is everything
	Share float64 // of the packets, drawn for each: above 0, at most 1
}

// Cut drops everything that goes from one broker to another, in that direction only.
func (c *Cluster) Cut(from, to history.BrokerID, at world.Port) error {
	return c.Drop(from, to, Part{Share: 1})
}

// Heal ends a cut.
func (c *Cluster) Heal(from, to history.BrokerID, at world.Port) error {
	return c.EndDrop(from, to, Part{Share: 1})
}

// Drop drops a part of what goes from one broker to another, where it arrives: in the receiver's namespace, so that the sender
// notices nothing but silence.
func (c *Cluster) Drop(from, to history.BrokerID, what Part) error {
	return c.rule("cut", from, to, what, agent.Client.Add)
}

// EndDrop ends what Drop began.
func (c *Cluster) EndDrop(from, to history.BrokerID, what Part) error {
	return c.rule("heal", from, to, what, agent.Client.Remove)
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

func (c *Cluster) rule(verb string, from, to history.BrokerID, what Part, do func(agent.Client, context.Context, agent.Rule) error) error {
	src, dst, err := c.ends(from, to)
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	if err := do(dst.agent, ctx, agent.Rule{Direction: agent.In, Peer: src.ip(), Port: what.Port, Loss: what.Share}); err != nil {
		return fmt.Errorf("%s %d to %d: %w", verb, from, to, err)
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
func (c *Cluster) ProbeLink(from, to history.BrokerID, at world.Port, timeout time.Duration) bool {
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

// ProbePort tries a TCP connection from one broker's namespace to a port of the other's, which takes both directions.
func (c *Cluster) ProbePort(from, to history.BrokerID, port uint16, timeout time.Duration) bool {
	src, dst, err := c.ends(from, to)
	if err != nil || timeout <= 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, timeout+answerBound)
	defer cancel()
	answer, err := src.agent.Connect(ctx, agent.Probe{To: dst.ip(), Port: port, For: timeout})
	return err == nil && answer.Passed
}
