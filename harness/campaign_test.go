package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results/index"
)

// TestAHuntIsAPart makes a campaign's part of each kind of tally.
func TestAHuntIsAPart(t *testing.T) {
	today := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	lost := Failure{Seed: 5, Number: 3, Status: checker.Invalid, Reason: "a write is lost", Signature: "lost acknowledged write: election"}
	again := lost
	again.Number, again.Seed = 8, 9
	inCorpus := lost
	inCorpus.Number = -1
	expected := lost
	expected.Known, expected.Until = "it waits", "2026-12-31"
	h := Hunt{Seeds: 10, Today: today, Corpus: []CorpusRun{{Name: "a.txt", Signature: lost.Signature}}}
	kept := func(n int) Kept { return Kept{Run: fmt.Sprint("run-", n), Replay: fmt.Sprint("again ", n)} }
	for _, c := range []struct {
		name   string
		tally  Tally
		undone bool
		status index.Status
		want   string // the problems: check, kind, count, run
	}{
		{"all valid", Tally{Runs: 10, Valid: 10}, false, index.Passed, ""},
		{"one signature, found by search twice and by the corpus", Tally{Runs: 11, Valid: 8, Invalid: 3, Failures: []Failure{inCorpus, lost, again}}, false, index.Failed,
			"lost acknowledged write violation 2 run-3, a.txt violation 1 run--1"},
		{"known", Tally{Runs: 10, Valid: 9, Invalid: 1, Known: 1, Failures: []Failure{expected}}, false, index.Passed, "lost acknowledged write violation 1 run-3"},
		{"a few vacuous", Tally{Runs: 100, Valid: 95, Vacuous: 5, Failures: []Failure{{Status: checker.Vacuous}}}, false, index.Passed, ""},
		{"many vacuous", Tally{Runs: 100, Valid: 94, Vacuous: 6}, false, index.Inconclusive, "conclusive inconclusive 6 "},
		{"unknown", Tally{Runs: 10, Valid: 9, Unknown: 1, Failures: []Failure{{Status: checker.Unknown, Number: 2}}}, false, index.Inconclusive, "conclusive inconclusive 1 run-2"},
		{"trouble", Tally{Runs: 10, Valid: 9, Errors: 1, Failures: []Failure{{Status: "error", Number: 4, Reason: "no memory"}}}, false, index.Trouble, "the harness trouble 1 run-4"},
		{"nothing ran", Tally{}, false, index.Inconclusive, "conclusive inconclusive 0 "},
		{"interrupted", Tally{Runs: 4, Valid: 4}, true, index.Interrupted, ""},
		{"a violation outranks an interrupt", Tally{Runs: 4, Valid: 3, Invalid: 1, Failures: []Failure{lost}}, true, index.Failed, "lost acknowledged write violation 1 run-3"},
	} {
		p := h.Part("hunt", c.tally, !c.undone, 5, kept)
		var got []string
		for _, q := range p.Problems {
			got = append(got, fmt.Sprintf("%s %s %d %s", q.Check, q.Kind, q.Count, q.Run))
		}
		if p.Status != c.status || strings.Join(got, ", ") != c.want || p.Done == c.undone {
			t.Errorf("%s: %s, done %v, %q; expected %s, %q", c.name, p.Status, p.Done, got, c.status, c.want)
		}
		for _, q := range p.Problems {
			if !slices.ContainsFunc(p.Checks, func(k index.Check) bool { return k.Name == q.Check }) {
				t.Errorf("%s: %q is none of the part's checks", c.name, q.Check)
			}
		}
	}
	far := h
	far.First, far.Run.World = 40, Contained
	if p := far.Part("hunt", Tally{Runs: 1, Valid: 1}, true, 5, kept); p.First != 40 || !p.Real {
		t.Errorf("a hunt in containers from run 40 on is told as one from %d on, in containers: %t", p.First, p.Real)
	}
	whole := h.Part("corpus", Tally{Runs: 1, Valid: 1}, true, 5, kept)
	if p := Doubted(whole, "not the whole corpus", "there was time for 1 of 2"); p.Status != index.Inconclusive || p.Looked() || whole.Status != index.Passed {
		t.Errorf("a part of which half was carried out is %s", p.Status)
	}
	h.UntilFirst = true
	if p := h.Part("hunt", Tally{Runs: 4, Valid: 3, Invalid: 1, Failures: []Failure{lost}}, true, 5, kept); p.Looked() || p.Status != index.Failed {
		t.Errorf("a hunt that stopped at its first violation looked at everything (%v), %s", p.Looked(), p.Status)
	}
}

