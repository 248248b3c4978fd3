package checker

import (
	"strings"
	"testing"

	"tidemark/history"
)

// TestWitnessWords tells variants of one loss, and compares what the words say and leave out.
func TestWitnessWords(t *testing.T) {
	const rule = "so a second replica had to hold it before the acknowledgement."
	before := func(h *history.History) { // the election that deposes broker 1 comes before it appends p2-118
		h.Steps[9].Index, h.Steps[9].Time = 16, h.Steps[7].Time
		h.Steps[10].Index, h.Steps[10].Time = 17, h.Steps[7].Time
		steps := append([]history.Step{}, h.Steps[:7]...)
		steps = append(steps, h.Steps[9], h.Steps[10], h.Steps[7], h.Steps[8])
		h.Steps = append(steps, h.Steps[11:]...)
	}
	for _, tt := range []struct {
		name   string
		change func(*history.Run, *history.History)
		says   []string
		not    []string
	}{
		{"as it is", func(*history.Run, *history.History) {}, []string{"min.insync.replicas is 2, " + rule}, []string{"uncleanly", "already", "allows"}},
		{"three replicas had to hold it", func(r *history.Run, _ *history.History) { r.MinISR = 3 },
			[]string{"min.insync.replicas is 3, so 3 replicas had to hold it before the acknowledgement."}, nil},
		{"one was enough", func(r *history.Run, _ *history.History) { r.MinISR = 1 }, nil, []string{"had to hold it"}},
		{"acks=1 asks nobody else", func(r *history.Run, _ *history.History) { r.Acks = 1 },
			[]string{"The contract allows it: with acks=1 the leader answers before anyone else has the record"}, []string{"had to hold it"}},
		{"an unclean election", func(r *history.Run, h *history.History) {
			r.Unclean = true
			h.Steps[9].Detail = "broker fenced, " + history.UncleanElection
		}, []string{"Broker 2 was elected uncleanly, from outside ISR and ELR, at 14.100s in epoch 5", "The contract allows it: unclean leader election lets"}, nil},
		{"an unclean election, told after the leader knew", func(r *history.Run, h *history.History) {
			r.Unclean = true
			h.Steps[9].Detail = history.UncleanElection
			h.Steps[9].Index, h.Steps[10].Index = h.Steps[10].Index, h.Steps[9].Index
			h.Steps[9], h.Steps[10] = h.Steps[10], h.Steps[9]
		}, []string{"Broker 2 was elected uncleanly"}, nil},
		{"another election was unclean", func(_ *history.Run, h *history.History) { h.Steps[0].Detail = history.UncleanElection },
			[]string{"Broker 2 was elected at 14.100s"}, []string{"uncleanly"}},
		{"deposed before it acknowledged", func(_ *history.Run, h *history.History) { before(h) },
			[]string{"Broker 2 had already been elected at 12.300s in epoch 5 with its log ending at 1; broker 1 did not know yet. Value p2-118 was acknowledged at 12.345s"},
			[]string{"was elected"}},
		{"deposed, and told so, before the acknowledgement came through", func(_ *history.Run, h *history.History) {
			before(h)
			follow := history.Step{Index: 22, Kind: history.StepFollow, Partition: h.Steps[0].Partition, Broker: 1, Epoch: 5, Peer: 2, From: 1, To: 2}
			h.Steps = append(append(append([]history.Step{}, h.Steps[:10]...), follow), h.Steps[10:]...)
		}, []string{"had already been elected"}, []string{"did not know"}},
	} {
		run, h := testRun(1), lostByElection()
		tt.change(&run, h)
		v := Check(run, h, Options{})
		if len(v.Findings) != 1 {
			t.Errorf("%s: %d findings: %s", tt.name, len(v.Findings), v.Reason)
			continue
		}
		text := v.Findings[0].Told()
		for _, s := range tt.says {
			if !strings.Contains(text, s) {
				t.Errorf("%s: expected %q in\n%s", tt.name, s, text)
			}
		}
		for _, s := range tt.not {
			if strings.Contains(text, s) {
				t.Errorf("%s: expected no %q in\n%s", tt.name, s, text)
			}
		}
	}
}

