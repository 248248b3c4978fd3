package harness

import (
	"strings"
	"testing"
)

// TestHopelessLinesAreKnownBeforehand: two replicas for three, and a wait for a catch where nothing is caught.
func TestHopelessLinesAreKnownBeforehand(t *testing.T) {
	run := Defaults()
	run.Plan = "at 1s reassign orders/0 to 1, 2\nafter 10 catches kill broker 1\n"
	got := Hopeless(run)
	if len(got) != 2 || !strings.HasSuffix(got[0], ": 2 replicas, expected 3 as before") || !strings.Contains(got[1], "none is ever caught") {
		t.Errorf("told %q, expected both lines", got)
	}
	run.Plan = "after 1 catches of fetch responses kill broker 1\nat 2s drop fetch requests 1 -> 2\n"
	if got := Hopeless(run); len(got) != 1 || !strings.Contains(got[0], "drops or delays such messages") {
		t.Errorf("told %q, expected the line that waits for responses", got)
	}
	run.Plan = "at 1s reassign orders/0 to 1, 2, 3\nafter 1 catches kill broker 1\nat 2s drop fetch requests 1 -> 2\n"
	if got := Hopeless(run); len(got) != 0 {
		t.Errorf("told %q, expected nothing", got)
	}
}
