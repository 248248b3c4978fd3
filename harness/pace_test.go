package harness

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// carried is a run that was carried out and is right.
func carried(run history.Run) *Result {
	return &Result{Run: run, History: &history.History{}, Verdict: checker.Verdict{Status: checker.Valid}}
}

// TestTheBudgetCutsASimulatedRunOff which would never come to its end: it counts for nothing, and that is said. One that comes to its end as the budget
// does counts.
func TestTheBudgetCutsASimulatedRunOff(t *testing.T) {
	h := Hunt{Run: Defaults(), Seeds: 10, Workers: 1, Budget: 500 * time.Millisecond}
	h.Carry = func(ctx context.Context, run history.Run) (*Result, error) {
		<-ctx.Done()
		return &Result{Run: run}, ctx.Err()
	}
	tally := h.Go(t.Context())
	if tally.Runs != 0 || tally.Errors != 0 || tally.Cut != 1 || !strings.Contains(tally.String(), "the end of the budget cut off 1 run, which counts for nothing") {
		t.Errorf("%d runs, %d cut off, expected none and one:\n%s", tally.Runs, tally.Cut, tally)
	}
	if p := h.Part("hunt", tally, true, 100, nil); !strings.Contains(p.Reason, "cut off 1 run") || p.Runs != 0 {
		t.Errorf("the part says %q of %d runs", p.Reason, p.Runs)
	}
	h.Carry = func(ctx context.Context, run history.Run) (*Result, error) {
		<-ctx.Done()
		return carried(run), nil
	}
	if tally = h.Go(t.Context()); tally.Valid != 1 || tally.Cut != 0 {
		t.Errorf("%d valid, %d cut off, expected the one that came to its end", tally.Valid, tally.Cut)
	}
	interrupted, stop := context.WithCancel(t.Context())
	h.Budget, h.Carry = time.Hour, func(ctx context.Context, run history.Run) (*Result, error) {
		stop()
		return carried(run), nil
	}
	if tally = h.Go(interrupted); tally.Runs != 0 || tally.Cut != 0 {
		t.Errorf("%d runs, %d cut off by the budget, expected none of an interrupted hunt", tally.Runs, tally.Cut)
	}
}

// TestAHuntInContainersKeepsItsBudget by what its runs take: nothing is begun that is not to end before the budget does, unless it is the only one.
func TestAHuntInContainersKeepsItsBudget(t *testing.T) {
	var now time.Time
	p := newPace(now, 5*time.Minute, history.Run{World: Contained, Duration: 30 * time.Second})
	steps := []struct {
		at   time.Duration
		more bool
		took time.Duration // of a run that ends before the question
	}{
		{at: 4*time.Minute + 30*time.Second, more: true}, // the first, though it may well be too long
		{at: 4*time.Minute + 30*time.Second},             // beside it: 80 s are to be expected, 30 are left
		{at: 90 * time.Second, more: true, took: time.Minute},
		{at: 150 * time.Second, more: true, took: 2 * time.Minute},
		{at: 181 * time.Second},
		{at: 5 * time.Minute},
	}
	for i, s := range steps {
		if s.took > 0 {
			p.took(s.took)
		}
		if got := p.more(now.Add(s.at)); got != s.more {
			t.Errorf("%d, at %v: another run may begin: %v, expected %v", i, s.at, got, s.more)
		}
	}
	if got, want := p.stopped(), "no further run was begun: 1m59s of the budget were left, and one took up to 2m0s"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}

	h := Hunt{Run: Defaults(), Seeds: 10, Workers: 1, Budget: time.Hour}
	h.Run.World = Contained
	h.Carry = func(ctx context.Context, run history.Run) (*Result, error) {
		if _, bounded := ctx.Deadline(); bounded {
			t.Error("a run in containers is cut off by the hunt's budget")
		}
		return carried(run), nil
	}
	if tally := h.Go(t.Context()); tally.Runs != 10 {
		t.Errorf("%d runs, expected all 10: each takes no time", tally.Runs)
	}
}

// TestAPursuitEndsWithTheBudget in the middle of a run that pursues a lead: that counts for nothing, the run that had the lead for what it is.
func TestAPursuitEndsWithTheBudget(t *testing.T) {
	text, err := os.ReadFile("testdata/bugs/no-partition-epoch-check.txt")
	if err != nil {
		t.Fatal(err)
	}
	options, plan, _, err := ReadScenario(string(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(plan), "\n")
	run, err := ScenarioRun(options, strings.Join(lines[:len(lines)-1], "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range []bool{true, false} {
		ctx, stop := context.WithCancel(t.Context())
		asked := 0
		res, err := Pursue(ctx, run, func() bool {
			asked++
			stop() // in the middle of what begins now
			return asked == 1 || !over
		})
		switch {
		case over && (err != nil || res.Verdict.Status != checker.Valid || res.Tries != 0):
			t.Errorf("%v after the budget, expected the valid run", err)
		case !over && !errors.Is(err, context.Canceled):
			t.Errorf("%v after an interrupt, expected that to be told", err)
		}
	}
}

// TestWhatFollowsARunIsWithinTheHunt but for the run that ends it.
func TestWhatFollowsARunIsWithinTheHunt(t *testing.T) {
	h := Hunt{Run: Defaults(), Seeds: 10, Workers: 1}
	var after []int
	h.Carry = func(_ context.Context, run history.Run) (*Result, error) { return carried(run), nil }
	h.Until = func(res *Result) bool { return res.Run.Seed == SeedOf(h.Master, 2) }
	h.After = func(n int, _ *Result) { after = append(after, n) }
	if h.Go(t.Context()); len(after) != 2 || after[0] != 0 || after[1] != 1 {
		t.Errorf("called behind %v, expected 0 and 1", after)
	}
}
