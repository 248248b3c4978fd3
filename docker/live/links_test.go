package live_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/docker/agent"
	"tidemark/history"
	"tidemark/world"
)

// TestALossyLinkLosesSome drops half of the packets of one direction: the rule counts them, also while another rule comes and goes, and
// the count outlives the loss.
func TestALossyLinkLosesSome(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.do(c.Lose(1, 2, 0.5))
	passed := 0
	for range 40 {
		if c.ProbeLink(1, 2, world.AnyPort, 15*time.Millisecond) { // one datagram
			passed++
		}
	}
	if passed == 0 || passed == 40 {
		t.Errorf("%d of 40 datagrams passed a link that loses half", passed)
	}
	c.eventually("packets are lost", func() bool { return c.lost(1, 2) > 10 })
	before := c.lost(1, 2)
	c.do(c.Cut(3, 2, world.AnyPort))
	c.do(c.Heal(3, 2, world.AnyPort))
	rules, err := c.Rules(2)
	if after := c.lost(1, 2); after < before || err != nil || len(rules) != 1 || int64(rules[0].Dropped) < before {
		t.Errorf("%d packets were lost before another rule came and went, %d after; rules %+v, %v", before, after, rules, err)
	}
	if c.Lose(1, 2, 0.2) == nil || c.Lose(2, 1, 1) == nil || c.Lose(2, 1, 0) == nil || c.EndLoss(2, 1) == nil || c.Lose(1, 1, 0.5) == nil {
		t.Error("a second loss, one of all or of nothing, the end of none, or one from a broker to itself was taken")
	}
	c.do(c.EndLoss(1, 2))
	ended := c.lost(1, 2)
	for i := range 10 {
		if !c.ProbeLink(1, 2, world.AnyPort, passing) {
			t.Errorf("datagram %d does not pass after the loss", i)
		}
	}
	if after := c.lost(1, 2); ended < before || after != ended {
		t.Errorf("%d packets were lost in the end, then %d, expected at least %d and no more", ended, after, before)
	}
	c.noRules()
}

func (c *cluster) lost(from, to history.BrokerID) int64 {
	c.t.Helper()
	n, err := c.Lost(from, to)
	c.do(err)
	return n
}

// noRules fails the test if any sidecar's kernel still drops something.
func (c *cluster) noRules() {
	c.t.Helper()
	for _, b := range c.Brokers() {
		if rules, err := c.Rules(b); err != nil || len(rules) > 0 {
			c.t.Errorf("rules %+v are left at broker %d, %v", rules, b, err)
		}
	}
}

// TestAPortIsCutAlone cuts what goes to and from one port in one direction: datagrams at the other ports pass, connections to others
// open, and each cut of a link ends by itself.
func TestAPortIsCutAlone(t *testing.T) {
	t.Parallel()
	c := start(t)
	passes := func(cut ...world.Port) {
		t.Helper()
		for _, at := range []world.Port{world.AnyPort, world.BrokerPort, world.ControllerPort} {
			want := true
			for _, p := range cut {
				want = want && p != at
			}
			if got := c.ProbeLink(1, 2, at, probeFor(want)); got != want {
				t.Errorf("cut %q: from 1 to 2 at %q passes: %t", cut, at, got)
			}
			if !c.ProbeLink(2, 1, at, passing) || !c.ProbeLink(3, 2, at, passing) {
				t.Errorf("cut %q: more than from 1 to 2 is cut at %q", cut, at)
			}
		}
	}
	passes()
	c.do(c.Cut(1, 2, world.BrokerPort))
	passes(world.BrokerPort)
	for _, way := range []struct {
		from, to history.BrokerID
		port     uint16
		want     bool
	}{
		{1, 2, agent.BrokerPort, false}, // its first packet is dropped
		{2, 1, agent.BrokerPort, false}, // the answer to it is: a port is both directions of its connections
		{1, 2, agent.ControlPort, true}, // another port
		{3, 2, agent.BrokerPort, true},  // another link
		{1, 3, agent.BrokerPort, true},
	} {
		if got := c.ProbePort(way.from, way.to, way.port, probeFor(way.want)); got != way.want {
			t.Errorf("a connection from %d to %d at port %d opens: %t, expected %t", way.from, way.to, way.port, got, way.want)
		}
	}
	c.do(c.Cut(1, 2, world.ControllerPort))
	passes(world.BrokerPort, world.ControllerPort)
	c.do(c.Heal(1, 2, world.BrokerPort))
	passes(world.ControllerPort)
	if c.Cut(1, 2, world.ControllerPort) == nil || c.Heal(1, 2, world.AnyPort) == nil || c.Cut(1, 2, "clients") == nil {
		t.Error("a second cut, the end of another one, or a cut at a port that is none was taken")
	}
	c.do(c.Heal(1, 2, world.ControllerPort))
	passes()
	c.noRules()
}

