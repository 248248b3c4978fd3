package harness

import (
	"flag"
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
			if before, after := StruckLeader(res.History, kind); before == history.NoBroker {
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
