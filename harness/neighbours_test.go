package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/nemesis"
)

// TestNeighbours looks at what a run's neighbours differ in: the seed, by how much each line is late, how long brokers take to start; in nothing else.
func TestNeighbours(t *testing.T) {
	run, err := ScenarioRun([]string{"seed=3", "duration=20s"}, `
at 2s                                  kill leader(orders/0) for 6s
after 1 elections on orders/0 plus 1s  pause follower(orders/0) for 3s
at 9s                                  stop broker 2
`)
	if err != nil {
		t.Fatal(err)
	}
	was := planOf(run).Lines
	var seeds []uint64
	for n := range 50 {
		next := neighbour(run, n)
		if again := neighbour(run, n); again.Plan != next.Plan || again.Seed != next.Seed {
			t.Fatalf("neighbour %d is two runs: %+v and %+v", n, next, again)
		}
		lines := planOf(next).Lines
		seeds = append(seeds, next.Seed)
		within := func(what string, got, from, span time.Duration) {
			if got < from || got >= from+span {
				t.Errorf("neighbour %d: %s is %v, expected %v or up to %v more:\n%s", n, what, got, from, span, next.Plan)
			}
		}
		within("the kill", lines[0].Trigger.At, was[0].Trigger.At, lateMax)
		within("the kill's length", lines[0].For, was[0].For, startMax)
		within("the pause after the election", lines[1].Trigger.Plus, was[1].Trigger.Plus, lateMax)
		within("the pause's length", lines[1].For, was[1].For, 1)
		within("the stop", lines[2].Trigger.At, was[2].Trigger.At, lateMax)
		within("the stop's length", lines[2].For, 0, 1)
		for i := range lines {
			lines[i].Trigger.At, lines[i].Trigger.Plus, lines[i].For = was[i].Trigger.At, was[i].Trigger.Plus, was[i].For
		}
		next.Seed, next.Plan = run.Seed, nemesis.Plan{Lines: lines}.String()
		if identity(next) != identity(run) {
			t.Errorf("neighbour %d differs in more: %+v", n, next)
		}
	}
	slices.Sort(seeds)
	if len(slices.Compact(seeds)) != 50 {
		t.Error("two neighbours have the same seed")
	}
}

// TestCertain looks at what is proposed so that a failure is due to the plan: a line names whom it struck, and one more line keeps a broker that had
// the record from another that lost it, over the acknowledgement or the loss.
func TestCertain(t *testing.T) {
	run, err := ScenarioRun([]string{"seed=3", "duration=20s", "faults=kill,drop"}, `
at 8s  kill follower(orders/0) for 6s
at 9s  kill broker 1
`)
	if err != nil {
		t.Fatal(err)
	}
	lost := checker.Finding{Class: checker.LostWrite, Severity: checker.Violation, Witness: checker.Witness{
		Acked: int64(8 * time.Second), HeldBy: []history.BrokerID{1, 3}, RemovedBy: []checker.Removal{{Broker: 3, Time: int64(12 * time.Second)}},
		Faults: []checker.InForce{{Number: 1, Brokers: []history.BrokerID{2}}, {Number: 2, Brokers: []history.BrokerID{1}}, {Number: 7, Brokers: []history.BrokerID{3}}},
	}}
	allowed := checker.Finding{Class: checker.UncommittedRead, Severity: checker.Allowed, Witness: checker.Witness{Acked: 1}}
	var told []string
	for _, other := range certain(run, checker.Verdict{Findings: []checker.Finding{allowed, lost}}) {
		var more []string
		for _, l := range planOf(other).Lines {
			if line := (nemesis.Plan{Lines: []nemesis.Line{l}}).String(); !strings.Contains(planText(run), strings.TrimSpace(line)) {
				more = append(more, strings.Join(strings.Fields(line), " "))
			}
		}
		told = append(told, fmt.Sprintf("%d lines: %s", Lines(other), strings.Join(more, "; ")))
	}
	expected := []string{
		"2 lines: at 8s kill broker 2 for 6s",
		"3 lines: at 6s drop fetch responses 1 -> 3 for 5s", "3 lines: at 6s drop fetch requests 1 -> 3 for 5s",
		"3 lines: at 6s drop fetch responses 3 -> 1 for 5s", "3 lines: at 6s drop fetch requests 3 -> 1 for 5s",
		"3 lines: at 10s drop fetch responses 1 -> 3 for 5s", "3 lines: at 10s drop fetch requests 1 -> 3 for 5s",
		"3 lines: at 10s drop fetch responses 3 -> 1 for 5s", "3 lines: at 10s drop fetch requests 3 -> 1 for 5s",
	}
	if !slices.Equal(told, expected) {
		t.Errorf("proposed\n%s\nexpected\n%s", strings.Join(told, "\n"), strings.Join(expected, "\n"))
	}
	if got := certain(run, checker.Verdict{Findings: []checker.Finding{allowed}}); got != nil {
		t.Errorf("%d proposals for a run that breaks nothing, expected none", len(got))
	}
}

// TestShrinkStaysFirm shrinks a run whose bug shows by luck, and looks at its neighbours: no fewer of what is left fail alike, and as many as the
// state says, whatever the number of workers.
func TestShrinkStaysFirm(t *testing.T) {
	const of = 4
	run := failing(t)
	res, err := Simulate(t.Context(), run, Watch{Blind: true})
	if err != nil {
		t.Fatal(err)
	}
	before := AlikeNeighbours(t.Context(), res, of, 2)
	var left []ShrinkState
	for workers := 1; workers <= 2; workers++ {
		state, res, err := Shrink{Run: run, Blind: true, Workers: workers, Neighbours: of}.Go(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if alike := AlikeNeighbours(t.Context(), res, of, 2); alike != state.Alike || alike < before {
			t.Errorf("%d of %d neighbours of what is left fail alike, expected %d, which is no less than %d:\n%s", alike, of, state.Alike, before, state.Best.Plan)
		}
		left = append(left, state)
	}
	if left[0].Best.Plan != left[1].Best.Plan || left[0].Best.Seed != left[1].Best.Seed || left[0].Alike != left[1].Alike {
		t.Errorf("one worker left\n%s, two\n%s", left[0].Best.Plan, left[1].Best.Plan)
	}
}
