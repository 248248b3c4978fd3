package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/history"
)

// TestARunGoesOnBehindItsEnd lengthens a run whose plan's end let go of two faults and kept a third from striking: until then the longer run does the same, at the
// same times, and what was let go stays so.
func TestARunGoesOnBehindItsEnd(t *testing.T) {
	run, err := ScenarioRun(strings.Fields("seed=7 duration=8s brokers=3 partitions=1 rate=50"), strings.Join([]string{
		"at 2s partition 3 | rest on port broker for 30s",
		"when isr(orders/0) = 2 plus 10ms hold fetch responses leader(orders/0) -> follower(orders/0) for 30s",
		"at 1s pause broker 2 for 200ms",
		"at 5s pause broker 2",
		"after 9 elections kill broker 1 for 1s",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	short, err := Simulate(t.Context(), run, Watch{Blind: true})
	if err != nil {
		t.Fatal(err)
	}
	same, struck := onward(short, LastFault(run))
	if same.Plan != run.Plan || same.Duration != run.Duration || struck[4] >= 0 || struck[0] != 2*time.Second || struck[1] <= struck[0] {
		t.Errorf("nothing needs room, %v, struck at %v in\n%s", same.Duration, struck, same.Plan)
	}
	on, struck := onward(short, 12*time.Second)
	if n := len(planOf(on).Lines); on.Duration != 13*time.Second || len(struck) != 4 || n != 4 {
		t.Fatalf("%v with %d lines, struck at %v, expected 13s with four:\n%s", on.Duration, n, struck, on.Plan)
	}
	long, err := Simulate(t.Context(), on, Watch{Blind: true})
	if err != nil {
		t.Fatal(err)
	}
	began, _ := loadBegan(short.History)
	happened := func(res *Result) (all []string) {
		for _, e := range res.History.Faults {
			if at := (e.Time - began).Round(10 * time.Microsecond); e.Fault < 4 && (e.Phase == history.FaultApplied || e.Phase == history.FaultUndone) {
				all = append(all, at.String()+" "+string(e.Phase)+" "+e.Kind)
			}
		}
		slices.Sort(all)
		return all
	}
	if a, b := happened(short), happened(long); !slices.Equal(a, b) || len(a) != 8 {
		t.Errorf("the short run\n%s\nand the long one\n%s\nexpected the same", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}
