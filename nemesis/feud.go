package nemesis

import (
	"time"

	"tidemark/history"
	"tidemark/world"
)

// feud is leaderships that change hands again and again while replicas do not hear of each other: elections, and faults that keep two
// brokers apart, each at a time of its own within a few seconds. What a leader told in an epoch that was soon over arrives in a later one.
func (d *drawer) feud(t time.Duration) time.Duration {
	p := d.part()
	within := d.span(500*time.Millisecond, 4*time.Second)
	over := t
	for range 1 + d.rnd.IntN(4) {
		f := d.aside(p)
		over = max(over, d.add(t+d.upTo(within), f, d.span(min(200*time.Millisecond, d.longest), min(3*time.Second, d.longest))))
	}
	for range 2 + d.rnd.IntN(3) {
		f := electFollower(p)
		if d.chance(0.5) {
			f.Targets[0] = Target{Role: Number, Broker: d.anyBroker()}
		}
		over = max(over, d.add(t+d.upTo(within), f, 0))
	}
	return over
}

// aside draws a fault by which some broker's word does not reach another: of fetches, most of the time, by its number as often as by its role.
func (d *drawer) aside(p history.Partition) Fault {
	kind := d.kind(world.CanHold, world.CanLate, world.CanPartition)
	f := d.fault(kind, p)
	switch {
	case world.OfMessages(kind) && d.chance(0.8):
		f = d.fetches(f, p)
	case kind == world.CanPartition && d.chance(0.5):
		f = Fault{Kind: kind, Shape: OneWay, Targets: []Target{{Role: Controller}}, Others: []Target{{Role: Number, Broker: d.anyBroker()}}, Port: world.ControllerPort}
	}
	for _, side := range [][]Target{f.Targets, f.Others} {
		if len(side) == 1 && (side[0].Role == Leader || side[0].Role == Follower) && d.chance(0.5) {
			side[0] = Target{Role: Number, Broker: d.anyBroker()}
		}
	}
	if len(f.Targets) == 1 && len(f.Others) == 1 && f.Targets[0] == f.Others[0] {
		f.Others = []Target{{Role: Rest}}
	}
	return f
}
