package results

import (
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// TestWindowsOfFindingsWithoutAMessage: that a cluster does not settle has its window before the phase that failed, if the history tells of one.
func TestWindowsOfFindingsWithoutAMessage(t *testing.T) {
	findings := []checker.Finding{{Class: checker.NotSettled, Severity: checker.Violation, Offset: history.UnknownOffset, Witness: checker.Witness{Acked: -1}}}
	marks := []history.Mark{{Name: "heal", Time: 50 * time.Second}, {Name: "heal", Time: 60 * time.Second, Failed: true}}
	got := windowsOf(findings, marks, 60500*time.Millisecond)
	if want := (span{0, 45 * time.Second, 60500 * time.Millisecond}); len(got) != 1 || got[0] != want {
		t.Errorf("windows %v, expected %v", got, want)
	}
	if got := windowsOf(findings, marks[:1], time.Minute); len(got) != 0 {
		t.Errorf("windows %v of a history that tells of no failure, expected none", got)
	}
}