// TestTheCanaryMustBeFound: a harness that misses it is in trouble, and says so.
func TestTheCanaryMustBeFound(t *testing.T) {
	h := Hunt{Run: Defaults(), Seeds: 50, UntilFirst: true}
	h.Run.Bug = "ack-before-replication"
	found := h.CanaryPart("canary", Tally{Runs: 3, Valid: 2, Invalid: 1, Groups: []Group{{Signature: "lost: election", First: Failure{Number: 2}}}}, true)
	if found.Status != index.Passed || found.Invalid != 1 || found.Known != 1 || found.Valid != 2 || !strings.Contains(found.Reason, "run 2") {
		t.Errorf("%s, %d invalid, %d known, %q, expected the one that was wanted to be counted, and known", found.Status, found.Invalid, found.Known, found.Reason)
	}
	if missed := h.CanaryPart("canary", Tally{Runs: 50, Valid: 50}, true); missed.Status != index.Trouble || len(missed.Problems) != 1 {
		t.Errorf("%+v, expected trouble", missed)
	}
	if none := h.CanaryPart("canary", Tally{}, true); none.Status != index.Inconclusive {
		t.Errorf("a canary that had no time: %s, expected that it says nothing", none.Status)
	}
	if cut := h.CanaryPart("canary", Tally{Runs: 5, Valid: 5}, false); cut.Status != index.Interrupted {
		t.Errorf("%+v, expected an interrupt", cut)
	}
}

// TestAProofIsAPart: bugs that were not found are problems unless somebody knows.
func TestAProofIsAPart(t *testing.T) {
	rows := []BugRow{{Bug: "a", Status: BugFound}, {Bug: "b", Status: BugMissed, Shows: []string{"duplicate"}}, {Bug: "c", Status: BugOtherClass, Class: "duplicate", Number: 4, Seed: 5}}
	known := []Known{{Signature: "not found: b", Reason: "too rare for a minute", Expires: "2026-12-31"}}
	p := Proof{Master: 7, Budget: time.Minute}.Part("bugs", rows, true, known, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
	if p.Status != index.Failed || len(p.Checks) != 3 || len(p.Problems) != 2 {
		t.Fatalf("%+v", p)
	}
	for _, q := range p.Problems {
		switch q.Check {
		case "b":
			if q.Known == "" || q.Until != "2026-12-31" {
				t.Errorf("%+v, expected it to be known", q)
			}
			if !strings.HasSuffix(q.Again, " bugs --budget 1m0s --no-shrink --master 7 b") {
				t.Errorf("%+v, expected the line that searches for it", q)
			}
		case "c":
			if q.Known != "" || !strings.Contains(q.Replay, "--bug c --master 7 --first 4") {
				t.Errorf("%+v, expected the line that repeats it", q)
			}
		}
	}
	if p := (Proof{}).Part("bugs", rows[:2], true, known, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)); p.Status != index.Failed || p.Problems[0].Expired == "" {
		t.Errorf("%+v, expected the entry to have expired", p)
	}
	if p := (Proof{}).Part("bugs", nil, true, nil, time.Time{}); p.Status != index.Inconclusive {
		t.Errorf("a table without rows is %s", p.Status)
	}
}

// TestNightShares divides a budget among the parts that are to come; what one leaves goes to the others.
func TestNightShares(t *testing.T) {
	left, spent := 20*time.Minute, time.Duration(0)
	for i, part := range NightParts {
		share := NightShare(left, part, NightParts[i:])
		if want := time.Duration(nightWeights[part]) * time.Minute; share != want {
			t.Errorf("%s gets %v of %v, expected %v", part, share, left, want)
		}
		left -= share
		spent += share
	}
	if spent != 20*time.Minute {
		t.Errorf("%v is divided, expected 20m", spent)
	}
	if share := NightShare(10*time.Minute, NightHunt, []string{NightHunt, NightContainers}); share != 7*time.Minute {
		t.Errorf("the hunt gets %v of what the canary left, expected 7m", share)
	}
	if NightShare(-time.Second, NightKafka, []string{NightKafka}) != 0 || NightShare(time.Hour, "x", NightParts) != 0 {
		t.Error("a part gets time that is not there")
	}
}

// TestAStarvedSearchIsNone: a minute of two workers that others left a few seconds of the processors proves nothing.
func TestAStarvedSearchIsNone(t *testing.T) {
	for _, c := range []struct {
		used time.Duration
		want bool
	}{{20 * time.Second, true}, {59 * time.Second, true}, {61 * time.Second, false}, {2 * time.Minute, false}} {
		if got := Starved(c.used, 60, 2); got != c.want {
			t.Errorf("%v of the processors' two minutes: starved %v, expected %v", c.used, got, c.want)
		}
	}
}

// TestVariedGroups: what is shrunk first is one failure of each class, then those that most runs showed.
func TestVariedGroups(t *testing.T) {
	var groups []Group
	for _, s := range []string{"lost: a", "lost: b", "skip: a", "lost: c", "phantom"} {
		groups = append(groups, Group{Signature: s})
	}
	var got []string
	for _, g := range Varied(groups, 4) {
		got = append(got, g.Signature)
	}
	if want := "lost: a, skip: a, phantom, lost: b"; strings.Join(got, ", ") != want {
		t.Errorf("%s, expected %s", strings.Join(got, ", "), want)
	}
}

