package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/history"
)

// TestPasses tells what each way of shrinking proposes: a pass's name, options and a plan go in, a line a proposal comes out, with what of it
// differs from the run that went in.
func TestPasses(t *testing.T) {
	datadriven.RunTest(t, "testdata/shrink.txt", func(t *testing.T, d *datadriven.TestData) string {
		var options []string
		for _, arg := range d.CmdArgs {
			options = append(options, arg.Key+"="+strings.Join(arg.Vals, ","))
		}
		run, err := ScenarioRun(options, d.Input)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(passes, func(p pass) bool { return strings.ReplaceAll(p.name, " ", "-") == d.Cmd })
		if i < 0 {
			t.Fatalf("no pass is called %q", d.Cmd)
		}
		var out strings.Builder
		for _, less := range passes[i].smaller(run) {
			less, err := Expand(less, planText(less))
			if err != nil {
				fmt.Fprintf(&out, "left out: %v\n", err)
				continue
			}
			fmt.Fprintln(&out, difference(run, less))
		}
		return out.String()
	})
}

// difference tells a proposal: the options that it has and the run had not, and those that it dropped, then its plan if that differs.
func difference(run, less history.Run) string {
	var out []string
	had, has := ScenarioOptions(run), ScenarioOptions(less)
	for _, o := range has {
		if !slices.Contains(had, o) {
			out = append(out, o)
		}
	}
	for _, o := range had {
		name, _, _ := strings.Cut(o, "=")
		if !slices.ContainsFunc(has, func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			out = append(out, "no "+name)
		}
	}
	if less.Plan != run.Plan {
		lines := []string{}
		for _, l := range planOf(less).Lines {
			lines = append(lines, l.String())
		}
		out = append(out, "["+strings.Join(lines, " ; ")+"]")
	}
	return strings.Join(out, " ")
}

// failing is a small run that a leader which acknowledges too early breaks, with more in it than that takes: of the first seed that does.
func failing(t *testing.T) history.Run {
	t.Helper()
	const plan = `
at 1s    pause follower(orders/1)  for 500ms
at 1.5s  pause leader(orders/0)    for 4s
at 2s    clock random at 1.01      for 3s
at 3.5s  elect follower(orders/1) on orders/1
`
	for seed := range 50 {
		run, err := ScenarioRun([]string{fmt.Sprintf("seed=%d", seed), "bug=ack-before-replication", "duration=8s", "partitions=2", "rate=60"}, plan)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Simulate(t.Context(), run, Watch{Blind: true})
		if err != nil {
			t.Fatal(err)
		}
		if Signature(res.Verdict) != "" {
			return run
		}
	}
	t.Fatal("no seed shows the bug")
	return history.Run{}
}

