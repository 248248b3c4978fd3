package harness

import (
	"slices"
	"testing"

	"tidemark/nemesis"
	"tidemark/world"
)

// TestKindsComeInTurn draws ten runs in containers of a few worlds: each kind of fault is in the plans of at least three of them, and no two kinds are
// always in the same ones.
func TestKindsComeInTurn(t *testing.T) {
	for _, target := range []string{"", "apache-kafka:4.1.0", "apache-kafka:0.10.2.2"} {
		h := Hunt{Run: Defaults(), Master: master(t), Seeds: 10}
		h.Run.World, h.Run.Target = Contained, target
		in := map[world.Ability]int{}
		for n := range h.Seeds {
			run, err := h.draw(n)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := nemesis.Parse(run.Plan)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range plan.Needs() {
				in[a]++
			}
			if again, err := h.draw(n); err != nil || again.Plan != run.Plan {
				t.Errorf("run %d drew\n%s\nand then\n%s (%v)", n, run.Plan, again.Plan, err)
			}
		}
		run, err := h.draw(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range Space(run).Useful() {
			if in[a] < 3 {
				t.Errorf("target %q: %d of 10 plans have %s, expected 3", target, in[a], a)
			}
		}
	}
	for size := range len(simAbilities) {
		kinds, due := simAbilities[:size], map[world.Ability]int{}
		for n := range 10 {
			turn := inTurn(kinds, n)
			if len(turn) != (size+1)/2 {
				t.Fatalf("%d of %d kinds in one run, expected half", len(turn), size)
			}
			for _, a := range turn {
				due[a]++
			}
		}
		for _, a := range kinds {
			if due[a] < 3 {
				t.Errorf("of %d kinds, %s is due in %d of 10 runs, expected 3", size, a, due[a])
			}
		}
	}
	if a, b := inTurn(simAbilities[:12], 0), inTurn(simAbilities[:12], 1); slices.Equal(a, b) || !slices.Contains(b, a[len(a)-1]) {
		t.Errorf("%v, then %v: expected another half, which begins with the last one's end", a, b)
	}
}