// TestADoubtIsNoPass doubts a part in which all that was looked for was found: it is inconclusive, by a check of its own.
func TestADoubtIsNoPass(t *testing.T) {
	p := index.Part{Name: NightBugs, Runs: 3, Done: true, Checks: []index.Check{{Name: "truncate-to-hw"}}}
	p.Settle()
	if p.Status != index.Passed {
		t.Fatalf("%s, expected a part that passed", p.Status)
	}
	p = Doubted(p, "searches that were starved", "1 of 1 known bugs found; the machine was too busy to tell of 2")
	if p.Status != index.Inconclusive || len(p.Checks) != 2 || p.Problems[0].Check != p.Checks[1].Name || p.Problems[0].Count != 3 || UnbegunPart("kafka").Problems[0].Count != 0 {
		t.Errorf("%s by %+v, expected it inconclusive by a check of its own", p.Status, p.Checks)
	}
}

// TestAScenarioThatSaysNothingWasNotLookedAt: one that was vacuous, or was not carried out, is told apart from one that holds.
func TestAScenarioThatSaysNothingWasNotLookedAt(t *testing.T) {
	h := Hunt{Run: Defaults(), Workers: 1, Corpus: []CorpusRun{{Name: "holds.txt"}, {Name: "vacuous.txt"}, {Name: "missing.txt"}}}
	n := 0
	h.Carry = func(_ context.Context, run history.Run) (*Result, error) {
		res := carried(run)
		if n++; n == 2 {
			res.Verdict.Status = checker.Vacuous
		}
		if n == 3 {
			return res, errors.New("it could not be carried out")
		}
		return res, nil
	}
	p := h.Part(NightCorpus, h.Go(t.Context()), true, 100, func(int) Kept { return Kept{} })
	got := []bool{p.Checks[0].Unlooked, p.Checks[1].Unlooked, p.Checks[2].Unlooked}
	if !slices.Equal(got, []bool{false, true, true}) {
		t.Errorf("not looked at: %v of %v, expected the last two", got, p.Checks)
	}
}

// TestWhatIsKeptIsBelieved: whatever a night may come to, its campaign is one that is believed when it is read.
func TestWhatIsKeptIsBelieved(t *testing.T) {
	now := time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)
	fail := func(status checker.Status, signature, known string) Failure {
		return Failure{Seed: 5, Number: 3, Status: status, Signature: signature, Known: known}
	}
	lost, duplicate, skip := fail(checker.Invalid, "lost: election", ""), fail(checker.Invalid, "duplicate: retry", "it waits"), fail(checker.Invalid, "skip: restart", "")
	of := lost
	of.Number = -1
	h := Hunt{Run: Defaults(), Seeds: 10, Today: now, Corpus: []CorpusRun{{Name: "a.txt", Signature: lost.Signature}}}
	kept := func(int) Kept { return Kept{Run: "20261130T020000Z-5"} }
	parts := []index.Part{UnbegunPart(NightBugs), UnbegunPart(NightCanary), SkippedPart(NightKafka, "no engine answers")}
	for _, done := range []bool{true, false} {
		for _, tally := range []Tally{
			{}, {Runs: 3, Valid: 3}, {Runs: 3, Vacuous: 3, Failures: []Failure{fail(checker.Vacuous, "", "")}},
			{Runs: 7, Valid: 2, Invalid: 5, Known: 1, Failures: []Failure{of, lost, lost, duplicate, skip}},
			{Runs: 9, Valid: 2, Invalid: 3, Known: 3, Unknown: 2, Errors: 2, Failures: []Failure{duplicate, duplicate, duplicate, fail(checker.Unknown, "", ""), fail(checker.Unknown, "", ""), fail("error", "", ""), fail("error", "", "")}},
		} {
			parts = append(parts, h.Part("hunt", tally, done, 5, kept), Doubted(h.Part("corpus", tally, done, 100, kept), "not the whole corpus", "there was no time"))
			tally.Groups, tally.Known = groups(tally.Failures), 0 // nobody excuses a canary
			parts = append(parts, h.CanaryPart(NightCanary, tally, done))
		}
		rows := []BugRow{{Bug: "a", Status: BugFound, Runs: 4, Errors: 1}, {Bug: "b", Status: BugMissed, Runs: 9, Seed: 5}, {Bug: "c", Status: BugStarved, Errors: 2}}
		for n := range len(rows) + 1 {
			parts = append(parts, Proof{}.Part(NightBugs, rows[:n], done, nil, now))
		}
	}
	for i := range parts {
		c := NewCampaign("nightly", now, 7, "tidemark nightly")
		c.Parts, c.Done = append(c.Parts, parts[i]), true
		if err := c.Believable("20261130T020000Z-nightly-7", now); err != nil {
			t.Errorf("%+v: %v", parts[i], err)
		}
	}
	var many []Failure
	for n := range 3 * failuresMax {
		many = append(many, fail(checker.Invalid, fmt.Sprint("lost: ", n), ""))
	}
	tally := newTally()
	for _, f := range many {
		tally.Runs++
		tally.Invalid++
		tally.fail(f)
	}
	c := NewCampaign("nightly", now, 7, "tidemark nightly")
	if c.Parts = append(c.Parts, h.Part("hunt", tally, true, 5, kept)); c.Believable("20261130T020000Z-nightly-7", now) != nil {
		t.Errorf("a hunt that failed in each of %d ways is not believed: %v", len(many), c.Believable("", now))
	}
}
