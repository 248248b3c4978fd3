package harness

import (
	"context"
	"errors"
	"slices"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/world"
)

// A lead is a moment at which an invariant was broken, though nobody but the simulator could see it: a replica in the ISR that lacks what was
// committed, say. A client sees that only if this replica leads before it has caught up, which is unlikely to be in the plan. So the search carries the same
// run out again, with a line or two more that make it lead: until then it goes as before, by the same seed.

// leadsMax bounds how many leads of one run are pursued.
const leadsMax = 3

// leadWays are the ways: when the replica parts from the others' logs and is elected, or all others stand still, after the lead.
var leadWays = []leadWay{
	{elected: 100 * time.Microsecond},
	{elected: 50 * time.Millisecond},
	{alone: 100 * time.Microsecond},
	{alone: 50 * time.Millisecond},
}

// leadWay is one of them; 0 is not at all.
type leadWay struct{ elected, alone time.Duration }

// Pursue carries a run out and judges it by what clients and logs tell alone, as Proof.Search does where clients can see the bug. If that is right, but
// invariants were broken, it carries it out once more for each way of showing them to clients, as long as more says that another run may begin; the
// result's Lead is the lines that this took. The error is the harness's own trouble, or ctx's end.
func Pursue(ctx context.Context, run history.Run, more func() bool) (*Result, error) {
	var leads []checker.Broken
	res, err := Simulate(ctx, run, Watch{Blind: true, Leads: &leads, Near: true})
	if err != nil || res.Verdict.Status == checker.Invalid {
		return res, err
	}
	found, lines, tried, err := pursue(ctx, res, leads, more)
	if found != nil {
		found.Lead, res = lines, found
	}
	res.Tries = tried
	return res, err
}

// pursue carries a run out once more for every way of following a lead, until one of them breaks the contract as clients and logs tell, or more ends it. It
// returns that one, with the lines, and how many runs it took; nil if none did. The error is the harness's own trouble, or ctx's end.
func pursue(ctx context.Context, res *Result, leads []checker.Broken, more func() bool) (found *Result, added []string, tried int, err error) {
	began, _ := loadBegan(res.History)
	for _, lead := range leads[:min(len(leads), leadsMax)] {
		on, _ := onward(res, time.Duration(lead.Time)-began+leadLength)
		lines := planOf(on).Lines
		for _, way := range leadLines(res, lead) {
			if !more() {
				return nil, nil, tried, nil
			}
			run := planned(on, append(slices.Clip(lines), way...))
			tried++
			again, err := Simulate(ctx, run, Watch{Blind: true})
			switch {
			case err != nil && errors.Is(err, ctx.Err()) && !more():
				return nil, nil, tried - 1, nil // cut off by the budget's end: it says nothing, the run before it does
			case err != nil:
				return nil, nil, tried, err
			}
			if again.Verdict.Status == checker.Invalid {
				for _, l := range way {
					added = append(added, l.String())
				}
				return again, added, tried, nil
			}
		}
	}
	return nil, nil, tried, nil
}

// leadLines are the ways of making each replica of a lead's partition its leader with what it has then: it hears of no other broker's log, and is elected; or
// all others stand still.
func leadLines(res *Result, lead checker.Broken) (ways [][]nemesis.Line) {
	began, loaded := loadBegan(res.History)
	at, end := time.Duration(lead.Time)-began, res.Run.Duration
	if !loaded || at < 0 || !slices.Contains(Partitions(res.Run), lead.Partition) {
		return nil
	}
	replicas := replicasOf(res.History, lead.Partition)
	for _, w := range leadWays {
		for _, b := range replicas {
			var lines []nemesis.Line
			line := func(after time.Duration, f nemesis.Fault, length time.Duration) {
				if t := (at + after).Truncate(time.Microsecond); after != 0 && len(f.Targets) > 0 && t >= 0 && t < end {
					lines = append(lines, nemesis.Line{Trigger: nemesis.Trigger{Kind: nemesis.AtTime, At: t}, Fault: f, For: length})
				}
			}
			one := []nemesis.Target{{Role: nemesis.Number, Broker: b}}
			line(w.elected, nemesis.Fault{Kind: world.CanPartition, Targets: one, Others: []nemesis.Target{{Role: nemesis.Rest}}, Port: world.BrokerPort}, leadLength)
			line(w.elected, nemesis.Fault{Kind: world.CanElect, Partition: lead.Partition, Targets: one}, 0)
			var others []nemesis.Target
			for _, other := range replicas {
				if other != b {
					others = append(others, nemesis.Target{Role: nemesis.Number, Broker: other})
				}
			}
			line(w.alone, nemesis.Fault{Kind: world.CanPause, Targets: others}, leadLength)
			if len(lines) > 0 {
				ways = append(ways, lines)
			}
		}
	}
	return ways
}

// leadLength is how long others are away: longer than any session that is drawn.
const leadLength = 5 * time.Second

// replicasOf is where a partition was when it was last looked at.
func replicasOf(h *history.History, p history.Partition) (brokers []history.BrokerID) {
	for _, s := range slices.Backward(h.States) {
		for i := range s.Partitions {
			if s.Partitions[i].Partition == p {
				for _, r := range s.Partitions[i].Replicas {
					brokers = append(brokers, r.Broker)
				}
				return brokers
			}
		}
	}
	return nil
}
