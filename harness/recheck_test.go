package harness

import (
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/results"
)

// TestBrokenInvariantsAreHistory checks that a run whose controllers forget their votes is invalid by its history alone: without the stored
// verdict, as with it.
func TestBrokenInvariantsAreHistory(t *testing.T) {
	run := Defaults()
	run.Seed, run.Duration, run.Parts, run.Writers, run.Readers = 1, 12*time.Second, 1, 2, 1
	run.Bug, run.Plan = "vote-not-persisted", "at 2s  kill controller  for 1s"
	res, err := Simulate(t.Context(), run, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := results.Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteHistory(res.History); err != nil {
		t.Fatal(err)
	}
	again, _, err := Recheck(d, run)
	if err != nil {
		t.Fatal(err)
	}
	if v := again.Verdict; v.Status != checker.Invalid || v.Findings[0].Class != checker.InvariantBroken {
		t.Fatalf("%s: %s", v.Status, v.Reason)
	}
	if difference := checker.Differences(res.Verdict, again.Verdict); difference != "" {
		t.Error(difference)
	}
}
