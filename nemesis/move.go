package nemesis

import (
	"slices"
	"time"

	"tidemark/world"
)

// move reassigns a partition and strikes one of those that take part, shortly before or after: a new replica that cannot catch up, a leader
// that goes while the assignment is in between.
func (d *drawer) move(t time.Duration) time.Duration {
	p := d.part()
	f := d.reassign(p)
	second := d.fault(d.kind(d.otherThan(world.CanReassign)...), p)
	if t := f.Targets[d.rnd.IntN(len(f.Targets))]; t.Role == Number && len(second.Targets) == 1 && second.Targets[0].Role != Rest && d.chance(0.6) {
		second.Targets[0] = t
	}
	at := t + d.upTo(time.Second)
	if d.chance(0.4) {
		over := d.add(t, second, d.length(second.Kind))
		d.add(at, f, d.length(f.Kind))
		return over
	}
	d.add(t, f, d.length(f.Kind))
	return d.add(at, second, d.length(second.Kind))
}

// otherThan is the run's kinds but one.
func (d *drawer) otherThan(a world.Ability) []world.Ability {
	return slices.DeleteFunc(slices.Clone(d.kinds), func(k world.Ability) bool { return k == a })
}
