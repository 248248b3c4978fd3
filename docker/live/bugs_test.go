package live_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/results"
)

// allBugs names the variable without which TestBugs is skipped: it takes a quarter of an hour.
const allBugs = "TIDEMARK_BUGS"

var (
	bugRuns  = flag.Int("bug-runs", 5, "runs in containers of each known bug")
	bugNeeds = flag.Int("bug-needs", 3, "how many of them must fail as the scenario says")
)

// simulatedRuns is how many seeds each scenario is carried out with in the simulator, simulatedNeeds how many of them must fail as it says.
// So many are tried again without the bug, and without each line of the plan.
const simulatedRuns, simulatedNeeds, simulatedAgain = 20, 16, 5

// scenarios calls f with every known bug that containers show: its run, which stands on the simulator, and the class that it fails as.
// A line of outcome stands in the file, so that it reads as those of the simulator do.
func scenarios(t *testing.T, f func(t *testing.T, run history.Run, expected string)) {
	files, err := filepath.Glob("testdata/bugs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			var run history.Run
			var outcome string
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				var options []string
				for _, arg := range d.CmdArgs {
					options = append(options, arg.Key+"="+strings.Join(arg.Vals, ","))
				}
				if run, err = harness.ScenarioRun(options, d.Input); err != nil {
					t.Fatal(err)
				}
				outcome = strings.TrimSpace(d.Expected)
				return d.Expected
			})
			f(t, run, outcome)
		})
	}
}

// told is what a verdict comes to: its status, and the class of what it fails of.
func told(v checker.Verdict) string {
	if len(v.Findings) == 0 {
		return string(v.Status)
	}
	return fmt.Sprintf("%s: %s", v.Status, v.Findings[0].Class)
}

// TestBugsInTheSimulator carries out the scenarios with faults that containers can do in the simulator, with one seed after the other:
// nearly all of them fail as they say, by what clients see; no line of a plan is in vain; and all are valid without the bug.
func TestBugsInTheSimulator(t *testing.T) {
	scenarios(t, func(t *testing.T, run history.Run, expected string) {
		if came := simulate(t, run, simulatedRuns); came[expected] < simulatedNeeds {
			t.Errorf("%d of %d seeds %s, expected %d: %v", came[expected], simulatedRuns, expected, simulatedNeeds, came)
		}
		plan, err := nemesis.Parse(run.Plan)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range plan.Lines {
			less := run
			less.Plan = nemesis.Plan{Lines: slices.Delete(slices.Clone(plan.Lines), i, i+1)}.String()
			if came := simulate(t, less, simulatedAgain); came[expected] == simulatedAgain {
				t.Errorf("every seed fails as well without the line %q", line)
			}
		}
		run.Bug = ""
		if came := simulate(t, run, simulatedAgain); came[string(checker.Valid)] < simulatedAgain {
			t.Errorf("without the bug: %v", came)
		}
	})
}

// simulate carries out a run in the simulator with several seeds and counts what becomes of it, as clients see it.
func simulate(t *testing.T, run history.Run, seeds uint64) map[string]int {
	t.Helper()
	came := map[string]int{}
	for run.Seed = 1; run.Seed <= seeds; run.Seed++ {
		res, err := harness.Simulate(t.Context(), run, harness.Watch{Blind: true})
		if err != nil {
			t.Fatal(err)
		}
		came[told(res.Verdict)]++
	}
	return came
}

// TestBugs carries out the same scenarios in containers, five times each, with the bug switched on in the real brokers: three times at
// least the checker must find what the simulator finds. Once it is off, and nothing may be found.
func TestBugs(t *testing.T) {
	if os.Getenv(allBugs) == "" {
		t.Skipf("takes long: set %s", allBugs)
	}
	engine(t)
	scenarios(t, func(t *testing.T, run history.Run, expected string) {
		t.Parallel()
		run.World = harness.Contained
		if err := harness.Verify(run); err != nil {
			t.Fatal(err)
		}
		came := map[string]int{}
		for run.Seed = 1; run.Seed <= uint64(*bugRuns); run.Seed++ {
			came[told(contain(t, run))]++
		}
		t.Logf("%d of %d runs: %s; %v", came[expected], *bugRuns, expected, came)
		if came[expected] < *bugNeeds {
			t.Errorf("%d of %d runs %s, expected %d: %v", came[expected], *bugRuns, expected, *bugNeeds, came)
		}
		run.Bug = ""
		if v := contain(t, run); v.Status != checker.Valid {
			t.Errorf("without the bug: %s", harness.Summary(v))
		}
	})
}

// contain carries out a run in containers and returns its verdict.
func contain(t *testing.T, run history.Run) checker.Verdict {
	t.Helper()
	_, res := carryOut(t, run)
	return res.Verdict
}

// carryOut runs in containers.
func carryOut(t *testing.T, run history.Run) (results.Dir, *harness.Result) {
	t.Helper()
	run.Started = time.Now().UTC()
	d, err := results.Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	res, err := harness.Contain(t.Context(), run, d, harness.Look{Binary: tool(t), Say: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	return d, res
}
