package harness

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tidemark/checker"
	"tidemark/history"
)

// TestCorrect carries out what the search once took for a failure of a correct broker: now each run must be valid. Its file says what was
// wrong, and which faults are refused.
func TestCorrect(t *testing.T) {
	files, err := filepath.Glob("testdata/correct/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				var options []string
				for _, arg := range d.CmdArgs {
					options = append(options, arg.Key+"="+strings.Join(arg.Vals, ","))
				}
				run, err := ScenarioRun(options, d.Input)
				if err != nil {
					t.Fatal(err)
				}
				if run.Bug != "" || d.Cmd != "run" {
					t.Fatalf("%s with the bug %q, expected run with none", d.Cmd, run.Bug)
				}
				res, err := Simulate(t.Context(), run, Watch{})
				if err != nil {
					t.Fatal(err)
				}
				if res.Verdict.Status != checker.Valid {
					t.Errorf("expected %s, found\n%s", checker.Valid, Summary(res.Verdict))
				}
				var out strings.Builder
				fmt.Fprintln(&out, res.Verdict.Status)
				for _, e := range res.History.Faults {
					if e.Phase == history.FaultRefused {
						fmt.Fprintf(&out, "refused: %s: %s\n", e.Line, e.Detail)
					}
				}
				return out.String()
			})
		})
	}
}
