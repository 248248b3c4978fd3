package harness

import (
	"slices"
	"strings"
	"testing"

	"tidemark/broker/bug"
	"tidemark/history"
	"tidemark/world"
)

// TestTheDrawDoesNotSeeTheBug draws configurations and plans with every bug on: nothing but the bug's name may differ.
func TestTheDrawDoesNotSeeTheBug(t *testing.T) {
	for n := range 20 {
		seed := SeedOf(1, n)
		blind := expand(t, Draw(seed, Defaults(), nil))
		for _, e := range bug.Registry {
			base := Defaults()
			base.Bug = string(e.Name)
			run := expand(t, Draw(seed, base, nil))
			run.Bug = ""
			if run.Plan != blind.Plan || identity(run) != identity(blind) || run.Seed != blind.Seed {
				t.Fatalf("seed %d with %s on:\n%+v\nexpected\n%+v", seed, e.Name, run, blind)
			}
		}
	}
}

func expand(t *testing.T, run history.Run) history.Run {
	t.Helper()
	run, err := Expand(run, "")
	if err != nil {
		t.Fatalf("seed %d: %v", run.Seed, err)
	}
	return run
}

// TestTheSpaceIsCovered draws a thousand runs: each can be carried out, and each value that an option may have comes up.
func TestTheSpaceIsCovered(t *testing.T) {
	names := map[string]bool{}
	for _, k := range knobs {
		if names[k.option] {
			t.Errorf("%s is drawn twice", k.option)
		}
		names[k.option] = true
	}
	seen := map[string]bool{}
	for n := range 1000 {
		run := expand(t, Draw(SeedOf(2, n), Defaults(), nil))
		for _, option := range ScenarioOptions(run) {
			seen[option] = true
		}
	}
	for _, option := range []string{
		"brokers=4", "brokers=5", "partitions=1", "partitions=2", "partitions=4", "replicationFactor=2", "replicationFactor=4",
		"replicationFactor=5", "minInsyncReplicas=1", "minInsyncReplicas=3", "acks=0", "acks=1", "uncleanLeaderElection=true",
		"eligibleLeaderReplicas=false", "producers=4", "producers=8", "consumers=2", "idempotent=true", "followerFetch=true",
		"duration=15s", "duration=29s",
	} {
		if !seen[option] {
			t.Errorf("%s never came up", option)
		}
	}
}

// TestWhatIsKeptStays keeps some options as they were given: they stay, and what does not depend on them is drawn as ever.
func TestWhatIsKeptStays(t *testing.T) {
	base := Defaults()
	base.Factor, base.Rate, base.Config["log.segment.bytes"] = 5, 77, "5000"
	given := []string{"replication-factor", "rate", "log.segment.bytes"}
	for n := range 100 {
		seed := SeedOf(3, n)
		run := expand(t, Draw(seed, base, func(option string) bool { return slices.Contains(given, option) }))
		free := expand(t, Draw(seed, Defaults(), nil))
		if run.Factor != 5 || run.Rate != 77 || run.Config["log.segment.bytes"] != "5000" {
			t.Fatalf("seed %d: replication factor %d, rate %v, segments of %s, expected 5, 77, 5000", seed, run.Factor, run.Rate, run.Config["log.segment.bytes"])
		}
		if run.Parts != free.Parts || run.Writers != free.Writers || run.Duration != free.Duration ||
			run.Config["replica.lag.time.max.ms"] != free.Config["replica.lag.time.max.ms"] {
			t.Fatalf("seed %d: other options are drawn otherwise than without", seed)
		}
	}
}

// TestTheGeneratorHasAName that is a hash, and the same whenever it is asked for.
func TestTheGeneratorHasAName(t *testing.T) {
	if h := GeneratorHash(); len(h) != 16 || strings.Trim(h, "0123456789abcdef") != "" {
		t.Errorf("%q, expected sixteen hexadecimal digits", h)
	}
}

// TestLagsAreDrawnOnlyWhereAskedFor: a run that names no kinds has all that its world can do, but for what wants to be asked for.
func TestLagsAreDrawnOnlyWhereAskedFor(t *testing.T) {
	for _, in := range []string{Simulated, Contained} {
		run := Defaults()
		run.World = in
		if can := Space(run).Can; slices.Contains(can, world.CanLag) || len(can) == 0 {
			t.Errorf("in %s may be drawn %v", in, can)
		}
		run.Faults = "lag"
		for seed := range uint64(10) {
			run.Seed = seed
			drawn, err := Expand(run, "")
			if err != nil {
				t.Fatal(err)
			}
			if needs := planOf(drawn).Needs(); !slices.Equal(needs, []world.Ability{world.CanLag}) {
				t.Errorf("in %s --faults lag drew %v", in, needs)
			}
		}
	}
}

// TestFaultsThatMayBeDrawn draws plans of some kinds of faults alone, and asks for kinds that there are not.
func TestFaultsThatMayBeDrawn(t *testing.T) {
	run := Defaults()
	run.Faults = "kill,hold"
	seen := map[world.Ability]int{}
	for seed := range uint64(30) {
		run.Seed = seed
		drawn, err := Expand(run, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range planOf(drawn).Lines {
			seen[l.Fault.Kind]++
		}
	}
	if len(seen) != 2 || seen[world.CanKill] == 0 || seen[world.CanHold] == 0 {
		t.Errorf("drawn were %v", seen)
	}
	if got := strings.Join(Unusual(run), " "); got != "--faults kill,hold" {
		t.Errorf("told as %q", got)
	}
	for _, kinds := range []string{"kills", "kill, hold", "kill,"} {
		run.Faults = kinds
		if _, err := Expand(run, ""); err == nil || !strings.Contains(err.Error(), "expected some of [bitflip") {
			t.Errorf("%q: %v", kinds, err)
		}
	}
	run.Faults, run.World = "powerfail", Contained
	if _, err := Expand(run, ""); err == nil || !strings.Contains(err.Error(), `"powerfail", expected some of`) {
		t.Errorf("in containers: %v", err)
	}
}
