package harness

import (
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// TestKnownFailuresCountUntilTheyExpire adds the same failing run to a tally on the last day on which it is known, and on the next.
func TestKnownFailuresCountUntilTheyExpire(t *testing.T) {
	list, err := ReadKnown([]byte(`[{"signature": "phantom: election", "reason": "being worked on", "expires": "2026-12-31"}]`))
	if err != nil {
		t.Fatal(err)
	}
	failing := &Result{Run: history.Run{Seed: 7}, History: &history.History{}, Verdict: checker.Verdict{
		Status: checker.Invalid, Reason: "Phantom.", Findings: []checker.Finding{{Class: checker.Phantom, Severity: checker.Violation, Signature: "phantom: election"}},
	}}
	for _, day := range []struct {
		today string
		known int
		word  string
	}{
		{"2026-12-31T23:59:59Z", 1, "known: being worked on"},
		{"2027-01-01T00:00:00Z", 0, "no longer known: it was expected until 2026-12-31, today is 2027-01-01: being worked on"},
	} {
		today, err := time.Parse(time.RFC3339, day.today)
		if err != nil {
			t.Fatal(err)
		}
		tally := newTally()
		if unknown := tally.add(Hunt{Known: list, Today: today}, 3, failing, nil); unknown != (day.known == 0) {
			t.Errorf("%s: unknown %v", day.today, unknown)
		}
		tally.finish(time.Second)
		if tally.Known != day.known || tally.Invalid != 1 || !strings.Contains(tally.String(), day.word) {
			t.Errorf("%s: %d known of %d, expected %d of 1 and %q:\n%s", day.today, tally.Known, tally.Invalid, day.known, day.word, tally)
		}
	}
}

// TestAClassMayBeKnown: one bug shows by many orders of the same steps, so an entry may stand for all signatures of a class, and for no other.
func TestAClassMayBeKnown(t *testing.T) {
	list, err := ReadKnown([]byte(`[{"signature": "lost acknowledged write: *", "reason": "being worked on", "expires": "2026-12-31"}]`))
	if err != nil {
		t.Fatal(err)
	}
	today := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for signature, want := range map[string]bool{
		"lost acknowledged write: election, truncation": true, "lost acknowledged write: restart": true,
		"lost acknowledged write": false, "phantom: election": false, "not found: lost acknowledged write: *": false,
	} {
		if reason, _, _ := knownOn(list, signature, today); (reason != "") != want {
			t.Errorf("%s: known for the reason %q, expected known %v", signature, reason, want)
		}
	}
}

// TestWhatMayBeKnown: classes of anomaly, with or without steps, what became of a known bug, and doubts about a part.
func TestWhatMayBeKnown(t *testing.T) {
	for _, signature := range []string{"phantom", "phantom: election", "not found: truncate-to-hw", "not found: *", "too many vacuous runs in hunt", "no run in containers"} {
		if err := excusable(signature); err != nil {
			t.Errorf("%q: %v", signature, err)
		}
	}
}

// TestKnownFailuresRefuse what is no list of them, with the entry and what was expected.
func TestKnownFailuresRefuse(t *testing.T) {
	for text, word := range map[string]string{
		``:                                    "the file is empty, expected a JSON array",
		`null`:                                "null, expected a JSON array",
		`{}`:                                  "a JSON object, expected an array",
		`[{"signature": 1}]`:                  "a JSON number, expected an array",
		`[] x`:                                "expected the end of the file",
		`[{"signature": "x", "why": "y"}]`:    `unknown field "why"`,
		`[{"signature": "x", "reason": "y"}]`: `entry 1: expires "", expected a date`,
		`[{"signature": "x", "reason": "y", "expires": "soon"}]`:                                                                                                           `entry 1: expires "soon"`,
		`[{"signature": "", "reason": "y", "expires": "2026-01-01"}]`:                                                                                                      "entry 1: signature",
		`[{"signature": "*", "reason": "y", "expires": "2026-01-01"}]`:                                                                                                     "entry 1: signature \"*\", expected a * at its end alone",
		`[{"signature": "a: *, b", "reason": "y", "expires": "2026-01-01"}]`:                                                                                               "entry 1: signature \"a: *, b\", expected a *",
		`[{"signature": "lost*", "reason": "y", "expires": "2026-01-01"}]`:                                                                                                 "entry 1: signature \"lost*\", expected a *",
		`[{"signature": "x", "reason": " ", "expires": "2026-01-01"}]`:                                                                                                     "entry 1: signature",
		`[{"signature": "phantom", "reason": "y", "expires": "2026-01-01"}, {"signature": "phantom", "reason": "z", "expires": "2027-01-01"}]`:                             "entry 2: signature \"phantom\", which entry 1 has already, in line 1",
		"[{\"signature\": \"phantom\", \"reason\": \"y\", \"expires\": \"2026-01-01\"},\n\n {\"signature\": \"phantom\", \"reason\": \"z\", \"expires\": \"2027-01-01\"}]": "line 3, entry 2: signature \"phantom\", which entry 1 has already, in line 1",
		"[{\"signature\": \"phantom\",\n\"signature\": \"duplicate\", \"reason\": \"y\", \"expires\": \"2026-01-01\"}]":                                                    "line 2: the key \"signature\" a second time in one object",
		`[{"signature": "phantoms: election", "reason": "y", "expires": "2026-01-01"}]`:                                                                                    "entry 1: signature \"phantoms: election\" begins with no class of anomaly: \"phantoms\" (did you mean phantom?), expected one of ",
		`[{"signature": "lost things: *", "reason": "y", "expires": "2026-01-01"}]`:                                                                                        "entry 1: signature \"lost things: *\" begins with no class of anomaly",
		`[{"signature": "not found: no-such-bug", "reason": "y", "expires": "2026-01-01"}]`:                                                                                "entry 1: signature \"not found: no-such-bug\": ",
	} {
		if _, err := ReadKnown([]byte(text)); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, expected an error with %q", text, err, word)
		}
	}
}
