package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/history"
)

// repeating is a generated history and its run, whose clients are of that kind.
func repeating(seed uint64, client string) (*history.History, history.Run) {
	g := newGenerator(seed, 600)
	g.writers, g.readers = 4, 2
	h := g.generate()
	run := testRun(g.partitions)
	run.Client, run.Writers, run.Readers = client, g.writers, g.readers
	return h, run
}

// TestARetryMayRepeatItsValue puts a second copy of an acknowledged write at the log's end. Its producer's kind decides: the copy is told
// and allowed, with both offsets, and neither judge objects; or nobody can have sent it twice.
func TestARetryMayRepeatItsValue(t *testing.T) {
	for _, tt := range []struct {
		client string
		sender func(client int32) bool
		want   Status
	}{
		{history.ClientFranz, func(int32) bool { return true }, Valid},
		{history.ClientBoth, func(p int32) bool { return p >= 2 }, Valid},
		{history.ClientBoth, func(p int32) bool { return p < 2 }, Invalid},
		{history.ClientRaw, func(int32) bool { return true }, Invalid},
	} {
		for seed := range uint64(40) {
			h, run := repeating(seed, tt.client)
			rng := rand.New(rand.NewPCG(seed, 9))
			op := pick(rng, h, func(op *history.Op) bool { return acked(op) && tt.sender(op.Process%int32(run.Writers+run.Readers+2)) })
			appendEnd(h, op.Partition, op.Value)
			v := Check(run, h, Options{PorcupineSteps: 1_000_000})
			if v.Status != tt.want || len(v.Findings) != 1 || v.Findings[0].Class != Duplicate {
				t.Fatalf("%s, seed %d: %s (%s) %+v", tt.client, seed, v.Status, v.Reason, v.Findings)
			}
			f := v.Findings[0]
			if second := fmt.Sprintf("it also stands at offset %d", op.Offset); f.Offset <= op.Offset || !strings.Contains(f.Text, second) {
				t.Fatalf("%s, seed %d: %s", tt.client, seed, f.Text)
			}
			if tt.want == Valid && !strings.Contains(f.Text, fmt.Sprintf("The acknowledgement is of the copy at offset %d.", op.Offset)) {
				t.Fatalf("%s, seed %d: %s", tt.client, seed, f.Text)
			}
			if tt.want == Valid && (v.Porcupine.Outcome != Agrees || f.Severity != Allowed || !strings.Contains(v.Reason, "at least once")) {
				t.Fatalf("%s, seed %d: %s: %s; the second judge %s", tt.client, seed, f.Severity, v.Reason, v.Porcupine.Outcome)
			}
		}
	}
}

// TestTheAcknowledgementIsOfOneCopy acknowledges a write where its last copy stands: that copy must be there, and keep its place.
func TestTheAcknowledgementIsOfOneCopy(t *testing.T) {
	for seed := range uint64(40) {
		h, run := repeating(seed, history.ClientFranz)
		rng := rand.New(rand.NewPCG(seed, 9))
		op := pick(rng, h, acked)
		appendEnd(h, op.Partition, op.Value)
		end := h.Dumps[slices.IndexFunc(h.Dumps, func(d history.Dump) bool { return d.Partition == op.Partition })].LEO - 1
		op.Offset = end // behind the marker, which was sent when the write had been acknowledged
		v := Check(run, h, Options{PorcupineSteps: 1_000_000})
		if v.Status != Invalid || v.Findings[0].Class != RealtimeOrder && v.Findings[0].Class != NonmonotonicSend || v.Porcupine.Outcome != Objects {
			t.Fatalf("seed %d: %s (%s) %+v; the second judge %s", seed, v.Status, v.Reason, v.Findings, v.Porcupine.Outcome)
		}
		op.Offset = end + 1 // where nothing is
		if v := Check(run, h, Options{}); v.Status != Invalid || v.Findings[0].Class != AckOffsetMismatch {
			t.Fatalf("seed %d: %s (%s) %+v", seed, v.Status, v.Reason, v.Findings)
		}
		run.Acks = 1 // one copy may be lost as any acknowledged write may
		for i := range h.Ops {
			if h.Ops[i].Kind == history.Send {
				h.Ops[i].Acks = 1
			}
		}
		if v := Check(run, h, Options{}); v.Status != Valid || len(v.Findings) != 2 {
			t.Fatalf("seed %d: %s (%s) %+v", seed, v.Status, v.Reason, v.Findings)
		}
	}
}

// TestACopyHidesNothing plants what is wrong under any contract beside a copy that is allowed: it is found as ever.
func TestACopyHidesNothing(t *testing.T) {
	replaced := planter{LostWrite, "replaced by a copy", func(rng *rand.Rand, h *history.History) bool {
		lost := pick(rng, h, acked)
		copied := pick(rng, h, func(op *history.Op) bool {
			return acked(op) && op.Partition == lost.Partition && op.Offset < lost.Offset
		})
		if copied == nil || poll(rng, h, 1) == nil {
			return false
		}
		rewriteEnd(h, lost.Partition, lost.Offset, copied.Value)
		return true
	}}
	for _, pl := range append([]planter{replaced}, planters...) {
		if pl.class == Duplicate || pl.name == "the log ends before it" { // which would take the copy
			continue
		}
		planted := 0
		for seed := range uint64(60) {
			h, run := repeating(seed, history.ClientFranz)
			rng := rand.New(rand.NewPCG(seed, 9))
			if pl.name != replaced.name {
				op := pick(rng, h, acked)
				appendEnd(h, op.Partition, op.Value)
			}
			if !pl.plant(rng, h) {
				continue
			}
			planted++
			v := Check(run, h, Options{})
			if v.Status == Invalid && pl.class == LostWrite && v.Findings[0].Class == AckOffsetMismatch {
				continue // the lost one was itself the one with a copy
			}
			if v.Status != Invalid || v.Findings[0].Class != pl.class {
				t.Fatalf("%s (%s), seed %d: %s (%s) %+v", pl.class, pl.name, seed, v.Status, v.Reason, v.Findings)
			}
		}
		if planted < 10 {
			t.Errorf("%s (%s): planted %d times", pl.class, pl.name, planted)
		}
	}
}

// TestACopyIsAChange: faults that retries hid from every outcome still did something if a value was sent again under them.
func TestACopyIsAChange(t *testing.T) {
	for _, late := range []bool{false, true} {
		h, run := repeating(5, history.ClientFranz)
		for i := range h.Ops { // no outcome, leader or ISR changes
			if op := &h.Ops[i]; op.Outcome == history.Pending || op.Outcome == history.Fail || op.Outcome == history.Info {
				op.Outcome, op.ReturnIndex = history.Info, h.Faults[0].Index-1
			}
		}
		h.Steps, h.States = h.Steps[:0], h.States[:0]
		if v := Check(run, h, Options{}); v.Status != Vacuous {
			t.Fatalf("%s (%s)", v.Status, v.Reason)
		}
		op := pick(rand.New(rand.NewPCG(1, 2)), h, func(op *history.Op) bool {
			return acked(op) && (op.ReturnIndex > h.Faults[0].Index) == late
		})
		appendEnd(h, op.Partition, op.Value)
		want := Vacuous
		if late {
			want = Valid
		}
		if v := Check(run, h, Options{}); v.Status != want {
			t.Errorf("late %t: %s (%s)", late, v.Status, v.Reason)
		}
	}
}
