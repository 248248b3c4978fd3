package harness

import (
	"strings"
	"testing"
	"time"

	"tidemark/broker/bug"
	"tidemark/results/index"
)

// searchedWithin lets the named bugs be found in so much time each, within a budget, and returns the rows.
func searchedWithin(budget time.Duration, names string, takes map[bug.Name]time.Duration) []BugRow {
	var entries []bug.Entry
	for _, name := range strings.Fields(names) {
		entries = append(entries, bug.Entry{Name: bug.Name(name)})
	}
	left := budget
	return SearchFairly(entries, time.Minute, func() time.Duration { return left }, func(e bug.Entry, share time.Duration) BugRow {
		row := BugRow{Bug: e.Name, Status: BugMissed, Runs: 10}
		spent := share
		if takes[e.Name] > 0 && takes[e.Name] <= share {
			row.Status, spent = BugFound, takes[e.Name]
		}
		left -= spent
		row.Seconds = spent.Seconds()
		return row
	})
}

// TestAHardBugLeavesTheOthersTheirTime: the first of ten is hard, and the budget is eighteen seconds. The nine easy ones are found, and what they leave
// is the hard one's.
func TestAHardBugLeavesTheOthersTheirTime(t *testing.T) {
	easy := time.Second / 2
	takes := map[bug.Name]time.Duration{"hard": time.Hour}
	for _, name := range strings.Fields("b c d e f g h i j") {
		takes[bug.Name(name)] = easy
	}
	rows := searchedWithin(18*time.Second, "hard b c d e f g h i j", takes)
	p := Proof{}.Part("bugs", rows, true, nil, time.Time{})
	const want = "9 of 10 known bugs found; searched hard for 14 s, too short to call it missed"
	if p.Reason != want || p.Status != index.Passed || p.Runs != 110 || len(p.Checks) != 10 || !p.Checks[0].Unlooked || p.Checks[1].Unlooked {
		t.Errorf("%s, %d runs, %q, checks %v; expected %q, and the first check not looked at", p.Status, p.Runs, p.Reason, p.Checks, want)
	}
	takes["hard"] = 11 * time.Second
	if p := (Proof{}).Part("bugs", searchedWithin(18*time.Second, "hard b c d e f g h i j", takes), true, nil, time.Time{}); p.Reason != "10 of 10 known bugs found" {
		t.Errorf("%q, expected the hard one to be found in what the others left", p.Reason)
	}
}

// TestSearchesThatWereAllTooShort count their runs and are named; one that had its minute is missed.
func TestSearchesThatWereAllTooShort(t *testing.T) {
	p := Proof{}.Part("bugs", searchedWithin(18*time.Second, "one two", nil), true, nil, time.Time{})
	const want = "no search was long enough to tell; searched one for 9.0 s, two for 9.0 s, too short to call them missed"
	if p.Reason != want || p.Status != index.Inconclusive || p.Runs != 20 || len(p.Problems) != 1 || p.Problems[0].Count != 20 {
		t.Errorf("%s, %d runs, %q, %+v; expected %q", p.Status, p.Runs, p.Reason, p.Problems, want)
	}
	if p := (Proof{}).Part("bugs", searchedWithin(2*time.Minute, "one two", nil), true, nil, time.Time{}); p.Status != index.Failed || len(p.Problems) != 2 {
		t.Errorf("%s, %+v, expected two bugs that were missed", p.Status, p.Problems)
	}
	none := Proof{}.Part("bugs", searchedWithin(0, "one two", nil), true, nil, time.Time{})
	if none.Status != index.Inconclusive || none.Reason != "no known bug was looked for; no time for one, two" {
		t.Errorf("%s, %q, expected to hear that there was no time", none.Status, none.Reason)
	}
}

// TestAStarvedSearchIsNamed, and makes its part inconclusive whatever the others found.
func TestAStarvedSearchIsNamed(t *testing.T) {
	p := Proof{}.Part("bugs", []BugRow{{Bug: "a", Status: BugFound}, {Bug: "b", Status: BugStarved, Runs: 3, Seconds: 60}}, true, nil, time.Time{})
	if p.Status != index.Inconclusive || p.Reason != "1 of 2 known bugs found; the machine was too busy to tell of b" || p.Runs != 3 {
		t.Errorf("%s, %q, %d runs", p.Status, p.Reason, p.Runs)
	}
}