// TestWitnessTellsFromTheElectionOn checks that the steps begin with the election where it came before the append, and that append and
// acknowledgement are among them.
func TestWitnessTellsFromTheElectionOn(t *testing.T) {
	h := lostByElection()
	h.Steps[9].Index, h.Steps[10].Index = 16, 17
	steps := append([]history.Step{}, h.Steps[:7]...)
	h.Steps = append(append(steps, h.Steps[9], h.Steps[10], h.Steps[7], h.Steps[8]), h.Steps[11:]...)
	var kinds []string
	for _, s := range Check(testRun(1), h, Options{}).Findings[0].Witness.Steps {
		kinds = append(kinds, string(s.Kind))
	}
	if got, want := strings.Join(kinds, " "), "isr election append acknowledged down start truncate"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAcksNoneReason checks that a valid run under acks=0 tells of its sends, as it has no acknowledgements.
func TestAcksNoneReason(t *testing.T) {
	g := newGenerator(3, 600)
	h, run := g.generate(), testRun(g.partitions)
	run.Acks = 0
	sends, found := int64(0), int64(0)
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.Kind != history.Send || op.Outcome == history.Fail || op.Marker {
			continue
		}
		op.Acks, op.Outcome, op.Offset = 0, history.Info, history.UnknownOffset
		sends++
		if inLog(h, op.Partition, op.Value) {
			found++
		}
	}
	v := Check(run, h, Options{})
	if v.Stats.Unknown < sends || v.Stats.UnknownInLog < found || found == 0 {
		t.Errorf("%d sends, %d of them found; expected %d and %d", v.Stats.Unknown, v.Stats.UnknownInLog, sends, found)
	}
	if v.Status != Valid || !strings.Contains(v.Reason, "sends under acks=0") || strings.Contains(v.Reason, "acknowledged writes") {
		t.Errorf("%s: %s", v.Status, v.Reason)
	}
}

// TestSecondJudgeSentence checks that each of its outcomes is told, and why it was not asked.
func TestSecondJudgeSentence(t *testing.T) {
	durable := ContractOf(testRun(1))
	objects := []Finding{{Class: Nonlinearizable, Severity: Violation}}
	for _, tt := range []struct {
		v    Verdict
		says string
	}{
		{Verdict{Status: Valid, Contract: durable, Porcupine: Second{Outcome: Agrees, Windows: 4}}, "confirms"},
		{Verdict{Status: Invalid, Contract: durable, Porcupine: Second{Outcome: Agrees, Windows: 4}}, "adds nothing"},
		{Verdict{Status: Unknown, Contract: durable, Porcupine: Second{Outcome: Agrees, Windows: 4}}, "what there is of the history linearizable, in each of its 4"},
		{Verdict{Status: Unknown, Contract: durable, Porcupine: Second{Outcome: Agrees}}, "had nothing to judge"},
		{Verdict{Status: Valid, Contract: durable, Porcupine: Second{Outcome: Agrees, Windows: 1}}, "confirms it: the history is linearizable, in its one window"},
		{Verdict{Status: Vacuous, Contract: durable, Porcupine: Second{Outcome: Agrees, Windows: 4}}, "what there is of the history linearizable, in each of its 4"},
		{Verdict{Status: Vacuous, Contract: durable, Porcupine: Second{Outcome: Agrees}}, "had nothing to judge"},
		{Verdict{Status: Invalid, Contract: durable, Porcupine: Second{Outcome: Agrees}}, "had nothing to judge"},
		{Verdict{Status: "", Contract: durable, Porcupine: Second{Outcome: Agrees, Windows: 4}}, "what there is of the history linearizable"},
		{Verdict{Status: Invalid, Contract: durable, Porcupine: Second{Outcome: Objects, Windows: 4}}, "confirms"},
		{Verdict{Status: Invalid, Contract: durable, Findings: objects, Porcupine: Second{Outcome: Objects, Windows: 4}}, "alone objects"},
		{Verdict{Status: Unknown, Contract: durable, Porcupine: Second{Outcome: OutOfBudget, Windows: 4, Unknown: 3, Budget: "9 model steps"}}, "3 of 4 windows"},
		{Verdict{Status: Valid, Contract: durable, Porcupine: Second{Outcome: NotAsked}}, "was not asked: it was given no budget"},
		{Verdict{Status: Valid, Porcupine: Second{Outcome: NotAsked}}, "was not asked: linearizability is promised only where"},
	} {
		if got := tt.v.SecondJudge(); !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q, expected %q in it", tt.v.Porcupine.Outcome, got, tt.says)
		}
	}
}
