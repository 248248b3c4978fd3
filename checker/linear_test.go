package checker

import (
	"math/rand/v2"
	"testing"

	"tidemark/history"
)

// TestJudgesAgreeOnValidHistories lets porcupine judge valid histories, short and long: it must agree, within a small budget.
func TestJudgesAgreeOnValidHistories(t *testing.T) {
	for seed := range uint64(150) {
		steps := 60
		if seed%10 == 0 {
			steps = 6000
		}
		g := newGenerator(seed, steps)
		h := g.generate()
		j := judgeLinear(h, true, nil, 40*len(h.Ops))
		if j.second.Outcome != Agrees || j.second.Windows < g.partitions {
			t.Fatalf("seed %d: %+v %+v", seed, j.second, j.objects)
		}
	}
}

// TestJudgesAgreeOnPlantedAnomalies compares the judges on small histories with one anomaly each. The second one does not look inside an answer,
// nor into dumps, nor at settling; it must object to everything else.
func TestJudgesAgreeOnPlantedAnomalies(t *testing.T) {
	blind := map[Class]bool{NonmonotonicPoll: true, PollSkip: true, TwoValues: true, NotSettled: true}
	for _, pl := range planters {
		planted := 0
		for seed := range uint64(60) {
			h := newGenerator(seed, 200).generate()
			if !pl.plant(rand.New(rand.NewPCG(seed, 5)), h) {
				continue
			}
			planted++
			j := judgeLinear(h, true, nil, 1_000_000)
			want := Objects
			if blind[pl.class] {
				want = Agrees
			}
			if j.second.Outcome != want {
				t.Errorf("%s (%s), seed %d: porcupine %s", pl.class, pl.name, seed, j.second.Outcome)
				break
			}
		}
		if planted < 5 {
			t.Errorf("%s (%s): planted %d times", pl.class, pl.name, planted)
		}
	}
}

// TestSecondJudgeAcrossWindows puts a late write far before an early one: their windows do not touch.
func TestSecondJudgeAcrossWindows(t *testing.T) {
	for _, swap := range []bool{false, true} {
		p := history.Partition{Topic: "orders"}
		h := &history.History{}
		n := 10 * windowAppends
		for i := range n {
			h.Ops = append(h.Ops, history.Op{ID: int64(i), Kind: history.Send, Outcome: history.OK, Acks: -1, Partition: p, Value: "v" + itoa(int64(i)),
				Offset: history.Offset(i), InvokeIndex: int64(2 * i), ReturnIndex: int64(2*i + 1)})
		}
		want := Agrees
		if swap {
			h.Ops[5].Offset, h.Ops[n-5].Offset = h.Ops[n-5].Offset, h.Ops[5].Offset
			want = Objects
		}
		if j := judgeLinear(h, true, nil, 1_000_000); j.second.Outcome != want || j.second.Windows != 10 {
			t.Errorf("swapped %v: %+v", swap, j.second)
		}
	}
}

// TestSecondJudgeAlone checks that an objection where the log checker is silent makes a run invalid, and that a spent budget is never a pass.
func TestSecondJudgeAlone(t *testing.T) {
	j := judgement{second: Second{Outcome: Objects}, objects: []objection{{partition: history.Partition{Topic: "orders"}, operations: []int64{1, 2}}}}
	if f := linearFindings(j, nil); len(f) != 1 || f[0].Class != Nonlinearizable || f[0].Severity != Violation {
		t.Errorf("objection alone: %+v", f)
	}
	g := newGenerator(3, 600)
	h := g.generate()
	if v := Check(testRun(g.partitions), h, nil, Options{PorcupineSteps: 20}); v.Status != Unknown || v.Porcupine.Outcome != OutOfBudget || v.Porcupine.Unknown == 0 {
		t.Errorf("%s (%s), %+v", v.Status, v.Reason, v.Porcupine)
	}
	if v := Check(testRun(g.partitions), h, nil, Options{PorcupineSteps: 1_000_000}); v.Status != Valid || v.Porcupine.Outcome != Agrees {
		t.Errorf("%s (%s), %+v", v.Status, v.Reason, v.Porcupine)
	}
	run := testRun(g.partitions)
	run.Acks = 1
	if v := Check(run, h, nil, Options{PorcupineSteps: 1_000_000}); v.Porcupine.Outcome != NotAsked {
		t.Errorf("asked about a contract that allows loss: %+v", v.Porcupine)
	}
}
