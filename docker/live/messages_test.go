package live_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/docker"
	"tidemark/history"
	"tidemark/workloads"
	"tidemark/world"
)

// catch lets messages meet a fault.
func (c *cluster) catch(f world.MessageFault) int {
	c.t.Helper()
	number, err := c.Catch(f)
	c.do(err)
	return number
}

// caught is what a fault has done.
func (c *cluster) caught(number int) world.Caught {
	c.t.Helper()
	done, err := c.Caught(number)
	c.do(err)
	return done
}

// serves asks a broker, as a client does.
func (c *cluster) serves(b history.BrokerID) bool {
	k, err := c.Dial("visitor", b, passing)
	if err != nil {
		return false
	}
	defer k.Close()
	return workloads.Serves(k, probing)
}

// TestHeldAnswersKeepAFollowerBack holds what one follower hears of the leader: it falls out of the ISR, while the other does not, its
// heartbeats arrive, and clients and probes are served. When the answers go on it is back.
func TestHeldAnswersKeepAFollowerBack(t *testing.T) {
	t.Parallel()
	c := startWith(t, nil, docker.Options{Messages: true})
	c.inSync()
	p := func() history.PartitionState { return c.Observe().Partitions[0] }
	s := p()
	f := c.follower(s)
	held := c.catch(world.MessageFault{Kind: world.CanHold, API: "fetch", Responses: true, Links: []world.Link{{From: s.Leader, To: f}}})
	c.eventually("the follower is out of sync", func() bool {
		c.work(1).Load(c.env.Now() + 100*time.Millisecond)
		return len(p().ISR) == 2
	})
	if now := p(); now.Leader != s.Leader || slices.Contains(now.ISR, f) {
		t.Errorf("held answers made %+v of %+v", now, s)
	}
	if got := c.caught(held); got.Messages < 1 || int64(got.UnderWay) != got.Messages {
		t.Errorf("%+v, expected all that were held under way", got)
	}
	if !c.serves(f) || !c.ProbeLink(s.Leader, f, world.AnyPort, passing) {
		t.Error("more than answers to fetches is held")
	}
	c.do(c.EndCatch(held))
	c.eventually("all in sync", func() bool { return len(p().ISR) == 3 })
	if _, err := c.Caught(held); err == nil {
		t.Error("a fault that has ended is in force")
	}
}

// TestTheNthMessageIsOneOfAll waits for the twentieth fetch that the leader is sent, by whichever follower: their sidecars count together.
func TestTheNthMessageIsOneOfAll(t *testing.T) {
	t.Parallel()
	c := startWith(t, nil, docker.Options{Messages: true})
	c.inSync()
	s := c.Observe().Partitions[0]
	var links []world.Link
	for _, b := range c.Brokers() {
		if b != s.Leader {
			links = append(links, world.Link{From: b, To: s.Leader})
		}
	}
	met := make(chan struct{}, 10)
	nth := c.catch(world.MessageFault{Kind: world.CanHold, API: "fetch", Links: links, Nth: 20, Met: func() { met <- struct{}{} }})
	c.eventually("the twentieth fetch comes", func() bool {
		c.work(1).Load(c.env.Now() + 50*time.Millisecond)
		return c.caught(nth).Messages == 1
	})
	c.work(1).Load(c.env.Now() + 300*time.Millisecond)
	if got := c.caught(nth); got.Messages != 1 || len(met) != 1 {
		t.Errorf("%+v, told %d times, expected one message", got, len(met))
	}
	c.do(c.EndCatch(nth))
	raft := c.catch(world.MessageFault{Kind: world.CanDrop, API: world.RaftAPI, Links: []world.Link{{From: 1, To: 2}, {From: 2, To: 1}, {From: 2, To: 3}, {From: 3, To: 2}, {From: 1, To: 3}, {From: 3, To: 1}}, Nth: 2})
	c.eventually("a message of the quorum is lost", func() bool { return c.caught(raft).Messages == 1 })
	c.do(c.EndCatch(raft))
}

// TestClientsMeetFaultsAndTheHarnessDoesNot breaks the connection at everything that clients ask a broker: probes and elections get through.
// A broker that is gone refuses connections, though a proxy would take them.
func TestClientsMeetFaultsAndTheHarnessDoesNot(t *testing.T) {
	t.Parallel()
	c := startWith(t, nil, docker.Options{Messages: true})
	c.inSync()
	s := c.Observe().Partitions[0]
	f := c.follower(s)
	all := c.catch(world.MessageFault{Kind: world.CanDrop, API: world.AnyAPI, Links: []world.Link{{From: history.NoBroker, To: f}, {From: history.NoBroker, To: s.Leader}}})
	if c.serves(f) || !c.ProbeServing(f, passing) {
		t.Error("a client was served, or a probe was not")
	}
	c.eventually("it was the fault", func() bool { return c.caught(all).Messages > 0 })
	c.do(c.Elect(s.Partition, f, 15*time.Second))
	c.do(c.EndCatch(all))
	if !c.serves(f) {
		t.Error("a client is not served after the fault")
	}
	c.do(c.Kill(f))
	if _, err := c.Dial("visitor", f, passing); !errors.Is(err, world.ErrRefused) {
		t.Errorf("a broker that is gone answers %v", err)
	}
	c.do(c.Start(f))
	c.eventually("it serves", func() bool { return c.serves(f) })

	for _, wrong := range []world.MessageFault{
		{Kind: world.CanHold, API: "fetch", Links: []world.Link{{From: 1, To: 9}}},
		{Kind: world.CanHold, API: "fish", Links: []world.Link{{From: 1, To: 2}}},
		{Kind: world.CanLate, API: "fetch", Links: []world.Link{{From: 1, To: 2}}},
	} {
		if _, err := c.Catch(wrong); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
}

// TestCutsHoldUnderTheProxy cuts the brokers' port of a link, beneath connections that the proxy stands on: the follower is out of sync until the
// heal, and the link's other ports pass.
func TestCutsHoldUnderTheProxy(t *testing.T) {
	t.Parallel()
	c := startWith(t, nil, docker.Options{Messages: true})
	c.inSync()
	p := func() history.PartitionState { return c.Observe().Partitions[0] }
	s := p()
	f := c.follower(s)
	c.do(c.Cut(f, s.Leader, world.BrokerPort))
	if c.ProbePort(f, s.Leader, 9092, probing) || !c.ProbePort(f, s.Leader, 9093, passing) {
		t.Error("a port that is cut opens, or one that is not does not")
	}
	c.eventually("the follower is out of sync", func() bool {
		c.work(1).Load(c.env.Now() + 100*time.Millisecond)
		return len(p().ISR) == 2
	})
	c.do(c.Heal(f, s.Leader, world.BrokerPort))
	c.eventually("all in sync", func() bool { return len(p().ISR) == 3 })
	c.noRules()
}

// TestWithoutSuchLinesNothingIsIntercepted asks for a fault of a run that has none in its plan.
func TestWithoutSuchLinesNothingIsIntercepted(t *testing.T) {
	t.Parallel()
	c := start(t)
	_, err := c.Catch(world.MessageFault{Kind: world.CanHold, API: "fetch", Links: []world.Link{{From: 1, To: 2}}})
	if err == nil || !strings.Contains(err.Error(), "not intercepted") {
		t.Errorf("a fault was taken: %v", err)
	}
}
