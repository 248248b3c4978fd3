package harness

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/checker"
	"tidemark/history"
)

// TestCorrect carries out what the search once took for a failure of a correct broker: now each run must be valid. Its file says what was
// wrong, and which faults are refused.
func TestCorrect(t *testing.T) {
	scenarios(t, "testdata/correct", func(t *testing.T, run history.Run) string {
		if run.Bug != "" {
			t.Fatalf("the bug %q, expected none", run.Bug)
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
}
