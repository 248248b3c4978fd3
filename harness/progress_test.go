package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/history"
)

// TestARunTellsItsPhasesAndFaults carries out a run of one kill and takes down what it is told, but for how far a phase is.
func TestARunTellsItsPhasesAndFaults(t *testing.T) {
	run := Defaults()
	run.Seed = 2
	run, err := Expand(run, "at 5s kill broker 2 for 3s\nat 20s kill broker 3 for 2s\n")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	var phase Phase
	var most, inForce int64
	quiet, err := Simulate(t.Context(), run, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := Simulate(t.Context(), run, Watch{Progress: func(p Progress) {
		if p.Phase != phase {
			phase = p.Phase
			told = append(told, string(phase))
		}
		if p.News != "" {
			told = append(told, p.News)
		}
		if len(p.Force) > 0 {
			inForce++
			if f := strings.Join(p.Force, ", "); f != "kill broker 2" && f != "kill broker 3" {
				t.Errorf("in force at %v: %s", p.Now, f)
			}
		}
		most = max(most, p.Acked)
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"creating the topic", "load",
		"fault 1 in force: at 5s kill broker 2 for 3s", "fault 1 undone: at 5s kill broker 2 for 3s",
		"fault 2 in force: at 20s kill broker 3 for 2s", "fault 2 undone: at 20s kill broker 3 for 2s",
		"waiting for the last faults to end", "settling", "reading everything back", "reading logs", "judging",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %s, expected %s", fmt.Sprintf("%q", told), fmt.Sprintf("%q", want))
	}
	if most != res.Verdict.Stats.Acked || inForce < 10 {
		t.Errorf("told of %d acknowledged writes, expected %d; %d times of a fault in force, expected ten or more", most, res.Verdict.Stats.Acked, inForce)
	}
	if res.Hash != quiet.Hash {
		t.Errorf("trace hash %016x where somebody listens, %016x where nobody does", res.Hash, quiet.Hash)
	}
}

// TestWhatContainersCannotDoIsRefusedWithTheReason names the fault by its place among the plan's faults.
func TestWhatContainersCannotDoIsRefusedWithTheReason(t *testing.T) {
	run := Defaults()
	run.World = Contained
	_, err := Expand(run, "# two faults\n\nat 1s kill broker 1\nat 2s clock broker 1 at 1.05 for 3s\n")
	want := "fault 2 of the plan (at 2s clock broker 1 at 1.05 for 3s): this world cannot do clock, expected one of " + fmt.Sprint(containedAbilities) + ": containers share the machine's page cache, disk and clock; --world sim can"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, expected %s", err, want)
	}
	if got := ReplayWord(history.Run{World: Contained}); got != "again (not exact, in containers)" {
		t.Errorf("a replay in containers is called %q", got)
	}
}
