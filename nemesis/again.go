package nemesis

import (
	"time"

	"tidemark/world"
)

// again takes a broker away and recreates the topic meanwhile: what the broker has of it is of an incarnation that is gone when it is back.
func (d *drawer) again(t time.Duration) time.Duration {
	first := d.fault(d.kind(d.otherThan(world.CanRecreate)...), d.part())
	over := d.add(t, first, d.length(first.Kind))
	f := d.fault(world.CanRecreate, d.part())
	d.add(t+d.upTo(over-t), f, d.length(f.Kind))
	return over
}
