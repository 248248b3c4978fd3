package live_test

import (
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/docker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

// TestARunOfApacheKafka kills one of three unmodified brokers under load and cuts another off: the run is valid, every replica was dumped, and
// nothing is left.
func TestARunOfApacheKafka(t *testing.T) {
	e := engine(t)
	// Both faults outlast broker.session.timeout.ms, and an election of the controller before it, several times: a busy machine takes that long.
	r := run(t, func(r *history.Run) { r.Target, r.Duration = "apache-kafka:4.1.0", 30*time.Second },
		"at 2s kill leader(orders/0) for 7s\nat 16s partition leader(orders/0) | rest for 10s\n")
	d, err := results.Create(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	res, err := harness.Contain(t.Context(), r, d, harness.Look{Binary: tool(t), Say: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	if s := res.Verdict.Stats; res.Verdict.Status != checker.Valid || s.LeaderChanges < 1 || s.FaultsObserved != 2 || s.DumpedReplicas != 3 || s.DumpErrors != 0 {
		t.Errorf("%s", harness.Summary(res.Verdict))
	}
	if left, err := e.Own(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	made, err := e.Built(t.Context())
	if err != nil || len(made) == 0 || made[0].Bytes == 0 {
		t.Errorf("the images of targets are %v, %v, expected that of 4.1.0 among them", made, err)
	}
	if found := docker.ExamineTargets(t.Context()); len(found) == 0 {
		t.Error("the doctor says nothing of targets")
	}
}
