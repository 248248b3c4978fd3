package main

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
	"tidemark/results/index"
)

// TestAsManyRunsAreKeptAsThereIsRoomFor lets more runs fail side by side than keep their directories: each is told whether its own stays,
// and where.
func TestAsManyRunsAreKeptAsThereIsRoomFor(t *testing.T) {
	k := newKeeper("", false)
	runs := make([]*harness.Result, keepMax+5)
	var all sync.WaitGroup
	for i := range runs {
		runs[i] = &harness.Result{Verdict: checker.Verdict{Status: checker.Invalid}}
		all.Go(func() { k.keep(runs[i], results.Dir{Path: strconv.Itoa(i)}) })
	}
	all.Wait()
	kept := 0
	for i, r := range runs {
		if d, ok := k.dir(r); ok {
			kept++
			if d.Path != strconv.Itoa(i) {
				t.Errorf("run %d is in %q", i, d.Path)
			}
		}
	}
	if kept != keepMax {
		t.Errorf("%d runs were kept, expected %d", kept, keepMax)
	}
	valid := &harness.Result{Verdict: checker.Verdict{Status: checker.Valid}}
	if newKeeper("", false).keep(valid, results.Dir{}) {
		t.Error("a valid run was kept")
	}
	if !newKeeper("", true).keep(valid, results.Dir{}) {
		t.Error("the only run was not kept")
	}
}

// TestEveryClassHasAKeptRun though the first twenty failures are all of one.
func TestEveryClassHasAKeptRun(t *testing.T) {
	h := hunted{failing: map[int]*harness.Result{}, shown: map[string]bool{}}
	fails := func(signature string) *harness.Result {
		return &harness.Result{Verdict: checker.Verdict{Status: checker.Invalid, Findings: []checker.Finding{{Signature: signature}}}}
	}
	for n := range keepMax + 5 {
		h.want(n, fails("phantom: election"))
	}
	h.want(100, fails("duplicate: restart"))
	h.want(101, fails("duplicate: election"))
	h.want(102, &harness.Result{Verdict: checker.Verdict{Status: checker.Unknown}})
	if len(h.failing) != keepMax+1 || h.failing[100] == nil {
		t.Errorf("%d runs are kept, run 100 among them: %v, expected %d with it", len(h.failing), h.failing[100] != nil, keepMax+1)
	}
	h.dirs = map[int]results.Dir{0: {}} // once the budget is over, one of each class is enough
	h.spare(0)
	h.spare(1)
	h.spare(100)
	if h.failing[0] == nil || h.failing[1] != nil || h.failing[100] == nil {
		t.Error("expected the second phantom alone to be spared")
	}
}

// TestThereIsNoTimeLeft for a part once a night's budget is over: nobody knows what it would have found, which is no pass.
func TestThereIsNoTimeLeft(t *testing.T) {
	n := night{budget: time.Minute, until: time.Now().Add(-time.Second)}
	p, err := n.timely(nightlyCommand(), harness.NightHunt, []string{harness.NightHunt})
	if err != nil || p.Status != index.Inconclusive || p.Name != harness.NightHunt || p.Reason != "there was no time left for it" {
		t.Errorf("%v, %s: %s, expected a part that is inconclusive", err, p.Status, p.Reason)
	}
	n.budget = time.Second // too little for one run in containers: likewise
	p, err = n.contained(nightlyCommand(), harness.NightContainers, "", n.budget)
	if err != nil || p.Status != index.Inconclusive || !strings.Contains(p.Reason, "a run takes some") {
		t.Errorf("%v, %s: %s, expected a part that is inconclusive", err, p.Status, p.Reason)
	}
}

