package nemesis

import (
	"time"

	"tidemark/history"
	"tidemark/world"
)

// besiege is several faults around one broker, within a few sessions: it crashes and comes back, its leader does not hear of it, nor the controller, and
// what is asked or answered about it is held, lost or late.
func (d *drawer) besiege(t time.Duration) time.Duration {
	p, victim := d.part(), Target{Role: Number, Broker: d.anyBroker()}
	within := d.span(d.telling, 4*d.telling)
	over, before := t, d.catches
	order := moments{drawer: d, from: t, within: within}
	for range 3 + d.rnd.IntN(4) {
		f := d.upon(victim, p)
		at, length := order.draw(), d.length(f.Kind)
		switch short := crashes(f.Kind) || f.Kind == world.CanStop; {
		case short && d.chance(0.5): // it is back as another incarnation as soon as its session ended
			length = d.span(min(50*time.Millisecond, d.longest), min(d.telling, d.longest))
		case world.OfMessages(f.Kind) && d.chance(0.5): // beyond the end of a session
			length = d.span(min(d.telling, d.longest), min(5*d.telling, d.longest))
		}
		if end := order.draw(); end > at && d.chance(0.3) {
			length = end - at
		}
		order.add(at, at+length)
		switch {
		case f.API == "alter-partition" && d.chance(0.6): // what lets it in again
			shrunk := Trigger{Kind: WhenISR, Partition: p, Count: int64(max(1, d.Factor-1))}
			over = max(over, d.on(shrunk, at, f, length))
		case d.catches > before && !world.OfMessages(f.Kind) && d.chance(0.4):
			over = max(over, d.on(d.next(AfterCatches, d.caught.at), at, f, length))
		default:
			over = max(over, d.add(at, f, length))
		}
	}
	return over
}

// upon draws a fault of a broker, or of what it and its leader, or they and the controller, tell each other.
func (d *drawer) upon(b Target, p history.Partition) Fault {
	f := d.fault(d.kind(world.CanPartition, world.CanHold, world.CanLate, world.CanDrop, world.CanKill, world.CanPowerFail, world.CanWipe, world.CanStop, world.CanPause), p)
	self, leader, controller := []Target{b}, []Target{{Role: Leader, Partition: p}}, []Target{{Role: Controller}}
	switch x := d.rnd.Float64(); {
	case isOutage(f.Kind):
		f.Targets = self
	case f.Kind == world.CanPartition && x < 0.6:
		f = Fault{Kind: f.Kind, Targets: leader, Others: self, Port: world.BrokerPort}
	case f.Kind == world.CanPartition && x < 0.8:
		f = Fault{Kind: f.Kind, Shape: OneWay, Targets: controller, Others: self, Port: world.ControllerPort}
	case world.OfMessages(f.Kind) && x < 0.4:
		f.aboutISR(d.chance(0.3))
	case world.OfMessages(f.Kind) && x < 0.8:
		f = d.fetches(f, p)
		f.Targets, f.Others = leader, self
		if !f.Responses {
			f.Targets, f.Others = self, leader
		}
	case world.OfMessages(f.Kind) && x < 0.9:
		f.API, f.Responses, f.Targets, f.Others = "broker-heartbeat", false, self, controller
	}
	return f
}
