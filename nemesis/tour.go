package nemesis

import (
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// stopMax bounds how long one stop of a tour and the recovery after it take.
const stopMax = 15 * time.Second

// tour puts the faults that everybody should have seen once, in the first three quarters of a plan, far enough apart that each
// bites and the cluster recovers before the next (the budget allows no loss of data before all replicas are back): a leader is cut off from the other brokers until another one is elected, a leader
// is killed, a leader loses power. What the world cannot do is left out. It returns when the tour is over.
func (d *drawer) tour() time.Duration {
	slot := min((d.end-d.begin)/4, stopMax)
	t := d.begin
	for _, stop := range []struct {
		kind     world.Ability
		from, to time.Duration // how long it lasts
	}{
		// Long enough for another leader even if this one was the controller: its own election comes first, then a whole session.
		{world.CanPartition, slot / 2, slot * 3 / 5},
		{world.CanKill, slot / 2, slot * 3 / 5},
		{world.CanPowerFail, slot * 3 / 10, slot / 2},
	} {
		if !slices.Contains(d.Can, stop.kind) {
			continue
		}
		p := d.Partitions[d.rnd.IntN(len(d.Partitions))]
		d.add(t+d.upTo(slot/12), strikeLeader(stop.kind, p), d.span(stop.from, stop.to))
		t += slot
	}
	return t
}

// strikeLeader is a fault that takes the leader of a partition from the others.
func strikeLeader(kind world.Ability, p history.Partition) Fault {
	f := Fault{Kind: kind, Targets: []Target{{Role: Leader, Partition: p}}}
	if kind == world.CanPartition {
		f.Others = []Target{{Role: Rest}}
	}
	return f
}

// upTo draws a time evenly from 0 up to a bound.
func (d *drawer) upTo(most time.Duration) time.Duration {
	return time.Duration(d.rnd.Float64() * float64(most))
}
