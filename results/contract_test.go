package results

import (
	"fmt"
	"testing"

	"tidemark/checker"
)

// TestAClassIsExplainedOnce: seven findings of one class have one row under the contract, and one that counts otherwise has its own.
func TestAClassIsExplainedOnce(t *testing.T) {
	lost, allowed := checker.Finding{Class: checker.LostWrite, Severity: checker.Violation}, checker.Finding{Class: checker.LostWrite, Severity: checker.Allowed}
	views := heldViews([]checker.Finding{lost, lost, {Class: checker.StaleRead, Severity: checker.Info}, lost, allowed})
	var got []string
	for _, v := range views {
		got = append(got, fmt.Sprint(v.Class, v.Numbers, v.Severity))
	}
	if want := fmt.Sprint([]string{"lost acknowledged write[1 2 4]violation", "stale read[3]info", "lost acknowledged write[5]allowed"}); fmt.Sprint(got) != want {
		t.Errorf("rows %v, expected %s", got, want)
	}
}
