package nemesis

import (
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// feud is leaderships that change hands again and again between two or three brokers that do not hear of each other: elections, and faults
// that keep one's word from another, each at a time of its own within a few seconds. What a leader told in an epoch that was soon over arrives
// in a later one.
func (d *drawer) feud(t time.Duration) time.Duration {
	p := d.part()
	parties := slices.Clone(d.Brokers)
	d.rnd.Shuffle(len(parties), func(i, j int) { parties[i], parties[j] = parties[j], parties[i] })
	parties = parties[:min(3, len(parties))]
	one := func() Target { // the first is in it more than the others
		if d.chance(0.3) {
			return Target{Role: Number, Broker: parties[0]}
		}
		return Target{Role: Number, Broker: parties[d.rnd.IntN(len(parties))]}
	}
	within := d.span(500*time.Millisecond, 3*time.Second)
	over, order := t, moments{drawer: d, from: t, within: within}
	for range 2 + d.rnd.IntN(3) {
		at := t + d.upTo(within)
		order.add(at)
		over = max(over, d.add(at, Fault{Kind: world.CanElect, Partition: p, Targets: []Target{one()}}, 0))
	}
	if slices.Contains(d.kinds, world.CanHold) && d.chance(0.5) { // nobody writes, and the logs stay as they are
		lull := Fault{Kind: world.CanHold, Shape: OneWay, API: "produce", Targets: []Target{{Role: Clients}}, Others: []Target{{Role: Rest}}}
		at, length := order.span(min(200*time.Millisecond, d.longest), min(3*time.Second, d.longest))
		over = max(over, d.add(at, lull, length))
	}
	for range 2 + d.rnd.IntN(4) {
		f := d.aside(one(), one(), p)
		at, length := order.span(min(200*time.Millisecond, d.longest), min(3*time.Second, d.longest))
		over = max(over, d.add(at, f, length))
	}
	return over
}

// aside draws a fault by which one broker's word does not reach another, or anybody else if it is the same: of fetches, most of the time.
func (d *drawer) aside(from, to Target, p history.Partition) Fault {
	f := d.fault(d.kind(world.CanHold, world.CanLate, world.CanPartition), p)
	ends := [2][]Target{{from}, {to}}
	if from == to {
		ends[1] = []Target{{Role: Rest}}
	}
	switch {
	case world.OfMessages(f.Kind) && d.chance(0.9):
		f = d.fetches(f, p)
		f.Targets, f.Others = ends[0], ends[1]
	case f.Kind == world.CanPartition && d.chance(0.7): // it goes on as before, and hears of no decision
		f = Fault{Kind: f.Kind, Shape: OneWay, Targets: []Target{{Role: Controller}}, Others: ends[0], Port: world.ControllerPort}
	}
	return f
}
