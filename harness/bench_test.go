package harness

import (
	"runtime/debug"
	"testing"
	"time"

	"tidemark/checker"
)

// BenchmarkSimulatedMinute runs the standard minute (100 operations a second, standard generator, invariants on, judged) from seed
// after seed. sim:wall is simulated seconds a second of one core; an event is a delivered message, a fired timer or a flush step.
func BenchmarkSimulatedMinute(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as the program does
	var virtual time.Duration
	var events uint64
	for n := 0; b.Loop(); n++ {
		run := Defaults()
		run.Seed = SeedOf(1, n)
		run, err := Expand(run, "")
		if err != nil {
			b.Fatal(err)
		}
		res, err := Simulate(b.Context(), run, Watch{})
		if err != nil {
			b.Fatal(err)
		}
		if res.Verdict.Status == checker.Invalid {
			b.Fatalf("seed %d: %s", run.Seed, res.Verdict.Reason)
		}
		virtual += res.Virtual
		events += res.Events
	}
	b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "sim:wall")
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
