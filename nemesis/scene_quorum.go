package nemesis

import (
	"time"

	"tidemark/world"
)

// membershipKinds are the kinds that change who votes in the controller quorum.
var membershipKinds = []world.Ability{world.CanVoters, world.CanNewDisk}

// upheaval changes who votes in the controller quorum while something happens to the controller: it is cut off from the others, it stops,
// its clock is wrong; or, as often, while nothing else does.
func (d *drawer) upheaval(t time.Duration) time.Duration {
	p := d.part()
	change := d.fault(d.kind(membershipKinds...), p)
	if d.chance(0.5) {
		return d.add(t, change, d.length(change.Kind))
	}
	around := d.fault(d.kind(world.CanPartition, world.CanLoss, world.CanKill, world.CanPowerFail, world.CanPause, world.CanClock), p)
	if len(around.Targets) == 1 && kindOf(around.Kind).resolve == nil {
		around.Targets = []Target{{Role: Controller}}
	}
	over := d.add(t, around, d.length(around.Kind))
	at := t + d.upTo(over-t)
	if d.chance(0.3) {
		at = max(0, t-d.span(time.Millisecond, 100*time.Millisecond))
	}
	return max(over, d.add(at, change, d.length(change.Kind)))
}
