package checker

import (
	"strings"
	"testing"

	"tidemark/history"
)

// TestDifferences compares a stored verdict with what another checker says of the same history.
func TestDifferences(t *testing.T) {
	at := func(class Class, severity Severity, o history.Offset) Finding {
		return Finding{Class: class, Severity: severity, Partition: history.Partition{Topic: "orders"}, Offset: o, Text: "told in other words"}
	}
	lost := at(LostWrite, Violation, 7)
	stored := Verdict{Checker: "tidemark-1", Status: Invalid, Reason: "Lost.", Findings: []Finding{lost}}
	same := stored
	same.Checker, same.Findings = "tidemark-9", []Finding{lost}
	same.Findings[0].Text = "differently"
	if got := Differences(stored, same); got != "" {
		t.Errorf("other words are no difference: %s", got)
	}
	valid := Verdict{Checker: "tidemark-9", Status: Valid, Reason: "All agrees.", Findings: []Finding{at(StaleRead, Info, 3)}}
	want := "the stored verdict differs from this one\n" +
		"  stored, by checker tidemark-1: invalid: Lost.\n    only stored: violation: lost acknowledged write on orders/0 at offset 7\n" +
		"  now, by checker tidemark-9: valid: All agrees.\n    only now: info: stale read on orders/0 at offset 3\n"
	if got := Differences(stored, valid); got != want {
		t.Errorf("%s\nexpected\n%s", got, want)
	}
	weaker := same
	weaker.Contract.Acks = 1
	if got := Differences(stored, weaker); !strings.Contains(got, "under another contract: acks 0, min.insync.replicas 0 of 0, beyond the fault budget; now: acks 1,") {
		t.Errorf("another contract: %q", got)
	}
	for o := range history.Offset(25) {
		valid.Findings = append(valid.Findings, at(Duplicate, Allowed, o))
	}
	if got := Differences(stored, valid); !strings.HasSuffix(got, "    and 6 findings more\n") {
		t.Error(got)
	}
}
