package checker

import (
	"math/rand/v2"
	"testing"

	"tidemark/history"
)

// ask is what the second judge says under the contract of a run.
func ask(run history.Run, h *history.History, steps int) Second {
	return askSecond(&newLogCheck(run, h, ContractOf(run)).premises, steps)
}

// TestJudgesAgreeOnValidHistories lets porcupine judge valid histories, short and long: it must agree, within a small budget.
func TestJudgesAgreeOnValidHistories(t *testing.T) {
	for seed := range uint64(150) {
		steps := 60
		if seed%10 == 0 {
			steps = 6000
		}
		g := newGenerator(seed, steps)
		h := g.generate()
		if s := ask(testRun(g.partitions), h, 40*len(h.Ops)); s.Outcome != Agrees || s.Windows < g.partitions {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
}

// TestJudgesAgreeOnPlantedAnomalies compares the judges on small histories with one anomaly each, made by changing a valid one. The second one
// sees neither dumps nor settling; it must object to everything else.
func TestJudgesAgreeOnPlantedAnomalies(t *testing.T) {
	blind := map[Class]bool{TwoValues: true, NotSettled: true}
	for _, pl := range planters {
		planted := 0
		for seed := range uint64(60) {
			g := newGenerator(seed, 200)
			h := g.generate()
			if !pl.plant(rand.New(rand.NewPCG(seed, 5)), h) {
				continue
			}
			planted++
			want := Objects
			if blind[pl.class] {
				want = Agrees
			}
			if s := ask(testRun(g.partitions), h, 1_000_000); s.Outcome != want {
				t.Errorf("%s (%s), seed %d: porcupine %s", pl.class, pl.name, seed, s.Outcome)
				break
			}
		}
		if planted < 5 {
			t.Errorf("%s (%s): planted %d times", pl.class, pl.name, planted)
		}
	}
}
