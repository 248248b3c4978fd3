package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/history"
	"tidemark/world"
)

// TestRun carries out plans on the fake cluster and shows each fault's life. The arguments: brokers=N; until=D; acks=D, one
// acknowledged send every D; broken=(Call, ...), calls that return an error; deaf=(Call, ...), calls that do nothing;
// outsider=D, when somebody else starts, resumes or thaws broker 1, or heals 1->2; classic, for a cluster without eligible leader replicas.
func TestRun(t *testing.T) {
	datadriven.Walk(t, "testdata/run", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p, err := Parse(d.Input)
			if err != nil {
				return err.Error()
			}
			env := &fakeEnv{seed: 1}
			n := 3
			d.MaybeScanArgs(t, "brokers", &n)
			r := newFakeRun(env, n)
			r.Budget.ELR = !d.HasArg("classic")
			until := scanDuration(t, d, "until", 20*time.Second)
			every := scanDuration(t, d, "acks", 0)
			c := r.Cluster.(*fakeCluster)
			for name, calls := range map[string]map[string]bool{"broken": c.broken, "deaf": c.deaf} {
				if arg, ok := argument(d, name); ok {
					for _, call := range arg {
						calls[call] = true
					}
				}
			}
			if at := scanDuration(t, d, "outsider", 0); at > 0 {
				env.Go("outsider", func() {
					env.Sleep(at)
					_ = errors.Join(c.Start(1), c.Resume(1), c.Thaw(1), c.Heal(1, 2, world.AnyPort)) // one of them is meant
				})
			}
			if every > 0 {
				env.Go("acks", func() { r.ack(every, until) })
			}
			var failed error
			if err := env.run(func() { failed = r.Run(p, until) }); err != nil {
				return err.Error()
			}
			return tell(r.Record.History().Faults, env.now, failed)
		})
	})
}

func argument(d *datadriven.TestData, name string) ([]string, bool) {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			return a.Vals, true
		}
	}
	return nil, false
}

func scanDuration(t *testing.T, d *datadriven.TestData, name string, otherwise time.Duration) time.Duration {
	arg, ok := argument(d, name)
	if !ok {
		return otherwise
	}
	v, err := time.ParseDuration(arg[0])
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type fakeRun struct{ *Runner }

func newFakeRun(env world.Env, brokers int) fakeRun {
	return fakeRun{&Runner{
		Env:     env,
		Cluster: newFakeCluster(env, brokers, testParts...),
		Record:  history.NewRecorder(env.Now, nil),
		Budget:  Budget{MinISR: fakeMinISR, ELR: true},
		Parts:   testParts,
		Bound:   5 * time.Second,
	}}
}

// ack acknowledges a send to orders/0 every so often.
func (r fakeRun) ack(every, until time.Duration) {
	for r.Env.Now() < until {
		id := r.Record.Invoke(history.Op{Kind: history.Send, Partition: testParts[0]})
		r.Record.Complete(id, history.Op{Outcome: history.OK})
		r.Env.Sleep(every)
	}
}

func tell(events []history.FaultEvent, end time.Duration, err error) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%-6v %d %-9s", e.Time, e.Fault, e.Phase)
		if e.Phase == history.FaultRequested {
			fmt.Fprintf(&b, " %s: %v", e.Line, e.Targets)
		}
		if e.Detail != "" {
			fmt.Fprintf(&b, " %s", strings.ReplaceAll(e.Detail, "\n", "; "))
		}
		b.WriteByte('\n')
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	fmt.Fprintf(&b, "ended at %v\n", end)
	return b.String()
}

// TestRunOnGoroutines runs a plan with everything at once under real goroutines: the race detector is the judge.
func TestRunOnGoroutines(t *testing.T) {
	p, err := Parse(`
		at 0s partition leader(orders/0) | rest for 4s
		at 1s partition ring for 4s
		at 1s clock broker 3 at 2 for 3s
		after 3 acks on orders/0 pause follower(orders/0) for 3s
		when isr(orders/0) = 2 kill leader(orders/0) for 2s
		after 1 elections elect follower(orders/1) on orders/1
		at 1s loss 1 | 2 at 0.3 for 3s
		at 2s partition 2 -> 3 on port broker for 2s
		at 8s powerfail random for 1s
		at 9s stop random for 1s
		at 10s freeze random for 1s
		at 13s wipe random for 500ms`)
	if err != nil {
		t.Fatal(err)
	}
	env := &realEnv{begin: time.Now(), speed: 20}
	r := newFakeRun(env, 3)
	acked := make(chan struct{})
	go func() { defer close(acked); r.ack(500*time.Millisecond, 8*time.Second) }()
	if err := r.Run(p, 15*time.Second); err != nil {
		t.Error(err)
	}
	<-acked
	ended := make(map[int]bool)
	for _, e := range r.Record.History().Faults {
		if slices.Contains([]history.FaultPhase{history.FaultVerified, history.FaultRefused}, e.Phase) {
			ended[e.Fault] = true
		}
	}
	if len(ended) != len(p.Lines) {
		t.Errorf("%d of %d faults came to an end: %v", len(ended), len(p.Lines), ended)
	}
}

// TestStaleObservations: of a cluster whose brokers were all just started an observer may see nothing, or metadata of long ago;
// neither makes the nemesis forget what it knew.
func TestStaleObservations(t *testing.T) {
	at := func(p history.Partition, epoch history.Epoch, partitionEpoch int32) history.PartitionState {
		return history.PartitionState{Partition: p, Epoch: epoch, PartitionEpoch: partitionEpoch}
	}
	x := &run{}
	for _, c := range []struct {
		seen  []history.PartitionState
		fresh int
		known string
	}{
		{[]history.PartitionState{at(testParts[1], 1, 1)}, 1, "[orders/1:1.1]"},
		{[]history.PartitionState{at(testParts[0], 4, 9), at(testParts[1], 1, 2)}, 2, "[orders/0:4.9 orders/1:1.2]"},
		{nil, 0, "[orders/0:4.9 orders/1:1.2]"},
		{[]history.PartitionState{at(testParts[0], 4, 8), at(testParts[1], 2, 3)}, 1, "[orders/0:4.9 orders/1:2.3]"},
		{[]history.PartitionState{at(testParts[0], 3, 10), at(testParts[1], 2, 3)}, 1, "[orders/0:4.9 orders/1:2.3]"},
	} {
		fresh := x.learn(history.ClusterState{Partitions: c.seen})
		var known []string
		for _, p := range x.known {
			known = append(known, fmt.Sprintf("%v:%d.%d", p.Partition, p.Epoch, p.PartitionEpoch))
		}
		if len(fresh.Partitions) != c.fresh || fmt.Sprint(known) != c.known {
			t.Errorf("after %+v: %d fresh, known %v; expected %d, %s", c.seen, len(fresh.Partitions), known, c.fresh, c.known)
		}
	}
	if got := unknown(testParts, history.ClusterState{Partitions: x.known[:1]}); got != "orders/1" {
		t.Errorf("unknown partition %q, expected orders/1", got)
	}
}
