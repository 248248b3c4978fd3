package nemesis

import (
	"slices"
	"time"

	"tidemark/world"
)

// stopMax bounds how long one stop of a tour and the recovery after it take; a shorter one than stopMin may end before a leader is
// elected, so that a short tour takes all the time that there is.
const (
	stopMax = 15 * time.Second
	stopMin = 10 * time.Second
)

// tour puts the faults that everybody should have seen once, in the first three quarters of a plan, far enough apart that each
// bites and the cluster recovers before the next (the budget allows no loss of data before all replicas are back): a leader is cut off from the other brokers until another one is elected, a leader
// is killed, a leader loses power. What the world cannot do is left out. It returns when the tour is over.
func (d *drawer) tour() time.Duration {
	// How long each lasts, in tenths of its slot. A cut and a kill are long enough for another leader even if this one was the
	// controller: its own election comes first, then a whole session.
	stops := slices.DeleteFunc([]stop{
		{world.CanPartition, 6, 7}, {world.CanKill, 6, 7}, {world.CanPowerFail, 3, 5},
	}, func(s stop) bool { return !slices.Contains(d.Can, s.kind) })
	if len(stops) == 0 {
		return d.begin
	}
	window := d.end - d.begin
	slot := min(max(window/4, min(stopMin, window/time.Duration(len(stops)))), stopMax)
	t := d.begin
	for _, stop := range stops {
		p := d.Partitions[d.rnd.IntN(len(d.Partitions))]
		d.add(t+d.upTo(slot/12), kindOf(stop.kind).opener(p), d.span(slot*stop.least/10, slot*stop.most/10))
		t += slot
	}
	return t
}

// stop is one fault of a tour.
type stop struct {
	kind        world.Ability
	least, most time.Duration // in tenths of its slot
}

// upTo draws a time evenly from 0 up to a bound.
func (d *drawer) upTo(most time.Duration) time.Duration {
	return time.Duration(d.rnd.Float64() * float64(most))
}
