package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// TestWindowsOfFindingsWithoutAMessage: that a cluster does not settle has its window before the phase that failed, if the history tells of one.
func TestWindowsOfFindingsWithoutAMessage(t *testing.T) {
	findings := []checker.Finding{{Class: checker.NotSettled, Severity: checker.Violation, Offset: history.UnknownOffset, Witness: checker.Witness{Acked: -1}}}
	marks := []history.Mark{{Name: "heal", Time: 50 * time.Second}, {Name: "heal", Time: 60 * time.Second, Failed: true}}
	got := windowsOf(findings, marks, 60500*time.Millisecond)
	if want := (span{0, 45 * time.Second, 60500 * time.Millisecond}); len(got) != 1 || got[0] != want {
		t.Errorf("windows %v, expected %v", got, want)
	}
	if got := windowsOf(findings, marks[:1], time.Minute); len(got) != 0 {
		t.Errorf("windows %v of a history that tells of no failure, expected none", got)
	}
}

// TestTheEndOfAFaultComesFirst: what a fault held comes at the moment at which it ends, behind its end, wherever the journal has it; the end of one that
// was seen in force only then stays behind that. A fault that was in force when the window begins stands before it.
func TestTheEndOfAFaultComesFirst(t *testing.T) {
	p := history.Partition{Topic: "orders"}
	fault := func(n int, index int64, phase history.FaultPhase, at time.Duration) history.FaultEvent {
		return history.FaultEvent{Index: index, Time: at, Fault: n, Phase: phase, Kind: "hold", Line: "at 1s hold fetch responses 1 -> 2 for 5s"}
	}
	h := &history.History{
		Faults: []history.FaultEvent{
			fault(0, 1, history.FaultApplied, time.Second), fault(0, 2, history.FaultObserved, time.Second), fault(0, 9, history.FaultUndone, 5*time.Second),
			fault(1, 6, history.FaultApplied, 5*time.Second), fault(1, 7, history.FaultObserved, 5*time.Second), fault(1, 8, history.FaultUndone, 5*time.Second),
		},
		Steps: []history.Step{{Index: 4, Time: 5 * time.Second, Kind: history.StepTruncate, Partition: p, Broker: 2, Peer: 1, From: 4, To: 2}},
	}
	f := checker.Finding{Partition: p, Offset: 9, Witness: checker.Witness{Faults: []checker.InForce{{Number: 1}}}}
	views, _ := eventsIn(span{from: 4 * time.Second, to: 6 * time.Second}, h, faultLives(h.Faults, h.Steps), f)
	var got []string
	for _, v := range views {
		text, _, _ := strings.Cut(v.Text, ":")
		got = append(got, fmt.Sprint(v.At, " ", text, " ", v.Key))
	}
	want := []string{"1.000 s fault #1 in force from here on true", "5.000 s fault #1 undone true", "5.000 s broker 2 truncated its log 4 → 2 false",
		"5.000 s fault #2 applied false", "5.000 s fault #2 observed false", "5.000 s fault #2 undone false"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
