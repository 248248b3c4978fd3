package harness

import (
	"os"
	"strings"
	"testing"

	"tidemark/checker"
)

// TestALeadIsPursued takes the last line from a bug's scenario: then the ISR holds a replica that lacks what was acknowledged, and nobody dies. An invariant
// tells; the search makes that replica lead, and a write is lost. The run that it returns repeats; and without the bug there is no lead.
func TestALeadIsPursued(t *testing.T) {
	text, err := os.ReadFile("testdata/bugs/no-partition-epoch-check.txt")
	if err != nil {
		t.Fatal(err)
	}
	options, plan, _, err := ReadScenario(string(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(plan), "\n")
	run, err := ScenarioRun(options, strings.Join(lines[:len(lines)-1], "\n"))
	if err != nil {
		t.Fatal(err)
	}
	var leads []checker.Broken
	alone, err := Simulate(t.Context(), run, Watch{Blind: true, Leads: &leads})
	if err != nil || alone.Verdict.Status != checker.Valid || len(leads) == 0 {
		t.Fatalf("%v, %s with %d leads, expected valid and one at least", err, alone.Verdict.Status, len(leads))
	}
	ever := func() bool { return true }
	res, err := Pursue(t.Context(), run, ever)
	if err != nil || res.Verdict.Status != checker.Invalid || len(res.Lead) == 0 || res.Tries == 0 || !strings.Contains(strings.Join(strings.Fields(res.Run.Plan), " "), res.Lead[0]) {
		t.Fatalf("%v, %s after %d tries, with the lines %q in\n%s", err, res.Verdict.Status, res.Tries, res.Lead, res.Run.Plan)
	}
	again, err := Simulate(t.Context(), res.Run, Watch{Blind: true})
	if err != nil || again.Hash != res.Hash {
		t.Errorf("%v, trace hash %x, expected %x", err, again.Hash, res.Hash)
	}
	if over, err := Pursue(t.Context(), run, func() bool { return false }); err != nil || over.Verdict.Status != checker.Valid || over.Tries != 0 {
		t.Errorf("%v, %s after %d tries in no time, expected the run alone", err, over.Verdict.Status, over.Tries)
	}
	run.Bug = ""
	if res, err = Pursue(t.Context(), run, ever); err != nil || res.Verdict.Status != checker.Valid || res.Tries != 0 {
		t.Errorf("%v, %s after %d tries with no bug on, expected valid and nothing to pursue", err, res.Verdict.Status, res.Tries)
	}
}
