package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// targeted is a run of a target.
func targeted(target string, change func(*history.Run)) history.Run {
	run := Defaults()
	run.World, run.Target = Contained, target
	if change != nil {
		change(&run)
	}
	return run
}

// TestRunsOfTargets expands runs of other brokers: their faults and configuration are the target's.
func TestRunsOfTargets(t *testing.T) {
	old, err := Expand(targeted("apache-kafka:0.10.2.2", nil), "")
	if err != nil {
		t.Fatal(err)
	}
	if old.ELR || old.Config["zookeeper.session.timeout.ms"] == "" || old.Config["broker.session.timeout.ms"] != "" || strings.Contains(old.Plan, "powerfail") {
		t.Errorf("expanded to %+v", old)
	}
	if can := abilities(old); !slices.Contains(can, world.CanElect) || !slices.Contains(can, world.CanZooKeeper) {
		t.Errorf("0.10.2.2 admits %v", can)
	}
	now, err := Expand(targeted("apache-kafka:4.1.0", func(r *history.Run) { r.Config = map[string]string{"log.segment.bytes": "2097152"} }), "at 1s elect follower(orders/0) on orders/0\n")
	if err != nil || !now.ELR {
		t.Fatalf("%v, ELR %t", err, now.ELR)
	}
	s := Site(now)
	if s.Settings["log.segment.bytes"] != "2097152" || s.Settings["min.insync.replicas"] != "2" || len(s.Nodes) != 3 || !s.Nodes[2].Voter {
		t.Errorf("the site is %+v", s)
	}
	if got := strings.Join(Unusual(now), " "); got != "--target apache-kafka:4.1.0 --config log.segment.bytes=2097152" {
		t.Errorf("told as %q", got)
	}
}

