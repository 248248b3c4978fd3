package checker

import (
	"strings"
	"testing"
	"time"

	"tidemark/history"
)

// plot adds a fault's life to a history: when it was requested, applied, observed and undone, in seconds; a negative time is a phase it never reached.
func plot(h *history.History, n int, kind, line string, on []history.BrokerID, requested, applied, observed, undone float64) {
	for phase, at := range map[history.FaultPhase]float64{
		history.FaultRequested: requested, history.FaultApplied: applied, history.FaultObserved: observed, history.FaultUndone: undone,
	} {
		if at >= 0 {
			h.Faults = append(h.Faults, history.FaultEvent{Index: int64(at*10) + 1, Fault: n, Kind: kind, Line: line, Targets: on, Phase: phase,
				Time: time.Duration(at * float64(time.Second))})
		}
	}
}

// TestFaultsInForce tells which faults a witness names: those in force when the record was acknowledged at 12.345s, and those at the election and the
// cut that took it away, each once and with its number; not one that was over, one that began behind the loss, or one that no probe saw.
func TestFaultsInForce(t *testing.T) {
	one, two := []history.BrokerID{1}, []history.BrokerID{2}
	for _, c := range []struct {
		name string
		plot func(*history.History)
		want string
	}{
		{"none", func(*history.History) {}, ""},
		{"a cut when it was acknowledged", func(h *history.History) {
			plot(h, 0, "partition", "at 3s partition leader(orders/0) | rest for 5s", one, 12.3, 12.3, 12.31, 17.3)
		}, " In force when it was acknowledged: fault #1, partition leader(orders/0) | rest (broker 1), from 12.300s to 17.300s."},
		{"behind an event, and never undone", func(h *history.History) {
			plot(h, 6, "pause", "after 1 elections on orders/0 since 4.91s plus 281ms pause broker 2", two, 12, 12, 12.1, -1)
		}, " In force when it was acknowledged: fault #7, pause broker 2 (broker 2), from 12.000s, never undone."},
		{"a kill on the way to its loss", func(h *history.History) {
			plot(h, 1, "kill", "at 4s kill broker 1 for 3s", one, 13, 13, 13.1, 16)
		}, " In force on the way to its loss: fault #2, kill broker 1 (broker 1), from 13.000s to 16.000s."},
		{"an election that was asked for, from its step on", func(h *history.History) {
			plot(h, 2, "elect", "at 5s elect follower(orders/0) on orders/0", two, 14, 14.15, 14.15, 14.15)
		}, " In force on the way to its loss: fault #3, elect follower(orders/0) on orders/0 (broker 2), at 14.100s."},
		{"brokers that end one after the other, the last behind the acknowledgement", func(h *history.History) {
			plot(h, 0, "poweroff", "at 500ms poweroff isr(orders/0)", one, 2.367, 12.9, 12.9, 14.1)
		}, " In force when it was acknowledged: fault #1, poweroff isr(orders/0) (broker 1), from 2.367s to 14.100s, applied whole at 12.900s."},
		{"an election that was done before it was acknowledged", func(h *history.History) {
			plot(h, 2, "elect", "at 5s elect follower(orders/0) on orders/0", two, 4, 12.3441, 12.3441, 12.3441)
		}, " In force while its producer waited: fault #3, elect follower(orders/0) on orders/0 (broker 2), at 12.344s."},
		{"an election that was requested before it was sent", func(h *history.History) {
			plot(h, 2, "elect", "at 5s elect follower(orders/0) on orders/0", two, 4, 11, 11, 11)
		}, ""},
		{"what waits for a message, before it met one", func(h *history.History) {
			plot(h, 2, "hold", "at 5s hold fetch responses 1 -> 2 for 9s", two, 12, 12, 14.1, 16)
		}, " In force on the way to its loss: fault #3, hold fetch responses 1 -> 2 (broker 2), from 14.100s to 16.000s."},
		{"more than are named", func(h *history.History) {
			for n := range 5 {
				plot(h, n, "partition", "at 3s partition ring for 5s", nil, 12, 12, 12, 13)
			}
		}, " In force when it was acknowledged: fault #1, partition ring, from 12.000s to 13.000s; fault #2, partition ring, from 12.000s to 13.000s; fault #3, partition ring, from 12.000s to 13.000s; and 2 more."},
		{"nothing that matters", func(h *history.History) {
			plot(h, 0, "kill", "at 1s kill broker 3 for 3s", nil, 5, 5, 5, 12)
			plot(h, 1, "kill", "at 1s kill broker 3 for 3s", nil, 16.5, 16.5, 16.5, 18)
			plot(h, 2, "kill", "at 1s kill broker 3 for 3s", nil, 12, 12, -1, 18)
			plot(h, 3, "kill", "at 1s kill broker 3 for 3s", nil, 12, 12, 12, 18)
			h.Faults = append(h.Faults, history.FaultEvent{Fault: 3, Phase: history.FaultFailed, Kind: "kill", Time: 13 * time.Second})
		}, ""},
	} {
		h := lostByElection()
		c.plot(h)
		v := Check(testRun(1), h, Options{})
		if len(v.Findings) != 1 {
			t.Fatalf("%s: %d findings, expected 1", c.name, len(v.Findings))
		}
		_, got, told := strings.Cut(v.Findings[0].Text, "At the end offset 1 holds p1-203.")
		if !told || got != c.want {
			t.Errorf("%s: got\n%s\nexpected\n%s", c.name, got, c.want)
		}
	}
}

// TestFaultsInForceOfOtherFindings: of a finding without a record that was lost, the faults count that were in force while its answer was under
// way, or, without operations, at its first step.
func TestFaultsInForceOfOtherFindings(t *testing.T) {
	h := &history.History{
		Ops: []history.Op{
			{ID: 0, Kind: history.Send, Invoke: time.Second, Return: 2 * time.Second, Value: "a"},
			{ID: 1, Kind: history.Poll, Invoke: 5 * time.Second, Return: 6 * time.Second},
			{ID: 2, Kind: history.Poll, Final: true, Invoke: 9 * time.Second, Return: 9 * time.Second},
		},
	}
	plot(h, 0, "loss", "at 1s loss 1 -> 2 30% for 1s", nil, 1, 1, 1, 2)
	plot(h, 1, "clock", "at 5s clock broker 2 at 1.5 for 3s", nil, 5.5, 5.5, 5.5, 8.5)
	findings := []Finding{
		{Class: PollSkip, Ops: []int64{0, 1}, Witness: nobody()},
		{Class: InvariantBroken, Witness: Witness{Acked: -1, Steps: []history.Step{{Kind: history.StepInvariant, Time: 2 * time.Second}}}},
		{Class: NotSettled, Witness: nobody()},
	}
	nameFaults(h, findings)
	for i, want := range []string{
		" In force then: fault #2, clock broker 2 at 1.5, from 5.500s to 8.500s.",
		" In force then: fault #1, loss 1 -> 2 30%, from 1.000s to 2.000s.",
		"",
	} {
		if findings[i].Text != want {
			t.Errorf("%s: %q, expected %q", findings[i].Class, findings[i].Text, want)
		}
	}
}