// TestRulesOutliveTheBroker kills and starts a broker whose links are cut and lossy: the rules and their counts are its sidecar's.
func TestRulesOutliveTheBroker(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.do(c.Cut(1, 3, world.AnyPort))
	c.do(c.Lose(2, 3, 0.2))
	before := fmt.Sprint(len(c.rules(3)))
	c.do(c.Kill(3))
	c.do(c.Start(3))
	if after := fmt.Sprint(len(c.rules(3))); after != before || c.ProbeLink(1, 3, world.AnyPort, probing) {
		t.Errorf("%s rules before the restart, %s after", before, after)
	}
	c.do(c.Heal(1, 3, world.AnyPort))
	c.do(c.EndLoss(2, 3))
	c.noRules()
}

func (c *cluster) rules(at history.BrokerID) []agent.Counted {
	c.t.Helper()
	rules, err := c.Rules(at)
	c.do(err)
	return rules
}

// TestReplicationAndQuorumAreCutApart cuts the leader off from the others at the controller's port: replication goes on, heartbeats do not,
// so that it loses the leadership while it could keep it. Then a follower is cut off at the brokers' port: it falls out of the ISR, but its
// heartbeats arrive.
func TestReplicationAndQuorumAreCutApart(t *testing.T) {
	t.Parallel()
	c := start(t)
	p := func() history.PartitionState { return c.Observe().Partitions[0] }
	both := func(do func(from, to history.BrokerID, at world.Port) error, one, other history.BrokerID, at world.Port) {
		t.Helper()
		c.do(do(one, other, at))
		c.do(do(other, one, at))
	}
	leader := p().Leader
	for _, b := range c.Brokers() {
		if b != leader {
			both(c.Cut, leader, b, world.ControllerPort)
		}
	}
	c.work(1).Load(c.env.Now() + 500*time.Millisecond)
	s := p()
	if s.Leader != leader || len(s.ISR) != 3 {
		t.Fatalf("the leader was deposed before its session was over: %+v", s)
	}
	for _, r := range s.Replicas {
		if r.LEO == 0 {
			t.Errorf("replica %+v got nothing while only the controller's port was cut", r)
		}
	}
	c.eventually("another leader", func() bool { return p().Leader != leader && p().Leader != history.NoBroker })
	for _, b := range c.Brokers() {
		if b != leader {
			both(c.Heal, leader, b, world.ControllerPort)
		}
	}
	c.eventually("all in sync", func() bool { return len(p().ISR) == 3 })

	s = p()
	f := c.follower(s)
	both(c.Cut, s.Leader, f, world.BrokerPort)
	c.eventually("the follower is out of sync", func() bool {
		c.work(1).Load(c.env.Now() + 100*time.Millisecond)
		return len(p().ISR) == 2
	})
	time.Sleep(4 * time.Second) // longer than a session
	if now := p(); now.Leader != s.Leader || now.Epoch != s.Epoch || slices.Contains(now.ISR, f) || len(now.ISR) != 2 {
		t.Errorf("a cut of the brokers' port alone made %+v of %+v", now, s)
	}
	both(c.Heal, s.Leader, f, world.BrokerPort)
	c.eventually("all in sync", func() bool { return len(p().ISR) == 3 })
	c.noRules()
}
