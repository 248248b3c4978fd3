package docker

import (
	"slices"
	"testing"
)

// TestWhatIsLeftIsToldByRun counts the things of two runs, one of which was kept on purpose.
func TestWhatIsLeftIsToldByRun(t *testing.T) {
	kept, killed := owner{run: "a0eaa482", keep: true}, owner{run: "4b304a01"}
	left := []thing{
		{aContainer, "tidemark-a0eaa482-1", kept}, {aContainer, "tidemark-4b304a01-1", killed}, {aContainer, "tidemark-a0eaa482-1-agent", kept},
		{aNetwork, "tidemark-a0eaa482", kept}, {aVolume, "tidemark-4b304a01-1-data", killed}, {aVolume, "tidemark-4b304a01-1-metadata", killed},
	}
	want := []string{"2 containers, 1 network of run a0eaa482 (kept on purpose)", "1 container, 2 volumes of run 4b304a01"}
	if got := byRun(left); !slices.Equal(got, want) {
		t.Errorf("told as %q, expected %q", got, want)
	}
	if got, want := tellLeft(left), "2 clusters are left (a0eaa482 kept, 4b304a01): tidemark cleanup"; got != want {
		t.Errorf("the doctor says %q, expected %q", got, want)
	}
	if got, want := tellLeft(left[:1]), "1 cluster is left (a0eaa482 kept): tidemark cleanup"; got != want {
		t.Errorf("the doctor says %q, expected %q", got, want)
	}
	var said []string
	tellRemoved(byRun(left[4:]), func(line string) { said = append(said, line) })
	if want := []string{"removed 2 volumes of run 4b304a01, whose harness is gone"}; !slices.Equal(said, want) {
		t.Errorf("said %q, expected %q", said, want)
	}
}
