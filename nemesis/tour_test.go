package nemesis

import (
	"testing"
	"time"

	"tidemark/world"
)

// TestAShortTourTakesItsTime draws tours of half a minute in a world without power failures: the cut and the kill each last longer than
// a broker's session (3 s) and the election of another controller together, and are over before the load's last quarter.
func TestAShortTourTakesItsTime(t *testing.T) {
	s := testSpace(3, 30*time.Second)
	s.Can, s.Tour = []world.Ability{world.CanPartition, world.CanKill, world.CanPause}, true
	for seed := range uint64(200) {
		stops := map[world.Ability]Line{}
		for _, l := range Generate(world.Stream(seed, "plan", 0), s).Lines {
			if _, ok := stops[l.Fault.Kind]; !ok && l.Fault.Targets[0].Role == Leader {
				stops[l.Fault.Kind] = l
			}
		}
		for _, kind := range s.Can[:2] {
			l, ok := stops[kind]
			if !ok || l.For < 5*time.Second || l.Trigger.At+l.For > 22500*time.Millisecond {
				t.Errorf("seed %d: %s is %q, expected 5 s or longer, over by 22.5 s", seed, kind, l.String())
			}
		}
	}
}
