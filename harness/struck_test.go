package harness

import (
	"testing"
	"time"

	"tidemark/history"
)

// TestLeadershipNamesItsFault: of two partitions of a leader the first is told of, by number, line and time, and that there was another; a delay of its
// messages is none.
func TestLeadershipNamesItsFault(t *testing.T) {
	const load = time.Second
	p := history.Partition{Topic: "orders"}
	h := &history.History{}
	index := int64(0)
	state := func(leader history.BrokerID) {
		index++
		h.States = append(h.States, history.ClusterState{Index: index, Partitions: []history.PartitionState{{Partition: p, Leader: leader}}})
	}
	live := func(fault int, kind, line string, at time.Duration, on history.BrokerID, after history.BrokerID) {
		for _, phase := range []history.FaultPhase{history.FaultApplied, history.FaultObserved, history.FaultUndone} {
			index++
			h.Faults = append(h.Faults, history.FaultEvent{Index: index, Time: load + at, Fault: fault, Phase: phase, Kind: kind, Line: line, Targets: []history.BrokerID{on}})
			state(after)
		}
	}
	state(1)
	live(0, "late", "at 1s late fetch responses leader(orders/0) -> 2 by 10ms", time.Second, 1, 1)
	live(2, "partition", "at 2s partition leader(orders/0) | rest for 5s", 2*time.Second, 1, 2)
	live(3, "partition", "at 9s partition leader(orders/0) | rest for 5s", 9*time.Second, 2, 2)
	want := "  partition of a leader, fault #3, 2.00s into the load: broker 1 led when it struck, broker 2 when it was undone; 1 more of this kind struck a leader\n" +
		"    at 2s partition leader(orders/0) | rest for 5s\n"
	if got := leadership(h, load); got != want {
		t.Errorf("told\n%s\nexpected\n%s", got, want)
	}
}
