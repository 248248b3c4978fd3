package checker

import (
	"slices"
	"strings"
	"testing"

	"tidemark/history"
)

// TestBrokenInvariants checks that a history's broken invariants are findings, one a partition.
func TestBrokenInvariants(t *testing.T) {
	p := history.Partition{Topic: "orders", Index: 1}
	broken := []Broken{
		{Name: LeaderCompleteness, Time: 5, Detail: "the log of broker 3 ends: at 10", Partition: p, Offset: 10},
		{Name: StrongIsr, Time: 7, Detail: "broker 2", Partition: p, Offset: 9},
		{Name: LogMatching, Time: 9, Detail: "broker 1", Partition: history.Partition{Topic: "orders"}, Offset: 4},
	}
	g := newGenerator(1, 600)
	h := g.generate()
	for i := range broken {
		h.Steps = append(h.Steps, broken[i].Step())
	}
	v := Check(testRun(g.partitions), h, Options{})
	if v.Status != Invalid || len(v.Findings) != 2 || v.Findings[0].Invariant != LeaderCompleteness || v.Findings[0].Value != "" || v.Findings[0].Witness.Value != "" || v.Findings[0].Count != 2 {
		t.Fatalf("%s, %+v", v.Status, v.Findings)
	}
	if got := v.Findings[0].Text; !strings.Contains(got, "The log of broker 3 ends: at 10. Then StrongIsr at") {
		t.Fatalf("the finding says %q", got)
	}
}

// TestVacuous checks each way in which a run means nothing.
func TestVacuous(t *testing.T) {
	history1 := func(steps int) (*history.History, history.Run) {
		g := newGenerator(3, steps)
		return g.generate(), testRun(g.partitions)
	}
	noFaults := func(h *history.History) {
		h.Faults = nil
	}
	tests := []struct {
		name   string
		steps  int
		change func(*history.History, *history.Run)
		want   Status
	}{
		{"as it is", 600, func(*history.History, *history.Run) {}, Valid},
		{"too few operations", 60, func(*history.History, *history.Run) {}, Vacuous},
		{"a plan whose faults nobody saw", 600, func(h *history.History, _ *history.Run) { noFaults(h) }, Vacuous},
		{"no plan", 600, func(h *history.History, r *history.Run) { noFaults(h); r.Plan = "# nothing\n\n" }, Valid},
		{"an applied fault that no probe saw", 600, func(h *history.History, _ *history.Run) {
			h.Faults = slices.DeleteFunc(h.Faults, func(e history.FaultEvent) bool { return e.Phase == history.FaultObserved })
		}, Vacuous},
		{"a fault that came too late to change anything", 600, func(h *history.History, _ *history.Run) {
			for i := range h.Faults {
				h.Faults[i].Index += 1 << 40
			}
			for i := range h.Ops {
				if h.Ops[i].Outcome == history.Pending {
					h.Ops[i].Outcome, h.Ops[i].ReturnIndex = history.Info, 1<<39
				}
			}
		}, Vacuous},
		{"nothing read", 600, func(h *history.History, _ *history.Run) {
			for i := range h.Ops {
				if h.Ops[i].Kind == history.Poll && !h.Ops[i].Final {
					h.Ops[i].Records, h.Ops[i].Position = nil, 0
				}
			}
		}, Valid}, // the final reads read
	}
	for _, tt := range tests {
		h, run := history1(tt.steps)
		tt.change(h, &run)
		if v := Check(run, h, Options{}); v.Status != tt.want {
			t.Errorf("%s: %s (%s)", tt.name, v.Status, v.Reason)
		}
	}
}

// TestNoEvidence checks that what could not be read is neither lost nor right.
func TestNoEvidence(t *testing.T) {
	unread := func(h *history.History, finals, dumps bool) {
		for i := range h.Ops {
			if h.Ops[i].Final && finals {
				h.Ops[i].Outcome, h.Ops[i].Records = history.Info, nil
			}
		}
		for i := range h.Dumps {
			if dumps {
				h.Dumps[i].Err, h.Dumps[i].Records = "permission denied", nil
			}
		}
	}
	for _, tt := range []struct {
		name          string
		finals, dumps bool
		want          Status
	}{
		{"no final read, no dump", true, true, Unknown},
		{"no dump", false, true, Valid},
		{"no final read", true, false, Valid},
	} {
		g := newGenerator(5, 600)
		h := g.generate()
		for i := range h.Dumps { // without a final read the replicas' own high watermarks bound what is committed
			h.Dumps[i].HW = h.Dumps[i].LEO
		}
		unread(h, tt.finals, tt.dumps)
		v := Check(testRun(g.partitions), h, Options{})
		judged := slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Severity != Info })
		if v.Status != tt.want || judged {
			t.Errorf("%s: %s (%s) %+v", tt.name, v.Status, v.Reason, v.Findings)
		}
	}
}