// TestTheGeneratorIsNamedWithinTheBudget: where that is over, or the hunt interrupted, nobody waits for the name; else it comes, however late.
func TestTheGeneratorIsNamedWithinTheBudget(t *testing.T) {
	known := make(chan string, 1)
	never := make(chan string)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	over := time.Now().Add(-time.Minute)
	known <- "0123"
	if got := nameWithin(stopped, known, over, time.Second); got != "0123" {
		t.Errorf("%q, expected the name that was found before the budget was over", got)
	}
	if got := nameWithin(t.Context(), never, over, time.Second) + nameWithin(stopped, never, over, 0) + nameWithin(t.Context(), nil, over, 0); got != "" {
		t.Errorf("%q, expected no name", got)
	}
	go func() { known <- "4567" }()
	if got := nameWithin(t.Context(), known, over, 0); got != "4567" {
		t.Errorf("%q, expected the name to be waited for without a budget", got)
	}
	drawn := func(seed uint64, run history.Run) history.Run { return run }
	if nameGenerator(harness.Hunt{Seeds: 1, Draw: drawn}) != nil || nameGenerator(harness.Hunt{Seeds: 9}) != nil {
		t.Error("the generator of one run, or of runs that are not drawn, is asked for")
	}
}

// TestANightIsCutForAScreenAlone: where its block goes into a pipe or a file, every sentence is whole.
func TestANightIsCutForAScreenAlone(t *testing.T) {
	reason := strings.Repeat("searched a bug for 18 s, ", 12)
	c := index.Campaign{Done: true, Parts: []index.Part{{Name: "bugs", Status: index.Passed, Done: true, Runs: 3, Reason: reason}}}
	if whole := nightText(c, index.Difference{}, columnsOf(&strings.Builder{})); !strings.Contains(whole, strings.TrimSpace(reason)) || strings.Contains(whole, "…") {
		t.Errorf("in a pipe:\n%s", whole)
	}
	if cut := nightText(c, index.Difference{}, nightColumns); !strings.Contains(cut, "…") {
		t.Errorf("on a screen:\n%s", cut)
	}
}

// TestWhatWasNotShrunkIsSaidToBe: of five signatures that nobody knew one was shrunk to its end and one in part, and the corpus got three. "Shrunk" is said of
// the first alone.
func TestWhatWasNotShrunkIsSaidToBe(t *testing.T) {
	carried := &hunted{ended: map[string]bool{"a": true, "b": false}, added: 3}
	if got, want := reducedWord(carried, 5, true), "; of 5 signatures that nobody knew 1 shrunk, 1 shrunk in part, 3 not shrunk; 3 added to the corpus, 2 not"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	if got := reducedWord(&hunted{}, 0, true); got != "" {
		t.Errorf("%q, expected nothing of no failures", got)
	}
	state := harness.ShrinkState{Best: history.Run{Plan: "at 1s kill broker 1 for 3s\nat 2s kill broker 2 for 3s\n"}}
	if got, want := shrunkWord(state), "shrinking stopped before its end, at 2 lines"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	if state.Done = true; shrunkWord(state) != "shrunk" {
		t.Errorf("%q, expected shrunk", shrunkWord(state))
	}
}

// TestABudgetThatIsTooSmallIsToldAtOnce: five minutes are too few for a run in containers, nine are enough for both parts.
func TestABudgetThatIsTooSmallIsToldAtOnce(t *testing.T) {
	small := tooSmall(5*time.Minute, harness.NightParts)
	if len(small) != 2 || !strings.Contains(small[0], "containers gets 45s") || !strings.Contains(small[0], "--budget 8m54s is enough, or --without containers") {
		t.Errorf("%q, expected a line for containers and one for kafka", small)
	}
	for _, enough := range []time.Duration{0, 9 * time.Minute} {
		if words := tooSmall(enough, harness.NightParts); len(words) != 0 {
			t.Errorf("of a budget of %v is told %q", enough, words)
		}
	}
	if words := tooSmall(time.Minute, []string{harness.NightHunt}); len(words) != 0 {
		t.Errorf("a night without containers is told %q", words)
	}
}