// TestShrinkLeavesWhatFails shrinks with one and with two workers: the same run is left, it fails with the signature, no line of it can be
// missed, and with the bug off it is valid.
func TestShrinkLeavesWhatFails(t *testing.T) {
	var left []ShrinkState
	for workers := 1; workers <= 2; workers++ {
		state, res, err := Shrink{Run: failing(t), Blind: true, Workers: workers}.Go(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !state.Done || Signature(res.Verdict) != state.Signature || identity(res.Run) != identity(state.Best) || res.Run.Seed != state.Best.Seed {
			t.Fatalf("%+v with a result of %q", state, Signature(res.Verdict))
		}
		left = append(left, state)
	}
	best := left[0].Best
	if left[1].Best.Plan != best.Plan || identity(left[1].Best) != identity(best) || left[1].Best.Seed != best.Seed {
		t.Errorf("one worker left\n%+v\ntwo left\n%+v", best, left[1].Best)
	}
	if Lines(best) != 1 || best.Parts != 1 {
		t.Errorf("%d lines and %d partitions are left, expected one of each:\n%s", Lines(best), best.Parts, best.Plan)
	}
	told, err := Tell(t.Context(), best)
	if want := "invalid: " + left[0].Signature + "\nwithout the bug: valid\n"; err != nil || told != want {
		t.Errorf("what is left tells %q, %v, expected %q", told, err, want)
	}
	for _, less := range eachLineLess(best) {
		if less, err := Expand(less, planText(less)); err == nil {
			if told, _ := Tell(t.Context(), less); strings.HasPrefix(told, "invalid: "+left[0].Signature) {
				t.Errorf("a line can be missed:\n%s", best.Plan)
			}
		}
	}
}

// TestShrinkingGoesOn interrupts a shrinking after every step forward and lets another go on from the state that it saved: together they
// leave what one alone does.
func TestShrinkingGoesOn(t *testing.T) {
	whole, _, err := Shrink{Run: failing(t), Blind: true, Workers: 2}.Go(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var saved *ShrinkState
	sittings := 0
	for ; saved == nil || !saved.Done; sittings++ {
		if sittings > 100 {
			t.Fatal("it does not come to an end")
		}
		ctx, stop := context.WithCancel(t.Context())
		s := Shrink{Run: failing(t), Blind: true, Workers: 2, Begin: saved}
		s.Save = func(state ShrinkState) error { saved = &state; return nil }
		s.Told = func(string, history.Run) { stop() }
		if _, _, err := s.Go(ctx); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		stop()
	}
	if sittings < 3 {
		t.Fatalf("%d sittings, expected some", sittings)
	}
	if Lines(saved.Best) != Lines(whole.Best) || saved.Signature != whole.Signature {
		t.Errorf("in %d sittings it came to\n%s%s\nin one to\n%s%s", sittings, saved.Best.Plan, saved.Signature, whole.Best.Plan, whole.Signature)
	}
}

// TestShrinkRefuses what does not fail, what fails without its bug too, and states that are another run's.
func TestShrinkRefuses(t *testing.T) {
	valid, err := ScenarioRun([]string{"seed=5", "duration=5s"}, "at 1s kill leader(orders/0) for 1s")
	if err != nil {
		t.Fatal(err)
	}
	contained := failing(t)
	contained.World = Contained
	other := &ShrinkState{Format: shrinkFormat, Signature: "phantom", Best: failing(t)}
	for word, s := range map[string]Shrink{
		"expected an invalid one": {Run: valid}, "expected sim": {Run: contained}, `that is to go on had "phantom"`: {Run: failing(t), Begin: other},
	} {
		s.Budget = time.Minute
		if _, _, err := s.Go(t.Context()); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, expected an error with %q", err, word)
		}
	}
}

// TestIdleLinesGoFirst proposes to leave out at once what never took effect, then what never struck: a hold that met no message, a kill that was refused.
func TestIdleLinesGoFirst(t *testing.T) {
	run := history.Run{Plan: "at 1s kill leader(orders/0)\nat 2s hold fetch requests 1 -> 2 for 1s\nat 3s kill controller\n"}
	h := &history.History{Faults: []history.FaultEvent{
		{Fault: 0, Phase: history.FaultApplied}, {Fault: 0, Phase: history.FaultObserved}, {Fault: 1, Phase: history.FaultApplied}, {Fault: 2, Phase: history.FaultRefused},
	}}
	var kept []int
	for _, smaller := range fewerIdle(run, h) {
		kept = append(kept, Lines(smaller))
	}
	if !slices.Equal(kept, []int{1, 2}) {
		t.Errorf("proposals of %v lines, expected 1, then 2", kept)
	}
	h.Faults = append(h.Faults, history.FaultEvent{Fault: 1, Phase: history.FaultObserved}, history.FaultEvent{Fault: 2, Phase: history.FaultApplied}, history.FaultEvent{Fault: 2, Phase: history.FaultObserved})
	if more := fewerIdle(run, h); len(more) != 0 {
		t.Errorf("%d proposals where every line took effect, expected none", len(more))
	}
}
