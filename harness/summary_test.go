package harness

import (
	"strings"
	"testing"

	"tidemark/checker"
	"tidemark/history"
)

// TestSummaryTellsImpliedUnderTheirCause checks that one fault reads as one finding, with what follows from it under it.
func TestSummaryTellsImpliedUnderTheirCause(t *testing.T) {
	p := history.Partition{Topic: "orders", Index: 2}
	v := checker.Verdict{Status: checker.Invalid, Reason: "Lost acknowledged write on orders/2.", Findings: []checker.Finding{{
		Class: checker.LostWrite, Severity: checker.Violation, Partition: p, Offset: 7, Value: "a", Count: 1, Text: "Value a went.",
		Implied: []checker.Implied{{Class: checker.UncommittedRead, Offset: 7, Count: 3, Text: "Consumer 4 read\x1b[31m it."}}}}}
	want := "  violation: lost acknowledged write on orders/2\n    Value a went.\n    implies: read of uncommitted data, found 3 times: Consumer 4 read\ufffd[31m it.\n"
	if got := Summary(v); !strings.Contains(got, want) {
		t.Errorf("%s\nexpected in it\n%s", got, want)
	}
	r := Result{Verdict: v}
	if !r.Shows(checker.LostWrite) || !r.Shows(checker.UncommittedRead) || r.Shows(checker.PollSkip) {
		t.Error("the run shows the finding's class and the implied one, and no other")
	}
}
