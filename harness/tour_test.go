package harness

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/world"
)

// tours is how many seeds TestTour draws.
var tours = flag.Int("tours", 8, "number of seeds of TestTour")

// TestTour takes what the first command of the README starts: whatever the seed, it must be green and worth looking at. A leader was
// cut off, one was killed and one lost power, each seen by a probe; leadership moved, clients were left in doubt, and yet 2,000 writes
// were acknowledged.
func TestTour(t *testing.T) {
	m := master(t)
	least := int64(1 << 62)
	for n := range *tours {
		run := Defaults()
		run.Seed, run.Rate = SeedOf(m, n), 200
		plan, err := Tour(run)
		if err != nil {
			t.Fatal(err)
		}
		if run, err = Expand(run, plan); err != nil {
			t.Fatal(err)
		}
		res, err := Simulate(t.Context(), run, Watch{})
		if err != nil {
			t.Fatalf("seed %d: %v", run.Seed, err)
		}
		v := res.Verdict
		wrong := func(what string, args ...any) {
			t.Errorf("seed %d: "+what+"\n%s%s", append(append([]any{run.Seed}, args...), run.Plan, Summary(v))...)
		}
		if v.Status != checker.Valid {
			wrong("%s, expected valid", v.Status)
		}
		for _, kind := range []world.Ability{world.CanPartition, world.CanKill, world.CanPowerFail} {
			if before, after := struckLeader(res.History, kind); before == history.NoBroker {
				wrong("no %s of a leader was observed", kind)
			} else if after == before && kind != world.CanPowerFail {
				wrong("broker %d led before and after the %s", before, kind)
			}
		}
		if v.Stats.LeaderChanges == 0 || v.Stats.Unknown == 0 {
			wrong("%d leader changes, %d unknown outcomes, expected some of both", v.Stats.LeaderChanges, v.Stats.Unknown)
		}
		if v.Stats.Acked < 2000 {
			wrong("%d writes were acknowledged, expected 2,000", v.Stats.Acked)
		}
		least = min(least, v.Stats.Acked)
	}
	t.Logf("at least %d writes were acknowledged in each of %d runs", least, *tours)
}

// struckLeader finds the first fault of a kind that was observed to hit the leader of its line's partition, and says who led when it
// was applied and who when it was undone; NoBroker if there was none.
func struckLeader(h *history.History, kind world.Ability) (before, after history.BrokerID) {
	observed := slices.IndexFunc(h.Faults, func(e history.FaultEvent) bool {
		return e.Kind == string(kind) && e.Phase == history.FaultObserved
	})
	if observed < 0 {
		return history.NoBroker, history.NoBroker
	}
	seen := h.Faults[observed]
	_, rest, _ := strings.Cut(seen.Line, "leader(")
	name, _, _ := strings.Cut(rest, ")")
	for _, e := range h.Faults {
		switch {
		case e.Fault != seen.Fault:
		case e.Phase == history.FaultApplied:
			before = leaderAt(h, name, e)
		case e.Phase == history.FaultUndone:
			after = leaderAt(h, name, e)
		}
	}
	if !slices.Equal(seen.Targets, []history.BrokerID{before}) {
		return history.NoBroker, history.NoBroker
	}
	return before, after
}

// leaderAt is the leader of a partition as last observed before an event.
func leaderAt(h *history.History, name string, e history.FaultEvent) history.BrokerID {
	leader := history.NoBroker
	for _, s := range h.States {
		for _, p := range s.Partitions {
			if s.Index < e.Index && p.Partition.String() == name {
				leader = p.Leader
			}
		}
	}
	return leader
}
