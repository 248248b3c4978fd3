package harness

import (
	"testing"
	"time"

	"tidemark/history"
)

// TestIdleTellsOfEveryFaultThatMissed: one took effect, one was refused, one met no message, one failed while it was in force.
func TestIdleTellsOfEveryFaultThatMissed(t *testing.T) {
	const load = 1500 * time.Millisecond
	event := func(fault int, phase history.FaultPhase, at time.Duration, line, detail string) history.FaultEvent {
		return history.FaultEvent{Fault: fault, Phase: phase, Time: load + at, Line: line, Detail: detail}
	}
	const kill, wipe, drop, pause = "at 1s kill broker 1", "at 2s wipe broker 2", "at 2s drop fetch requests 1 -> 2", "at 3s pause broker 3"
	got := idle([]history.FaultEvent{
		event(0, history.FaultApplied, time.Second, kill, ""), event(0, history.FaultObserved, time.Second, kill, ""),
		event(1, history.FaultRefused, 2*time.Second, wipe, "outside the fault budget: two would be unclean"),
		event(2, history.FaultApplied, 2*time.Second, drop, ""), event(2, history.FaultUndone, 4*time.Second, drop, "no such message came"),
		event(0, history.FaultUndone, 4*time.Second, kill, ""),
		event(3, history.FaultObserved, 3*time.Second, pause, ""), event(3, history.FaultFailed, 5*time.Second, pause, "it runs"),
	}, load)
	want := "  refused 2.00s into the load: " + wipe + "\n    outside the fault budget: two would be unclean\n" +
		"  by 4.00s into the load it had not been seen to take effect: " + drop + "\n    no such message came\n" +
		"  failed 5.00s into the load: " + pause + "\n    it runs\n" +
		"  --beyond-budget lets faults go beyond the budget; the contract then promises less (tidemark help plan)\n"
	if got != want {
		t.Errorf("told\n%s\nexpected\n%s", got, want)
	}
}
