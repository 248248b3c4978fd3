package nemesis

import (
	"slices"
	"time"

	"tidemark/world"
)

// move reassigns a partition and strikes one of those that take part, shortly before or after: a new replica that cannot catch up, a leader
// that goes while the assignment is in between.
func (d *drawer) move(t time.Duration) time.Duration {
	if d.chance(0.5) {
		return d.crowd(t)
	}
	p := d.part()
	f := d.reassign(p)
	second := d.fault(d.kind(d.otherThan(world.CanReassign)...), p)
	if one := f.Targets[d.rnd.IntN(len(f.Targets))]; one.Role == Number && len(second.Targets) == 1 && second.Targets[0].Role != Rest && d.chance(0.6) {
		second.Targets[0] = one
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

// crowd is squeeze around a move: some of the new replicas are away when the partition is moved, and whoever leads is struck before they are back.
func (d *drawer) crowd(t time.Duration) time.Duration {
	p := d.part()
	strike := d.fault(d.kind(world.CanKill, world.CanPowerFail, world.CanWipe), p)
	away := []world.Ability{world.CanStop, world.CanPause, world.CanFreeze, world.CanKill}
	if loses(strike.Kind) {
		away = away[:3] // the budget counts those that were killed
	}
	f := d.reassign(p)
	hold, over := max(min(3*d.telling, d.longest), d.telling), t
	for _, one := range f.Targets[min(1, len(f.Targets)-1):] {
		if gone := d.fault(d.kind(away...), p); one.Role == Number && slices.Contains(away, gone.Kind) {
			gone.Targets = []Target{one}
			over = max(over, d.add(t, gone, hold))
		}
	}
	at := t + d.upTo(time.Second)
	d.add(at, f, d.length(f.Kind))
	return max(over, d.add(at+d.upTo(hold/2), strike, d.length(strike.Kind)))
}

// otherThan is the run's kinds but one.
func (d *drawer) otherThan(a world.Ability) []world.Ability {
	return slices.DeleteFunc(slices.Clone(d.kinds), func(k world.Ability) bool { return k == a })
}
