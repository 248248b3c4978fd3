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

// TestWhatHasNoLengthGetsNone: a plan's end came between an election and the look that saw it. The longer run asks for it as before.
func TestWhatHasNoLengthGetsNone(t *testing.T) {
	run, err := ScenarioRun(strings.Fields("seed=7 duration=8s brokers=3 partitions=1 rate=50"), "at 6.9s elect broker 2 on orders/0\nat 6.9s pause broker 3")
	if err != nil {
		t.Fatal(err)
	}
	h := &history.History{Marks: []history.Mark{{Time: time.Second, Name: "load"}}}
	for line := range 2 {
		for i, phase := range []history.FaultPhase{history.FaultRequested, history.FaultApplied} {
			h.Faults = append(h.Faults, history.FaultEvent{Time: 7900*time.Millisecond + time.Duration(i)*50*time.Millisecond, Fault: line, Phase: phase})
		}
	}
	on, _ := onward(&Result{Run: run, History: h}, 12*time.Second)
	if err := Verify(on); err != nil {
		t.Fatal(err)
	}
	if lines := planOf(on).Lines; len(lines) != 2 || lines[0].For != 0 || lines[1].For != 50*time.Millisecond {
		t.Errorf("%s\nexpected the election without a length, and a pause of 50ms", on.Plan)
	}
}
