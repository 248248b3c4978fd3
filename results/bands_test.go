package results

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results/browser"
)

// TestNamesOfBandsLieApart draws many faults that lie close to one another: no name lies on another, and whose name found no room is told by the title of
// one that did.
func TestNamesOfBandsLieApart(t *testing.T) {
	o, h := invalidRunWith("")
	for n := range 14 {
		for phase, at := range map[history.FaultPhase]time.Duration{history.FaultApplied: 0, history.FaultObserved: time.Millisecond, history.FaultUndone: time.Second} {
			h.Faults = append(h.Faults, history.FaultEvent{Fault: 95 + n, Phase: phase, Time: 11745*time.Millisecond + time.Duration(n)*7*time.Millisecond + at,
				Kind: "late", Line: fmt.Sprintf("at 3s late fetch responses 1 -> 2 by %dms", n), Targets: []history.BrokerID{1, 2}[:1+n%2]})
		}
	}
	d, err := Create(t.TempDir(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, "light")
	url := open(t, b, d)
	for _, pair := range browser.Eval[[]string](t, b, `(() => {
		const names = [...document.querySelectorAll(".spacetime .band text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
		return names.flatMap(([a, r], i) => names.slice(i + 1).filter(([, q]) => r.left < q.right - 1 && q.left < r.right - 1 && r.top < q.bottom - 4 && q.top < r.bottom - 4).map(([c]) => a + " on " + c));
	})()`) {
		t.Errorf("names of bands overlap: %s", pair)
	}
	titles := browser.Eval[[]string](t, b, `[...document.querySelectorAll(".spacetime .band:has(text)")].map((e) => e.ariaLabel)`)
	for n := range 14 {
		if name := fmt.Sprintf("fault #%d:", 96+n); !slices.ContainsFunc(titles, func(title string) bool { return strings.Contains(title, name) }) {
			t.Errorf("no name's title tells of %s", name)
		}
	}
	b.Quiet(t, url)
}

// TestAPausedBrokerIsNotDown: an observer that gets no answer cannot tell why. What was paused is told as that, from the pause to its end, unless
// the broker went down meanwhile.
func TestAPausedBrokerIsNotDown(t *testing.T) {
	p := history.Partition{Topic: "orders"}
	look := func(index int64, at time.Duration, up ...bool) history.ClusterState {
		ps := history.PartitionState{Partition: p, Leader: 1, ISR: []history.BrokerID{1, 2}}
		for i, u := range up {
			ps.Replicas = append(ps.Replicas, history.ReplicaState{Broker: history.BrokerID(i + 1), Up: u, Leads: u && i == 0})
		}
		return history.ClusterState{Index: index, Time: at, Partitions: []history.PartitionState{ps}}
	}
	pause := func(n int, index int64, at time.Duration, phase history.FaultPhase, on history.BrokerID) history.FaultEvent {
		return history.FaultEvent{Index: index, Time: at, Fault: n, Phase: phase, Kind: "pause", Targets: []history.BrokerID{on}}
	}
	h := &history.History{
		States: []history.ClusterState{look(1, 1*time.Second, true, true), look(5, 3*time.Second, false, true), look(8, 5*time.Second, true, true), look(30, 9*time.Second, true, false)},
		Steps:  []history.Step{{Index: 22, Time: 7 * time.Second, Kind: history.StepDown, Broker: 2}},
		Faults: []history.FaultEvent{
			pause(0, 2, 2*time.Second, history.FaultApplied, 1), pause(0, 3, 2*time.Second, history.FaultObserved, 1), pause(0, 7, 4*time.Second, history.FaultUndone, 1),
			pause(1, 20, 6*time.Second, history.FaultApplied, 2), pause(1, 21, 6*time.Second, history.FaultObserved, 2), pause(1, 25, 8*time.Second, history.FaultUndone, 2),
			pause(2, 26, 8*time.Second, history.FaultApplied, 1), pause(2, 27, 8*time.Second, history.FaultUndone, 1), // which no probe saw
		},
	}
	lines := timelines(h, nil, nil, 10*time.Second)
	for i, want := range []string{"leader 1 paused 2 leader 4", "isr 1 paused 6 down 7"} {
		var got []string
		for _, s := range lines[0].Lanes[i] {
			got = append(got, fmt.Sprint(s.Role, " ", time.Duration(s.From).Seconds()))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("broker %d: %s, expected %s", i+1, strings.Join(got, " "), want)
		}
	}
}

// TestAFaultIsInForceFromItsRequest: one that ends brokers one after the other is drawn and told from its request on, and when it was applied whole beside it;
// an election from the step that it led to, though it was seen to be done only later.
func TestAFaultIsInForceFromItsRequest(t *testing.T) {
	p := history.Partition{Topic: "orders"}
	event := func(n int, phase history.FaultPhase, at time.Duration, kind, line string, on ...history.BrokerID) history.FaultEvent {
		return history.FaultEvent{Index: int64(at), Time: at, Fault: n, Phase: phase, Kind: kind, Line: line, Targets: on}
	}
	off, elect := "at 1s poweroff isr(orders/0)", "at 1s elect follower(orders/0) on orders/0"
	h := &history.History{
		Faults: []history.FaultEvent{
			event(0, history.FaultRequested, 2*time.Second, "poweroff", off, 1, 2), event(0, history.FaultApplied, 11*time.Second, "poweroff", off, 1, 2),
			event(0, history.FaultObserved, 11*time.Second, "poweroff", off, 1, 2), event(0, history.FaultUndone, 14*time.Second, "poweroff", off, 1, 2),
			event(1, history.FaultRequested, 3*time.Second, "elect", elect, 2), event(1, history.FaultApplied, 5*time.Second, "elect", elect, 2),
			event(1, history.FaultObserved, 5*time.Second, "elect", elect, 2), event(1, history.FaultUndone, 5*time.Second, "elect", elect, 2),
		},
		Steps: []history.Step{
			{Time: 3500 * time.Millisecond, Kind: history.StepElection, Partition: history.Partition{Topic: "orders", Index: 1}, Broker: 2},
			{Time: 4 * time.Second, Kind: history.StepElection, Partition: p, Broker: 2},
		},
	}
	lives := faultLives(h.Faults, h.Steps)
	bands := bandsOf(lives, 20*time.Second)
	if b := bands[0]; b.From != seconds(2*time.Second) || b.To != seconds(14*time.Second) || b.Applied != seconds(11*time.Second) {
		t.Errorf("the first fault is drawn as %+v, expected from 2 to 14 s, applied at 11 s", b)
	}
	if b := bands[1]; b.From != seconds(4*time.Second) || b.Applied != 0 {
		t.Errorf("the election is drawn as %+v, expected from 4 s, with no word of its application", b)
	}
	f := checker.Finding{Partition: p, Offset: -1}
	for from, want := range map[time.Duration]string{
		time.Second:      "fault #1 requested: at 1s poweroff isr(orders/0) (in force from here on)",
		10 * time.Second: "fault #1 in force from here on: poweroff isr(orders/0) (from 2.000 s, applied whole at 11.000 s)",
	} {
		views, _ := eventsIn(span{from: from, to: 12 * time.Second}, h, lives, f)
		if len(views) == 0 || views[0].Text != want {
			t.Errorf("from %v on the first moment is %+v, expected %s", from, views, want)
		}
	}
	in := checker.InForce{Number: 1, Kind: "poweroff", What: "poweroff isr(orders/0)", From: int64(2 * time.Second), Applied: int64(11 * time.Second), To: int64(14 * time.Second)}
	if got, want := inForceWord(in), "fault #1: poweroff isr(orders/0); all, from 2.000 s to 14.000 s, applied whole at 11.000 s"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

// TestWhatIsNotDrawnIsCounted: the picture has room for eight operations, and a finding for sixteen. How many more there are stands beside them, and what a
// marker is.
func TestWhatIsNotDrawnIsCounted(t *testing.T) {
	o, h := invalidRunWith("")
	f := &o.Verdict.Findings[0]
	f.Ops, f.Count = nil, 28
	near := int64(f.Witness.Acked)
	for i := range h.Ops {
		if at := int64(h.Ops[i].Invoke); len(f.Ops) < findingOps && at > near-int64(time.Second) && at <= near {
			f.Ops = append(f.Ops, h.Ops[i].ID)
		}
	}
	d, err := Create(t.TempDir(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(d.ReportPath())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"further operations that prove the finding", "a finding names 16 at most, and this one was made 28 times", "is a marker"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q (%d operations)", want, len(f.Ops))
		}
	}
}
