//go:build !simonly

package harness

import (
	"slices"
	"testing"

	"tidemark/docker"
	"tidemark/sim"
)

// TestPlansAreCheckedAgainstWhatTheWorldsCanDo: what a plan may ask for before its world exists is what the world then says it can do.
func TestPlansAreCheckedAgainstWhatTheWorldsCanDo(t *testing.T) {
	var w sim.World
	if can := w.Abilities(); !slices.Equal(can, simAbilities) {
		t.Errorf("the simulated world can do %v, plans are checked against %v", can, simAbilities)
	}
	if can := docker.Abilities(); !slices.Equal(can, containedAbilities) {
		t.Errorf("containers can do %v, plans are checked against %v", can, containedAbilities)
	}
}
