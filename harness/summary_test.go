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

// TestSummarySaysOnceWhyTheContractAllows tells of two duplicates whose texts and whose verdict's reason give the same reason.
func TestSummarySaysOnceWhyTheContractAllows(t *testing.T) {
	const why = "producer that sends a value again has it written at least once."
	allowed := func(value string, count int, says string) checker.Finding {
		return checker.Finding{Class: checker.Duplicate, Severity: checker.Allowed, Partition: history.Partition{Topic: "orders"}, Count: count,
			Text: "Value " + value + " stands twice." + says, Why: "A " + why}
	}
	v := checker.Verdict{Status: checker.Valid, Reason: "All is well. The contract allows 6 anomalies: A " + why,
		Findings: []checker.Finding{allowed("a", 4, " This was found 4 times."), allowed("b", 2, "")}}
	got := Summary(v)
	if strings.Count(got, why) != 1 {
		t.Errorf("%s\nexpected the reason once", got)
	}
	want := "  allowed: duplicate on orders/0\n    Value a stands twice. This was found 4 times.\n  allowed: duplicate on orders/0, found 2 times\n    Value b stands twice.\n"
	if !strings.Contains(got, want) {
		t.Errorf("%s\nexpected in it\n%s", got, want)
	}
	v.Status, v.Reason = checker.Invalid, "Something else was lost."
	if got := Summary(v); strings.Count(got, why) != 1 {
		t.Errorf("%s\nexpected the reason once, with the first finding", got)
	}
}

// TestASummaryFitsAScreen: of a run with many findings the first are told, and how many more there are.
func TestASummaryFitsAScreen(t *testing.T) {
	v := checker.Verdict{Status: checker.Invalid, Reason: "Much was lost.", Contract: checker.Contract{Because: "acks=all."}}
	for range 50 {
		f := checker.Finding{Class: checker.LostWrite, Severity: checker.Violation, Count: 1, Text: "Value a went."}
		for range 9 {
			f.Implied = append(f.Implied, checker.Implied{Class: checker.PollSkip, Text: "It is skipped."})
		}
		v.Findings = append(v.Findings, f)
	}
	got := Summary(v)
	if n := strings.Count(got, "\n"); n > 24 || !strings.Contains(got, "and 47 further findings") || !strings.Contains(got, "implies 6 further classes") {
		t.Errorf("%d lines, expected at most 24 and what was left out:\n%s", n, got)
	}
}
