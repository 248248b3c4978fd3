package live_test

import (
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
	"tidemark/world"
)

// TestTheFirstRun takes what the first command of the README starts where an engine answers, with a seed drawn anew: it is green and worth
// looking at. A leader was cut off and one was killed, each seen by a probe; each time another one was elected; clients were left in
// doubt, and yet 2,000 writes were acknowledged.
func TestTheFirstRun(t *testing.T) {
	engine(t)
	r := harness.Defaults()
	r.World, r.Duration, r.Rate, r.Seed, r.Started = harness.Contained, 27*time.Second, 400, uint64(time.Now().UnixNano()), time.Now().UTC()
	t.Logf("seed %d", r.Seed)
	plan, err := harness.Tour(r)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = harness.Expand(r, plan); err != nil {
		t.Fatal(err)
	}
	d, err := results.Create(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	res, err := harness.Contain(t.Context(), r, d, harness.Look{Binary: tool(t), Say: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	v := res.Verdict
	t.Logf("%s%s", r.Plan, harness.Account(res))
	if v.Status != checker.Valid || v.Stats.Unknown == 0 || v.Stats.Acked < 2000 {
		t.Errorf("%s with %d acknowledged writes and %d unknown outcomes, expected valid, 2,000 and some", v.Status, v.Stats.Acked, v.Stats.Unknown)
	}
	for _, kind := range []world.Ability{world.CanPartition, world.CanKill} {
		if before, after := harness.StruckLeader(res.History, kind); before == history.NoBroker || after == before {
			t.Errorf("%s: broker %d led before, broker %d after, expected a leader and another one", kind, before, after)
		}
	}
}