// TestTargetsRefuse asks for what a target or its world does not have.
func TestTargetsRefuse(t *testing.T) {
	for want, run := range map[string]history.Run{
		`world "sim"`:                targeted("apache-kafka:4.1.0", func(r *history.Run) { r.World = Simulated }),
		"no such target":             targeted("kafka", nil),
		"this program's own":         targeted("apache-kafka:4.1.0", func(r *history.Run) { r.Bug = "truncate-to-hw" }),
		"expected Apache Kafka 0.11": targeted("apache-kafka:0.10.2.2", func(r *history.Run) { r.Idempotent = true }),
		"expected Apache Kafka 2.4":  targeted("apache-kafka:1.1.1", func(r *history.Run) { r.FollowerFetch = true }),
		"each broker of a run":       targeted("apache-kafka:4.1.0", func(r *history.Run) { r.Config = map[string]string{"broker.rack": "a"} }),
		"image \"\", command []":     targeted("mine", func(r *history.Run) { r.Template = "faults: [kill]\n" }),
	} {
		if _, err := Expand(run, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	if _, err := Expand(targeted("apache-kafka:4.1.0", nil), "at 1s kill zookeeper\n"); err == nil || !strings.Contains(err.Error(), "none stands beside") {
		t.Errorf("a ZooKeeper that is not there: %v", err)
	}
}

// like is a simulated run that is like a target.
func like(target string, change func(*history.Run)) history.Run {
	return targeted("", func(r *history.Run) {
		r.World, r.Like = Simulated, target
		if change != nil {
			change(r)
		}
	})
}

// TestRunsLikeATarget expands simulated runs that are like a target: they have its faults, times and elections, and what was set by hand. Carried
// over to the target, they are runs of it as it comes.
func TestRunsLikeATarget(t *testing.T) {
	run, err := Expand(like("apache-kafka:0.10.2.2", func(r *history.Run) {
		r.Bug, r.Config = "truncate-to-hw", map[string]string{"replica.fetch.wait.max.ms": "600"}
	}), "")
	if err != nil {
		t.Fatal(err)
	}
	if run.ELR || run.Config["broker.session.timeout.ms"] != "6000" || run.Config["zookeeper.session.timeout.ms"] != "" || run.Config["log.segment.bytes"] != "65536" {
		t.Errorf("expanded to %+v", run)
	}
	can := abilities(run)
	for _, a := range []world.Ability{world.CanPowerFail, world.CanClock, world.CanZooKeeper, world.CanWipe} {
		if slices.Contains(can, a) {
			t.Errorf("it can do %v, of %v", a, can)
		}
	}
	if !slices.Contains(can, world.CanElect) || !slices.Contains(can, world.CanHold) {
		t.Errorf("it can do %v", can)
	}
	if got := strings.Join(Unusual(run), " "); got != "--like apache-kafka:0.10.2.2 --config replica.fetch.wait.max.ms=600" {
		t.Errorf("told as %q", got)
	}
	again, err := ScenarioRun(ScenarioOptions(run), run.Plan)
	if again.Build, again.Started = run.Build, run.Started; err != nil || identity(again) != identity(run) {
		t.Errorf("as a scenario %v it is %+v, %v", ScenarioOptions(run), again, err)
	}
	over, err := Carried(run, Where{World: Contained, Target: "apache-kafka:0.10.2.2"})
	if err != nil {
		t.Fatal(err)
	}
	if over.Like != "" || over.Bug != "" || over.Plan != run.Plan || over.Config["broker.session.timeout.ms"] != "" || over.Config["zookeeper.session.timeout.ms"] != "6000" ||
		over.Config["replica.fetch.wait.max.ms"] != "600" {
		t.Errorf("carried over as %+v", over)
	}
	if own, err := Carried(run, Where{World: Contained}); err != nil || own.Like != "" || own.Config["broker.session.timeout.ms"] != "3000" {
		t.Errorf("to this program's own brokers: %+v, %v", own, err)
	}
	if back, err := Carried(run, Where{World: Simulated}); err != nil || back.Like != run.Like || identity(back) != identity(run) {
		t.Errorf("to the simulator once more: %+v, %v", back, err)
	}
}

// TestLikenessRefuses asks simulated runs for what the target that they are like does not have.
func TestLikenessRefuses(t *testing.T) {
	for want, run := range map[string]history.Run{
		`world "docker"`:             like("apache-kafka:4.1.0", func(r *history.Run) { r.World = Contained }),
		"expected one of them":       like("apache-kafka:4.1.0", func(r *history.Run) { r.Target = "apache-kafka:4.1.0" }),
		"no such target":             like("kafka", nil),
		"expected Apache Kafka 0.11": like("apache-kafka:0.10.2.2", func(r *history.Run) { r.Idempotent = true }),
	} {
		if _, err := Expand(run, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	if _, err := Expand(like("apache-kafka:4.1.0", nil), "at 1s powerfail broker 1\n"); err == nil || !strings.Contains(err.Error(), "apache-kafka:4.1.0 admits") {
		t.Errorf("a fault that the target does not admit: %v", err)
	}
}

// TestABrokerThatWasKilledStaysDownForItsSession: like a target with a ZooKeeper, a broker that is killed for a moment comes back when its session is
// over, as the target's is started by then; like one without, at once.
func TestABrokerThatWasKilledStaysDownForItsSession(t *testing.T) {
	for target, want := range map[string]time.Duration{"apache-kafka:0.10.2.2": 6 * time.Second, "apache-kafka:4.1.0": 200 * time.Millisecond} {
		run, err := Expand(like(target, func(r *history.Run) { r.Seed, r.Duration = 1, 15*time.Second }), "at 2s kill broker 2 for 200ms\n")
		if err != nil {
			t.Fatal(err)
		}
		res, err := Simulate(t.Context(), run, Watch{})
		if err != nil {
			t.Fatal(err)
		}
		var down, up time.Duration
		for _, s := range res.History.Steps {
			switch {
			case s.Broker != 2:
			case s.Kind == history.StepDown:
				down = s.Time
			case s.Kind == history.StepStart && down > 0 && up == 0:
				up = s.Time
			}
		}
		if away := up - down; down == 0 || away < want || away > want+time.Second {
			t.Errorf("like %s broker 2 was away for %v from %v on, expected %v", target, away, down, want)
		}
	}
}
