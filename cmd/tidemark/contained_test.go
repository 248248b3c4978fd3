//go:build !simonly

package main

import (
	"testing"

	"tidemark/checker"
)

// TestVerdictsOfAReplayInContainersAreCompared has the same verdict, another one, and other findings.
func TestVerdictsOfAReplayInContainersAreCompared(t *testing.T) {
	valid, lost := checker.Verdict{Status: checker.Valid, Reason: "It agrees."}, checker.Verdict{Status: checker.Invalid, Reason: "Lost."}
	twice := checker.Verdict{Status: checker.Invalid, Reason: "Twice."}
	for _, c := range []struct {
		before, now checker.Verdict
		want        string
	}{
		{valid, checker.Verdict{Status: checker.Valid, Reason: "Other counts."}, "carried out again, not exactly: valid, as the stored run was"},
		{lost, valid, "carried out again, not exactly: valid now, the stored run was invalid: Lost."},
		{lost, lost, "carried out again, not exactly: invalid, as the stored run was"},
		{lost, twice, "carried out again, not exactly: invalid, as the stored run was, by other findings; the stored run's: Lost."},
	} {
		if got := compared(c.before, c.now); got != c.want {
			t.Errorf("%s, then %s: %q, expected %q", c.before.Reason, c.now.Reason, got, c.want)
		}
	}
}