// TestSeverityTable tests every cell of contract × anomaly.
func TestSeverityTable(t *testing.T) {
	contracts := Contracts()
	// columns: all, min ISR 1, classic, acks=1, acks=0, unclean, beyond, min ISR 4, retrying, retrying with acks=1, retrying but idempotent,
	// the same where old records are removed, reads bounded, reads bounded beyond the budget; v is a violation, - allowed, i information
	table := map[Class]string{
		LostWrite:         "vvv-----v-vvv-",
		TwoValues:         "vvv-----v-vvv-",
		Duplicate:         "vvvvvvvv--v-vv",
		Phantom:           "vvvvvvvvvvvvvv",
		Corrupted:         "vvvvvvvvvvvvvv",
		AbortedRead:       "vvvvvvvvvvvvvv",
		RealtimeOrder:     "vvvvvv-vvvvvv-",
		NonmonotonicSend:  "vvvvvv-vvvvvv-",
		UncommittedRead:   "vvvvv--vvvvvv-",
		NonmonotonicPoll:  "vvvvvvvvvvvvvv",
		PollSkip:          "vvvvvvvvvvvvvv",
		SeenBySome:        "vvvvv--vvvvvv-",
		StaleRead:         "iiiiiiiiiiiivi",
		HWBack:            "vvvvvv-vvvvvv-",
		ListOffsetsBack:   "vvvvv--vvvvvv-",
		AckOffsetMismatch: "vvvvvvvvv-vvvv",
		AckWithoutOffset:  "iiiiiiiiiiiiii",
		Trimmed:           "iiiiiiiiiiiiii",
		Unseen:            "iiiiiiiiiiiiii",
		NotSettled:        "vvvvvv--vvvvv-",
		BrokerNotBack:     "vvvvvvvvvvvvvv",
		ReplicasDiffer:    "vvvvvvvvvvvvvv",
		BrokerExited:      "vvvvvvvvvvvvvv",
		InvariantBroken:   "vvvvvvvvvvvvvv",
		Nonlinearizable:   "vvvvvvvvvvvvvv",
	}
	if len(table) != len(Classes) {
		t.Errorf("the table has %d classes, expected %d", len(table), len(Classes))
	}
	word := map[byte]Severity{'v': Violation, '-': Allowed, 'i': Info}
	for class, row := range table {
		for i, c := range contracts {
			if got := c.Contract.Severity(class); got != word[row[i]] {
				t.Errorf("%s under %s: %s, expected %s", class, c.Name, got, word[row[i]])
			}
		}
	}
	for i, c := range contracts {
		if c.Contract.Because == "" || c.Contract.ExactlyOnce != (c.Contract.Idempotent && !c.Contract.Removes) {
			t.Errorf("contract %d: %+v", i, c)
		}
	}
}

// TestABaselineIsNamed: a run without faults is valid as a baseline, and its verdict says so; of a history that another harness recorded nobody knows what else
// was done.
func TestABaselineIsNamed(t *testing.T) {
	for _, c := range []struct {
		world, plan string
		named       bool
	}{{"sim", "# nothing\n", true}, {"docker", "", true}, {"", "", false}} {
		g := newGenerator(1, 600)
		h, run := g.generate(), testRun(g.partitions)
		h.Faults, run.World, run.Plan = nil, c.world, c.plan
		v := Check(run, h, Options{})
		if v.Status != Valid || strings.HasPrefix(v.Reason, "A baseline, without faults") != c.named {
			t.Errorf("world %q, plan %q: %s: %s; expected it to be named a baseline: %v", c.world, c.plan, v.Status, v.Reason, c.named)
		}
	}
}
