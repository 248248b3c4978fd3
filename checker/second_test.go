package checker

import (
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/checker/linear"
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

// TestSecondJudgeAlone checks that an objection where the log checker is silent makes a run invalid, and that a spent budget is never a pass.
func TestSecondJudgeAlone(t *testing.T) {
	p := history.Partition{Topic: "orders"}
	v := Verdict{Contract: ContractOf(testRun(1)), Porcupine: Second{Outcome: Objects, Where: []linear.Stretch{{Partition: p, Ops: []int64{1, 2}}}}}
	if f := v.secondFindings(); len(f) != 1 || f[0].Class != Nonlinearizable || f[0].Severity != Violation {
		t.Errorf("an objection alone: %+v", f)
	}
	v.Findings = []Finding{{Class: NotSettled, Severity: Violation, Partition: p}, {Class: LostWrite, Severity: Allowed, Partition: p}}
	if f := v.secondFindings(); len(f) != 1 {
		t.Errorf("an objection that nothing explains: %+v", f)
	}
	v.Findings = append(v.Findings, Finding{Class: LostWrite, Severity: Violation, Partition: p})
	if f := v.secondFindings(); len(f) != 0 {
		t.Errorf("an objection to a loss: %+v", f)
	}
	g := newGenerator(3, 600)
	h := g.generate()
	if v := Check(testRun(g.partitions), h, Options{PorcupineSteps: 20}); v.Status != Unknown || v.Porcupine.Outcome != OutOfBudget || v.Porcupine.Unknown == 0 ||
		!strings.Contains(v.Reason, "the first on orders/") {
		t.Errorf("%s (%s), %+v", v.Status, v.Reason, v.Porcupine)
	}
	if v := Check(testRun(g.partitions), h, Options{PorcupineSteps: 1_000_000}); v.Status != Valid || v.Porcupine.Outcome != Agrees {
		t.Errorf("%s (%s), %+v", v.Status, v.Reason, v.Porcupine)
	}
	run := testRun(g.partitions)
	run.Unclean = true
	if v := Check(run, h, Options{PorcupineSteps: 1_000_000}); v.Porcupine.Outcome != NotAsked {
		t.Errorf("asked about a contract that lets go what was read: %+v", v.Porcupine)
	}
}

// TestOneOperationOfJepsen checks that sends of one operation, which are all under way at the same time, are held to the order that it names them in.
func TestOneOperationOfJepsen(t *testing.T) {
	s := newStory(history.Run{Format: 1, Tool: "jepsen", Topic: "orders", Parts: 1, Acks: -1})
	for _, line := range []string{"p1 send a", "p1 send b", "p1: at 0"} {
		if err := s.tell(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.outcome(&s.h.Ops[0], "at 1"); err != nil {
		t.Fatal(err)
	}
	if err := s.tell("end of answers: b@0 a@1"); err != nil {
		t.Fatal(err)
	}
	v := Check(s.run, s.h, Options{})
	if len(v.Findings) != 1 || v.Findings[0].Class != NonmonotonicSend || v.Stats.Polls != 0 ||
		!strings.Contains(v.Findings[0].Text, "sent value b behind its a in one operation") {
		t.Fatalf("%+v, %d polls", v.Findings, v.Stats.Polls)
	}
}
