package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/history"
	"tidemark/workloads"
	"tidemark/world"
)

// realConfigs are three brokers that are also the controller quorum.
func realConfigs(t testing.TB) []config.Config {
	base := config.Default()
	base.DefaultReplicationFactor, base.MinInsyncReplicas = 3, 2
	for id := kafka.BrokerID(1); id <= 3; id++ {
		base.Voters = append(base.Voters, config.Voter{ID: id, Host: fmt.Sprint("broker-", id), Port: 9092})
	}
	configs := make([]config.Config, 3)
	for i := range configs {
		configs[i] = base
		configs[i].NodeID = base.Voters[i].ID
		configs[i].OneListener(base.Voters[i].Host, base.Voters[i].Port)
		if err := configs[i].Check(); err != nil {
			t.Fatal(err)
		}
	}
	return configs
}

// TestBrokersInTheWorld drives real brokers through load and each fault, and looks at them in every way that a world offers.
func TestBrokersInTheWorld(t *testing.T) {
	first, steps := brokersRun(t, 1)
	if second, _ := brokersRun(t, 1); second != first {
		t.Errorf("hash %x, then %x with the same seed", first, second)
	}
	if other, _ := brokersRun(t, 2); other == first {
		t.Error("another seed has the same hash")
	}
	seen := map[history.StepKind]int{}
	type committed struct {
		history.Partition
		history.Epoch
		isr string
	}
	last := map[history.Partition]committed{}
	for _, s := range steps {
		seen[s.Kind]++
		if s.Kind == history.StepISR {
			now := committed{s.Partition, s.Epoch, fmt.Sprint(s.Peer, s.ISR)}
			if last[s.Partition] == now {
				t.Errorf("at %v the ISR step %+v was recorded again", s.Time, s)
			}
			last[s.Partition] = now
		}
	}
	for _, kind := range []history.StepKind{
		history.StepStart, history.StepDown, history.StepElection, history.StepFollow, history.StepISR, history.StepHW, history.StepAppend,
	} {
		if seen[kind] == 0 {
			t.Errorf("no step %q among %v", kind, seen)
		}
	}
}

