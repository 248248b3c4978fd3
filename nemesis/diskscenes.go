package nemesis

import (
	"slices"
	"time"

	"tidemark/world"
)

// comebackKinds are the faults after which a broker reads its disk anew, and finds there what nobody meant it to find.
var comebackKinds = []world.Ability{
	world.CanPowerFail, world.CanPowerOff, world.CanBitFlip, world.CanFailSync, world.CanIOError, world.CanShortWrite,
}

// comeback takes a broker away by its disk and, once it has had time to be in sync again, makes it a leader: what it holds is then what
// clients see.
func (d *drawer) comeback(t time.Duration) time.Duration {
	b, p := Target{Role: Number, Broker: d.anyBroker()}, d.part()
	kinds := slices.DeleteFunc(slices.Clone(comebackKinds), func(k world.Ability) bool { return !slices.Contains(d.kinds, k) })
	first := d.fault(kinds[d.rnd.IntN(len(kinds))], p) // each as often: alone they are rare
	if first.Targets[0].Role != ISR {
		first.Targets = []Target{b}
	}
	over := d.add(t, first, d.span(200*time.Millisecond, d.longest/2))
	if !slices.Contains(d.kinds, world.CanElect) {
		return over
	}
	back := over + d.span(d.restart(), 2*d.rejoin())
	return d.add(back, Fault{Kind: world.CanElect, Partition: p, Targets: []Target{b}}, d.rejoin())
}
