package docker

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/docker/agent"
	"tidemark/history"
	"tidemark/world"
)

// counter numbers probes.
type counter struct{ atomic.Uint64 }

// link is one direction between two brokers.
type link struct{ from, to history.BrokerID }

// ledger keeps what was lost on each link by losses that have ended, and the share of the one in force.
type ledger struct {
	mu     sync.Mutex
	shares map[link]float64
	ended  map[link]int64
}

// portOf is the number of a port within every broker's namespace; 0 is all of them.
func portOf(at world.Port) (uint16, error) {
	switch at {
	case world.AnyPort:
		return 0, nil
	case world.BrokerPort:
		return agent.BrokerPort, nil
	case world.ControllerPort:
		return agent.ControllerPort, nil
	default:
		return 0, fmt.Errorf("port %q, expected %q or %q", at, world.BrokerPort, world.ControllerPort)
	}
}

// Cut drops what goes from one broker to another at a port, in that direction only. It is dropped where it arrives: in the receiver's
// namespace, so that the sender notices nothing but silence.
func (c *Cluster) Cut(from, to history.BrokerID, at world.Port) error {
	return c.rule("cut", from, to, at, 1, agent.Client.Add)
}

// Heal ends a cut.
func (c *Cluster) Heal(from, to history.BrokerID, at world.Port) error {
	return c.rule("heal", from, to, at, 1, func(a agent.Client, ctx context.Context, r agent.Rule) error {
		_, err := a.Remove(ctx, r)
		return err
	})
}

// Lose drops a share of the packets that go from one broker to another, where they arrive.
func (c *Cluster) Lose(from, to history.BrokerID, share float64) error {
	const verb = "lose"
	if !(share > 0 && share < 1) {
		return fmt.Errorf("%s %v of the packets from %d to %d, expected a share above 0 and below 1", verb, share, from, to)
	}
	l := link{from, to}
	c.losses.mu.Lock()
	defer c.losses.mu.Unlock()
	if now, ok := c.losses.shares[l]; ok {
		return fmt.Errorf("%s %v of the packets from %d to %d: it loses %v already", verb, share, from, to, now)
	}
	err := c.rule(verb, from, to, world.AnyPort, share, agent.Client.Add)
	if err == nil {
		c.losses.shares[l] = share
	}
	return err
}

// EndLoss ends what Lose began.
func (c *Cluster) EndLoss(from, to history.BrokerID) error {
	const verb = "end the loss of packets"
	l := link{from, to}
	c.losses.mu.Lock()
	defer c.losses.mu.Unlock()
	share, ok := c.losses.shares[l]
	if !ok {
		return fmt.Errorf("%s from %d to %d: none are lost", verb, from, to)
	}
	return c.rule(verb, from, to, world.AnyPort, share, func(a agent.Client, ctx context.Context, r agent.Rule) error {
		last, err := a.Remove(ctx, r)
		if err == nil {
			delete(c.losses.shares, l)
			c.losses.ended[l] += int64(last.Dropped)
		}
		return err
	})
}

// Lost counts the packets that every Lose of this run has dropped so far on a link.
func (c *Cluster) Lost(from, to history.BrokerID) (packets int64, err error) {
	src, _, err := c.ends(from, to)
	if err != nil {
		return 0, fmt.Errorf("packets lost: %w", err)
	}
	l := link{from, to}
	c.losses.mu.Lock()
	defer c.losses.mu.Unlock()
	packets = c.losses.ended[l]
	share, ok := c.losses.shares[l]
	if !ok {
		return packets, nil
	}
	rules, err := c.Rules(to)
	if err != nil {
		return 0, fmt.Errorf("packets lost from %d to %d: %w", from, to, err)
	}
	for _, r := range rules {
		if r.Rule == (agent.Rule{Direction: agent.In, Peer: src.ip(), Loss: share}) {
			packets += int64(r.Dropped)
		}
	}
	return packets, nil
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

func (c *Cluster) rule(verb string, from, to history.BrokerID, at world.Port, share float64, do func(agent.Client, context.Context, agent.Rule) error) error {
	src, dst, err := c.ends(from, to)
	var port uint16
	if err == nil {
		port, err = portOf(at)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	if err := do(dst.agent, ctx, agent.Rule{Direction: agent.In, Peer: src.ip(), Port: port, Loss: share}); err != nil {
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

// answerBound is how much longer than a probe the answer about it may take.
const answerBound = 2 * time.Second

// ProbeLink sends a datagram from one broker's namespace to the other's, from and to a port's number, which needs no answer: it
// passes the same rules as everything else in that direction. A connection would need both.
func (c *Cluster) ProbeLink(from, to history.BrokerID, at world.Port, timeout time.Duration) bool {
	src, dst, err := c.ends(from, to)
	port, portErr := portOf(at)
	if err != nil || portErr != nil || timeout <= 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, timeout+answerBound)
	defer cancel()
	probe := agent.Probe{Nonce: fmt.Sprintf("%s-%08d", c.owner.run, c.probed.Add(1)), To: dst.ip(), Port: port, For: timeout}
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