func brokersRun(t *testing.T, seed uint64) (hash uint64, steps []history.Step) {
	touched := map[history.BrokerID]int{}
	w, err := New(Options{
		Seed: seed, Configs: realConfigs(t), Until: time.Hour,
		Record:     func(s history.Step) { steps = append(steps, s) },
		AfterEvent: func(_ time.Duration, b history.BrokerID) { touched[b]++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := history.NewRecorder(w.Now, nil)
	work := &workloads.Append{
		Env: w, Cluster: w, Record: rec, Topic: "orders", Parts: 2, Factor: 3, Acks: -1, Writers: 2, Readers: 1, Rate: 50, Timeout: 2 * time.Second,
	}
	err = w.Run(context.Background(), func() error {
		if err := work.Create(30 * time.Second); err != nil {
			return err
		}
		done := w.NewSignal()
		loaded := false
		w.Go("load", func() {
			work.Load(w.Now() + 40*time.Second)
			loaded = true
			done.Notify()
		})
		faults(t, w)
		done.Until(func() bool { return loaded }, -1)
		if err := work.Settle(30 * time.Second); err != nil {
			return err
		}
		compare(t, w)
		unname(t, w)
		return nil
	})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if acked := rec.Acked(history.Partition{}); acked < 100 {
		t.Errorf("seed %d: %d writes acknowledged, expected at least 100", seed, acked)
	}
	if len(touched) != 3 {
		t.Errorf("seed %d: AfterEvent saw %v, expected all three brokers", seed, touched)
	}
	return w.Hash(), steps
}

// faults does each fault once and probes it.
func faults(t *testing.T, w *World) {
	expect := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("at %v: %s: %v, expected %v", w.Now(), what, got, want)
		}
	}
	serving := func(b history.BrokerID) bool { return w.ProbeServing(b, 2*time.Second) }
	ok := func(err error) {
		t.Helper()
		expect("error", err, nil)
	}
	expect("serving", serving(1), true)

	ok(w.Kill(1))
	expect("serving when killed", serving(1), false)
	w.Sleep(2 * time.Second)
	ok(w.Start(1))
	expect("serving again", serving(1), true)

	ok(w.Cut(1, 2, world.AnyPort))
	expect("link when cut", w.ProbeLink(1, 2, world.AnyPort, 2*time.Second), false)
	expect("link the other way", w.ProbeLink(2, 1, world.AnyPort, 2*time.Second), true)
	ok(w.Heal(1, 2, world.AnyPort))
	expect("link when healed", w.ProbeLink(1, 2, world.AnyPort, 2*time.Second), true)

	ok(w.Pause(3))
	expect("process", w.ProbeProcess(3), world.ProcessPaused)
	expect("serving when paused", serving(3), false)
	ok(w.Resume(3))
	expect("serving when resumed", serving(3), true)

	_, err := w.PowerFail(2)
	ok(err)
	expect("process", w.ProbeProcess(2), world.ProcessGone)
	w.Sleep(2 * time.Second)
	ok(w.Start(2))

	ok(w.SetClock(1, 1.5))
	before, err := w.ProbeClock(1)
	ok(err)
	w.Sleep(2 * time.Second)
	after, err := w.ProbeClock(1)
	ok(err)
	expect("seconds on a fast clock", after-before, 3*time.Second)
	ok(w.SetClock(1, 1))

	ok(w.Stop(3, 20*time.Second))
	expect("process", w.ProbeProcess(3), world.ProcessGone)
	ok(w.Start(3))
	w.Sleep(5 * time.Second)
	p := history.Partition{Topic: "orders", Index: 1}
	ok(w.Elect(p, 2, 10*time.Second))
	s := w.Observe()
	expect("leader after election", s.Partitions[1].Leader, history.BrokerID(2))
}

// compare holds what Observe sees against what Dump reads from the files.
func compare(t *testing.T, w *World) {
	s := w.Observe()
	if s.Controller == history.NoBroker || len(s.Partitions) != 2 {
		t.Fatalf("observed controller %d and %d partitions, expected a controller and 2", s.Controller, len(s.Partitions))
	}
	for i, p := range s.Partitions {
		if len(p.ISR) != 3 || len(p.Replicas) != 3 {
			t.Errorf("%v has ISR %v and %d replicas, expected 3 of each", p.Partition, p.ISR, len(p.Replicas))
		}
		var first []history.DumpRecord
		for _, r := range p.Replicas {
			dumps := w.Dump(r.Broker)
			if len(dumps) != 2 || dumps[i].Partition != p.Partition || dumps[i].Err != "" {
				t.Fatalf("dump of broker %d: %+v", r.Broker, dumps)
			}
			d := dumps[i]
			if !r.Up || d.LEO != r.LEO || d.HW > r.HW || r.HW != r.LEO || len(d.Records) == 0 {
				t.Errorf("broker %d has %+v, its files LEO %d, HW %d and %d records", r.Broker, r, d.LEO, d.HW, len(d.Records))
			}
			if first == nil {
				first = d.Records
			}
			if !slices.Equal(d.Records, first) {
				t.Errorf("replicas of %v hold different records", p.Partition)
			}
		}
	}
}

// unname removes what names a replica's directory, as a broker does before it removes the rest: what is left is in no dump.
func unname(t *testing.T, w *World) {
	h, err := w.host(2)
	if err == nil {
		err = h.drive.Remove("orders-0/partition.metadata")
	}
	if dumps := w.Dump(2); err != nil || len(dumps) != 1 || dumps[0].Partition.Index != 1 {
		t.Errorf("%v, dumps %+v, expected that of orders/1 alone", err, dumps)
	}
}
