package live_test

import (
	"flag"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/docker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

// How many runs TestObserverAfterRuns carries out, and of whose brokers.
var (
	observed   = flag.Int("observed", 0, "runs of a minute after which the observer is compared with the brokers' own files and tools")
	observedOf = flag.String("observed-of", "apache-kafka:4.1.0", "target of those runs")
)

// TestARunOfApacheKafka kills one of three unmodified brokers under load and cuts another off: the run is valid, every replica was dumped, what the
// observer held in the end is what the brokers' files and Kafka's own tools say, and nothing is left.
func TestARunOfApacheKafka(t *testing.T) {
	e := engine(t)
	// Both faults outlast broker.session.timeout.ms, and an election of the controller before it, several times: a busy machine takes that long.
	r := run(t, func(r *history.Run) { r.Target, r.Duration = "apache-kafka:4.1.0", 30*time.Second },
		"at 2s kill leader(orders/0) for 7s\nat 16s partition leader(orders/0) | rest for 10s\n")
	res, told := carried(t, e, r)
	told.agree(t, r, res.History)
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

// TestControllersBesideTheBrokers kills the active controller, then cuts the next one off from all others, where controllers are no brokers: each time
// another one is elected, who lets another broker lead where one is killed; the faults are seen to bite and to be undone, and the run is valid.
func TestControllersBesideTheBrokers(t *testing.T) {
	e := engine(t)
	r := run(t, func(r *history.Run) { r.Target, r.Duration = "apache-kafka-isolated:4.1.0", 30*time.Second },
		"at 2s kill controller for 7s\nat 4s kill leader(orders/0) for 7s\nat 16s partition controller | rest for 10s\nat 17s hold raft requests controller -> rest for 2s\n")
	res, told := carried(t, e, r)
	told.agree(t, r, res.History)
	if s := res.Verdict.Stats; res.Verdict.Status != checker.Valid || s.FaultsObserved < 2 || s.DumpedReplicas != 3 || s.DumpErrors != 0 {
		t.Errorf("%s", harness.Summary(res.Verdict))
	}
	controllers := map[history.BrokerID]bool{}
	for _, f := range res.History.Faults {
		for _, b := range f.Targets {
			if b > 100 {
				controllers[b] = true
			}
		}
	}
	if len(controllers) < 2 {
		t.Errorf("the faults struck the controllers %v, expected two of 101 to 103", controllers)
	}
	if left, err := e.Own(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// carried carries out a run of unmodified brokers, and has what they say for themselves at its end.
func carried(t *testing.T, e *docker.Engine, r history.Run) (*harness.Result, *theirs) {
	t.Helper()
	d, err := results.Create(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	look, told := watched(t, e, r)
	res, err := harness.Contain(t.Context(), r, d, look)
	if err != nil {
		t.Fatal(err)
	}
	return res, told
}

// TestObserverAfterRuns carries out runs of unmodified brokers under drawn plans of every kind of fault, as many as -observed says: after each what the
// observer held is what the brokers' files and Kafka's own tools say.
func TestObserverAfterRuns(t *testing.T) {
	if *observed == 0 {
		t.Skip("-observed N carries out N runs of a minute (make observer-kafka)")
	}
	e := engine(t)
	for n := range *observed {
		r := run(t, func(r *history.Run) {
			r.Target, r.Duration, r.Parts, r.Seed = *observedOf, time.Minute, 3, uint64(time.Now().UnixNano())
			r.Rate, r.Writers = harness.TargetRate, harness.TargetWriters
		}, "")
		res, told := carried(t, e, r)
		s := res.Verdict.Stats
		t.Logf("run %d, seed %d: %s, %d acknowledged writes, %d faults of %v, %d leader changes, %d looks", n, r.Seed, res.Verdict.Status, s.Acked, s.FaultsObserved, s.FaultsByKind,
			s.LeaderChanges, len(res.History.States))
		if res.Verdict.Status != checker.Valid && res.Verdict.Status != checker.Vacuous {
			t.Errorf("%s", harness.Summary(res.Verdict))
			continue
		}
		told.agree(t, r, res.History)
	}
}
