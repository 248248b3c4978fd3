package harness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// judged is a result whose verdict has these findings, each a class and a signature.
func judged(status checker.Status, signatures ...string) *Result {
	res := &Result{History: &history.History{}, Verdict: checker.Verdict{Status: status, Reason: string(status)}}
	for _, s := range signatures {
		class, _, _ := strings.Cut(s, ":")
		res.Verdict.Findings = append(res.Verdict.Findings, checker.Finding{Class: checker.Class(class), Severity: checker.Violation, Signature: s})
	}
	return res
}

// TestASignatureIsTheFirstViolations and a run that is not invalid has none, whatever the contract allowed in it.
func TestASignatureIsTheFirstViolations(t *testing.T) {
	v := judged(checker.Invalid, "lost acknowledged write: election, truncation", "high watermark goes back").Verdict
	if got := Signature(v); got != "lost acknowledged write: election, truncation" {
		t.Errorf("%q, expected that of the loss", got)
	}
	for _, status := range []checker.Status{checker.Valid, checker.Vacuous, checker.Unknown} {
		if got := Signature(judged(status, "lost acknowledged write: election").Verdict); got != "" {
			t.Errorf("a run that is %s has the signature %q, expected none", status, got)
		}
	}
}

// TestFailuresAreGroupedBySignature the most frequent first, whatever their seeds are.
func TestFailuresAreGroupedBySignature(t *testing.T) {
	tally := newTally()
	for n, res := range []*Result{
		judged(checker.Invalid, "not settled"), judged(checker.Valid), judged(checker.Invalid, "duplicate: election"),
		judged(checker.Unknown), judged(checker.Invalid, "duplicate: election", "not settled"), judged(checker.Invalid, "duplicate: truncation"),
	} {
		res.Run.Seed = uint64(100 + n)
		tally.add(Hunt{}, n, res, nil)
	}
	tally.finish(time.Second)
	var told []string
	for _, g := range tally.Groups {
		told = append(told, g.Signature)
	}
	if got := strings.Join(told, "; "); got != "duplicate: election; not settled; duplicate: truncation" {
		t.Errorf("groups %s", got)
	}
	if g := tally.Groups[0]; g.Count != 2 || g.First.Number != 2 || strings.Join(g.Seeds, " ") != "102 104" {
		t.Errorf("%+v, expected runs 2 and 4 with seeds 102 and 104", g)
	}
}

// TestARareFailureIsToldAmongMany: more runs fail alike than a tally lists. All are counted, and the one that fails of something else is listed.
func TestARareFailureIsToldAmongMany(t *testing.T) {
	tally := newTally()
	add := func(n int, class string) { tally.add(Hunt{}, n, judged(checker.Invalid, class), nil) }
	for n := range failuresMax + 20 {
		add(n, "duplicate: election")
	}
	add(failuresMax+20, "not settled")
	add(failuresMax+21, "duplicate: election")
	add(failuresMax+22, "not settled")
	tally.finish(time.Second)
	if len(tally.Failures) != failuresMax+1 {
		t.Errorf("%d failures are listed, expected %d and the first of another signature", len(tally.Failures), failuresMax)
	}
	if g := tally.Groups; len(g) != 2 || g[0].Count != failuresMax+21 || g[1].Signature != "not settled" || g[1].Count != 2 {
		t.Errorf("%+v", g)
	}
	p := Hunt{}.Part("hunt", tally, true, 5, func(int) Kept { return Kept{} })
	if len(p.Problems) != 2 || p.Problems[0].Count+p.Problems[1].Count != failuresMax+23 {
		t.Errorf("problems %+v", p.Problems)
	}
}

// TestWhatIsNotListedIsCounted: beyond the room of a tally each failure of a signature of its own, and each alike to one of those, is counted and told of; one
// that is like a listed one is counted with it.
func TestWhatIsNotListedIsCounted(t *testing.T) {
	tally := newTally()
	for n := range 2*failuresMax + 7 {
		tally.add(Hunt{}, n, judged(checker.Invalid, fmt.Sprint("duplicate: ", n)), nil)
	}
	tally.add(Hunt{}, 2*failuresMax+7, judged(checker.Invalid, fmt.Sprint("duplicate: ", 2*failuresMax+6)), nil)
	tally.add(Hunt{}, 2*failuresMax+8, judged(checker.Invalid, "duplicate: 3"), nil)
	tally.finish(time.Second)
	listed := 0
	for _, g := range tally.Groups {
		listed += g.Count
	}
	if len(tally.Failures) != 2*failuresMax || tally.Left != 8 || listed+tally.Left != tally.Invalid {
		t.Errorf("%d listed, %d in groups, %d left of %d, expected %d, and 8 left", len(tally.Failures), listed, tally.Left, tally.Invalid, 2*failuresMax)
	}
	const want = "8 runs that failed otherwise than any that is listed, for which there was no room behind 2000"
	if told := tally.String(); !strings.HasSuffix(told, "\nand "+want+"\n") {
		t.Errorf("%s, expected %s", told[max(0, len(told)-300):], want)
	}
	if p := (Hunt{}).Part("hunt", tally, true, 5, func(int) Kept { return Kept{} }); !strings.HasSuffix(p.Reason, "; without "+want) {
		t.Errorf("%s, expected %s", p.Reason, want)
	}
}
