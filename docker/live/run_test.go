package live_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/docker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

// TestARunInContainers kills one broker of three under load: the run is valid, its directory complete, and nothing is left.
func TestARunInContainers(t *testing.T) {
	e := engine(t)
	before := runtime.NumGoroutine()
	r := run(t, func(r *history.Run) { r.Duration = 10 * time.Second }, "at 2s kill leader(orders/0) for 4s\n")
	d, err := results.Create(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	res, err := harness.Contain(t.Context(), r, d, harness.Look{Binary: tool(t), Say: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict.Status != checker.Valid || res.Verdict.Stats.LeaderChanges == 0 || res.Verdict.Stats.FaultsObserved != 1 {
		t.Errorf("%s", harness.Summary(res.Verdict))
	}
	if err := harness.Save(d, res); err != nil {
		t.Fatal(err)
	}
	h, truncated, err := d.History()
	if err != nil || truncated != "" || len(h.Ops) != len(res.History.Ops) || len(h.Dumps) != 3 || len(h.Steps) == 0 {
		t.Errorf("the journal: %v %s", err, truncated)
	}
	if o, err := d.Outcome(); err != nil || o.Hash != "" || o.Run.World != harness.Contained {
		t.Errorf("the outcome %+v, %v", o, err)
	}
	if left, err := e.Own(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines after the run, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// TestPlansBeyondContainersAreRefused asks for what only the simulator can do.
func TestPlansBeyondContainersAreRefused(t *testing.T) {
	r := harness.Defaults()
	r.World = harness.Contained
	for _, plan := range []string{"at 1s powerfail broker 1 for 1s", "at 1s clock broker 1 at 1.05 for 1s"} {
		if _, err := harness.Expand(r, plan); err == nil || !strings.Contains(err.Error(), "cannot do") {
			t.Errorf("%q: %v", plan, err)
		}
	}
	for seed := range uint64(200) {
		r.Seed = seed
		if _, err := harness.Expand(r, ""); err != nil {
			t.Fatalf("seed %d drew a plan that containers cannot do: %v", seed, err)
		}
		tour, err := harness.Tour(r)
		if err == nil {
			_, err = harness.Expand(r, tour)
		}
		if err != nil {
			t.Fatalf("seed %d drew a tour that containers cannot do: %v", seed, err)
		}
	}
}

// TestTwoHarnessesLeaveEachOtherAlone starts a cluster while another runs, cleans up, and both are whole.
func TestTwoHarnessesLeaveEachOtherAlone(t *testing.T) {
	one := start(t)
	two := start(t)
	removed, err := one.engine.Cleanup(t.Context(), false) // what a third one left may be among it
	if err != nil {
		t.Error(err)
	}
	for _, c := range []*cluster{one, two} {
		if slices.ContainsFunc(removed, func(what string) bool { return strings.Contains(what, strings.TrimPrefix(c.Name(), "tidemark-")) }) {
			t.Errorf("cleaning up beside %s, which runs, removed %q", c.Name(), removed)
		}
		for _, b := range c.Brokers() {
			if !c.ProbeServing(b, passing) {
				t.Errorf("broker %d of %s does not serve", b, c.Name())
			}
		}
	}
}

// TestAnInterruptedRunIsTakenDown ends a run's context: the run says so, and nothing is left.
func TestAnInterruptedRunIsTakenDown(t *testing.T) {
	e := engine(t)
	r := run(t, func(r *history.Run) { r.Duration = time.Minute }, "at 1s pause broker 1\nat 1s partition 2 | 3\n")
	d, err := results.Create(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := false
	_, err = harness.Contain(ctx, r, d, harness.Look{Binary: tool(t), Say: func(string) {}, Progress: func(p harness.Progress) {
		if p.Now > 12*time.Second && !seen { // both faults are in force
			seen = true
			cancel()
		}
	}})
	if err == nil || !seen {
		t.Errorf("the run ended with %v, interrupted %t", err, seen)
	}
	if said, err := os.ReadFile(filepath.Join(d.Path, "broker-1.log")); err != nil || !strings.Contains(string(said), "serving") {
		t.Errorf("what broker 1 said is %q, %v", said, err)
	}
	if left, err := e.Own(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// TestTheDoctorFindsAWholeWorld asks the doctor where everything that these tests need is there.
func TestTheDoctorFindsAWholeWorld(t *testing.T) {
	engine(t)
	for _, f := range docker.Examine(t.Context(), tool(t)) {
		if !f.OK {
			t.Errorf("missing: %s; rules out %s; %s", f.What, f.RulesOut, f.How)
		}
	}
}
