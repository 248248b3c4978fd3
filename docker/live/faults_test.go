package live_test

import (
	"errors"
	"testing"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// What must not pass is tried for so long; what must may take its time on a busy machine, and is over as soon as it has passed.
const (
	probing = 500 * time.Millisecond
	passing = 5 * time.Second
)

// probeFor is how long a probe is tried that must come out so.
func probeFor(passes bool) time.Duration {
	if passes {
		return passing
	}
	return probing
}

// TestACutIsOfOneDirection cuts what goes from broker 1 to broker 2. Nothing else is cut, and what is cut stays so while broker 2 is
// killed and restarted, until it is healed.
func TestACutIsOfOneDirection(t *testing.T) {
	t.Parallel()
	c := start(t)
	links := func(cut bool) {
		t.Helper()
		for _, from := range c.Brokers() {
			for _, to := range c.Brokers() {
				if want := !(cut && from == 1 && to == 2); from != to && c.ProbeLink(from, to, world.AnyPort, probeFor(want)) != want {
					t.Errorf("cut %t: from %d to %d passes: %t", cut, from, to, !want)
				}
			}
		}
	}
	links(false)
	c.do(c.Cut(1, 2, world.AnyPort))
	links(true)
	if c.Cut(1, 2, world.AnyPort) == nil {
		t.Error("a link was cut twice")
	}
	if !c.ProbeServing(2, passing) {
		t.Error("clients do not reach a broker that is cut off from another")
	}
	c.do(c.Kill(2))
	c.do(c.Start(2))
	links(true)
	c.do(c.Heal(1, 2, world.AnyPort))
	links(false)
	if c.Heal(1, 2, world.AnyPort) == nil || c.Cut(1, 1, world.AnyPort) == nil || c.Cut(1, 9, world.AnyPort) == nil {
		t.Error("a heal of what is not cut, a cut from itself or of nobody was taken")
	}
}

// TestAKilledBrokerIsGone kills a broker: it refuses connections, its state is the last known one, leadership moves, and it comes back
// with its data.
func TestAKilledBrokerIsGone(t *testing.T) {
	t.Parallel()
	c := start(t)
	until := c.env.Now() + 2*time.Second
	c.work(1).Load(until)
	victim := c.Observe().Partitions[0].Leader
	before := c.Observe().Partitions[0].Replicas[0].LEO
	if before == 0 {
		t.Fatal("nothing was written")
	}
	c.do(c.Kill(victim))
	if s := c.ProbeProcess(victim); s != world.ProcessGone || c.ProbeServing(victim, probing) {
		t.Errorf("a killed broker is %s", s)
	}
	if _, err := c.Dial("test", victim, probing); !errors.Is(err, world.ErrRefused) {
		t.Errorf("dialling a killed broker gave %v", err)
	}
	for what, err := range map[string]error{"kill": c.Kill(victim), "stop": c.Stop(victim, time.Second), "pause": c.Pause(victim), "resume": c.Resume(victim)} {
		if err == nil {
			t.Errorf("%s of a broker that is gone was taken", what)
		}
	}
	for _, r := range c.Observe().Partitions[0].Replicas {
		if r.Broker == victim && (r.Up || r.LEO < before) {
			t.Errorf("the killed broker's replica is observed as %+v, LEO before %d", r, before)
		}
	}
	c.eventually("another leader", func() bool {
		l := c.Observe().Partitions[0].Leader
		return l != victim && l != history.NoBroker
	})
	c.do(c.Start(victim))
	c.eventually("all in sync", func() bool { return len(c.Observe().Partitions[0].ISR) == 3 })
	if !c.saw(history.StepDown, victim, "killed") || !c.saw(history.StepStart, victim, "incarnation 2") {
		t.Error("the kill or the restart was not recorded as a step")
	}
	for _, b := range c.Brokers() {
		if d := c.Dump(b); len(d) != 1 || d[0].Err != "" || d[0].LEO < before || int64(len(d[0].Records)) != int64(d[0].LEO) {
			t.Errorf("broker %d holds %+v, expected %d records or more", b, d, before)
		}
	}
}

// TestAPausedBrokerIsSilent stops a broker's process and lets it go on; then it is shut down in good order and started again.
func TestAPausedBrokerIsSilent(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.do(c.Pause(3))
	if s := c.ProbeProcess(3); s != world.ProcessPaused || c.ProbeServing(3, probing) {
		t.Errorf("a paused broker is %s, or serves", s)
	}
	if c.Pause(3) == nil || c.Start(3) == nil || c.Stop(3, time.Second) == nil {
		t.Error("a pause, start or stop of a paused broker was taken")
	}
	c.do(c.Resume(3))
	c.eventually("broker 3 serves", func() bool { return c.ProbeServing(3, probing) })
	c.do(c.Stop(3, 10*time.Second))
	if s := c.ProbeProcess(3); s != world.ProcessGone {
		t.Errorf("a stopped broker is %s", s)
	}
	c.do(c.Start(3))
	c.eventually("all in sync", func() bool { return len(c.Observe().Partitions[0].ISR) == 3 })
	if !c.saw(history.StepDown, 3, "stopped") {
		t.Error("the stop was not recorded as a step")
	}
}

// TestALeaderIsElected moves leadership without any fault.
func TestALeaderIsElected(t *testing.T) {
	t.Parallel()
	c := start(t)
	p := c.Observe().Partitions[0]
	to := p.ISR[0]
	if to == p.Leader {
		to = p.ISR[1]
	}
	c.do(c.Elect(p.Partition, to, 10*time.Second))
	c.eventually("broker leads", func() bool { return c.Observe().Partitions[0].Leader == to })
	c.eventually("the step", func() bool { return c.saw(history.StepElection, to, "") })
	if _, err := c.PowerFail(1); err == nil || c.SetClock(1, 1.1) == nil {
		t.Error("a power failure or a clock was taken")
	}
}
