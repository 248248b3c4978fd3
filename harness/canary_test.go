package harness

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/replica"
	"tidemark/checker"
	"tidemark/history"
	"tidemark/sim"
)

// master draws the seed that a test's seeds come from and prints it; TIDEMARK_MASTER repeats one.
func master(t *testing.T) uint64 {
	t.Helper()
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	m := binary.LittleEndian.Uint64(b[:])
	if text := os.Getenv("TIDEMARK_MASTER"); text != "" {
		var err error
		if m, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("TIDEMARK_MASTER=%q, expected a whole number", text)
		}
	}
	t.Logf("master seed %d (repeat with TIDEMARK_MASTER)", m)
	return m
}

// find hunts with the standard generator for the first run with a finding that is wanted, and returns both.
func find(t *testing.T, run history.Run, seeds int, wanted func(*Result, *checker.Finding) bool) (res *Result, f checker.Finding) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	hunt := Hunt{Run: run, Master: master(t), Seeds: seeds, Workers: 2}
	hunt.Each = func(n int, r *Result, err error) {
		if err != nil {
			t.Errorf("run %d: %v", n, err)
			return
		}
		for i := range r.Verdict.Findings {
			if res == nil && wanted(r, &r.Verdict.Findings[i]) {
				res, f = r, r.Verdict.Findings[i]
				stop()
			}
		}
	}
	tally := hunt.Go(ctx)
	if res == nil {
		t.Fatalf("not found in %d runs:\n%s", tally.Runs, tally)
	}
	t.Logf("found in %d runs: seed %d\n%s%s", tally.Runs, res.Run.Seed, res.Run.Plan, Summary(res.Verdict))
	return res, f
}

func lostWrite(_ *Result, f *checker.Finding) bool { return f.Class == checker.LostWrite }

// leaderKilledUnderPartition reports whether a finding is the loss of a write whose leader was killed after it acknowledged it, while
// a partition was in force.
func leaderKilledUnderPartition(r *Result, f *checker.Finding) bool {
	if f.Class != checker.LostWrite {
		return false
	}
	cut := map[int]bool{} // partitions in force, by plan line
	for _, e := range r.History.Faults {
		switch {
		case e.Kind == "partition" && e.Phase == history.FaultApplied:
			cut[e.Fault] = true
		case e.Kind == "partition" && e.Phase == history.FaultUndone:
			delete(cut, e.Fault)
		case e.Kind == "kill" && e.Phase == history.FaultApplied && len(cut) > 0:
			if slices.Contains(e.Targets, f.Witness.AckedBy) && int64(e.Time) > f.Witness.Acked {
				return true
			}
		}
	}
	return false
}

// TestCanary switches on a broker that acknowledges before it replicates. The standard generator, which does not know, must find it as a
// lost acknowledged write, and every field of the witness must be what an exact replay shows in the brokers' own logs.
func TestCanary(t *testing.T) {
	run := Defaults()
	run.Bug = "ack-before-replication"
	res, f := find(t, run, 200, lostWrite)
	if res.Verdict.Status != checker.Invalid || f.Severity != checker.Violation {
		t.Fatalf("status %s, severity %s: want an invalid run and a violation", res.Verdict.Status, f.Severity)
	}
	w := f.Witness
	op := &res.History.Ops[slices.IndexFunc(res.History.Ops, func(o history.Op) bool { return o.Kind == history.Send && o.Value == w.Value })]
	if op.Outcome != history.OK || op.Offset != w.Offset || op.Process != w.Producer || int64(op.Return) != w.Acked || op.Broker != w.AckedBy || op.Partition != f.Partition {
		t.Errorf("the witness %+v does not tell the operation %+v", w, *op)
	}
	truth := watchRecord(t, res.Run, op)
	if truth.epoch != w.AckEpoch {
		t.Errorf("acknowledged in epoch %d, the witness says %d", truth.epoch, w.AckEpoch)
	}
	if !slices.Equal(truth.held, w.HeldBy) {
		t.Errorf("held then by %v, the witness says %v", truth.held, w.HeldBy)
	}
	if !sameBrokers(truth.isr, w.ISR) {
		t.Errorf("the ISR was %v, the witness says %v", truth.isr, w.ISR)
	}
	checkRemovals(t, truth, w.RemovedBy)
	checkDumps(t, res.History, f)
	for _, s := range w.Steps {
		if s.Kind == checker.StepAck { // of the operation, not of a broker
			if int64(s.Time) != w.Acked || s.Broker != w.AckedBy {
				t.Errorf("acknowledged at %d by broker %d, the witness' step says %+v", w.Acked, w.AckedBy, s)
			}
			continue
		}
		if !slices.ContainsFunc(res.History.Steps, func(o history.Step) bool { return o.Index == s.Index && o.Kind == s.Kind && o.Time == s.Time }) {
			t.Errorf("the history has no step %+v", s)
		}
	}
}

// record is what an exact replay shows of one record: who had it when it was acknowledged, and who lost it when.
type record struct {
	epoch history.Epoch
	held  []history.BrokerID
	isr   []history.BrokerID
	ever  map[history.BrokerID]bool
	gone  map[history.BrokerID][]time.Duration
}

// watchRecord replays the run twice: once to see the acknowledged batch in its leader's log, once to follow it through every log.
func watchRecord(t *testing.T, run history.Run, op *history.Op) record {
	t.Helper()
	out := record{ever: map[history.BrokerID]bool{}, gone: map[history.BrokerID][]time.Duration{}}
	var batch log.Batch
	again(t, run, func(now time.Duration, b history.BrokerID, w *sim.World) {
		if now < op.Return && b == op.Broker {
			if found, ok := batchIn(w, b, op); ok {
				batch = found
			}
		}
	})
	out.epoch = history.Epoch(batch.Epoch)
	has := map[history.BrokerID]bool{}
	acked := false
	again(t, run, func(now time.Duration, b history.BrokerID, w *sim.World) {
		if !acked && now >= op.Return {
			acked = true
			for _, id := range w.Brokers() {
				if has[id] {
					out.held = append(out.held, id)
				}
			}
		}
		if n := w.Node(b); n != nil {
			if p, ok := n.Image().Partition(kafka.TopicPartition{Topic: op.Partition.Topic, Index: op.Partition.Index}); ok && !acked && len(p.ISR) > 0 && n.IsActiveController() {
				out.isr = brokers(nil, p.ISR)
			}
			found, ok := batchIn(w, b, op)
			present := ok && found.Epoch == batch.Epoch && found.CRC == batch.CRC
			if has[b] && !present {
				out.gone[b] = append(out.gone[b], now)
			}
			has[b] = present
			out.ever[b] = out.ever[b] || present
		}
	})
	return out
}

func again(t *testing.T, run history.Run, look func(time.Duration, history.BrokerID, *sim.World)) {
	t.Helper()
	if _, err := Simulate(t.Context(), run, Watch{After: look}); err != nil {
		t.Fatal(err)
	}
}

// batchIn is the batch at the operation's offset in a running broker's log.
func batchIn(w *sim.World, b history.BrokerID, op *history.Op) (found log.Batch, ok bool) {
	n := w.Node(b)
	if n == nil {
		return found, false
	}
	n.EachReplica(func(p *replica.Partition) {
		if name := p.Name(); name.Topic == op.Partition.Topic && name.Index == op.Partition.Index && p.Log().End() > kafka.Offset(op.Offset) {
			_ = p.Log().EachBatch(kafka.Offset(op.Offset), func(x log.Batch) bool {
				found, ok = x, true
				return false
			})
		}
	})
	return found, ok
}

// checkRemovals compares who lost the record, how and when.
func checkRemovals(t *testing.T, truth record, removals []checker.Removal) {
	t.Helper()
	for _, r := range removals {
		switch r.How {
		case "never had it":
			if truth.ever[r.Broker] {
				t.Errorf("broker %d had the record, the witness says never", r.Broker)
			}
		default:
			if !slices.Contains(truth.gone[r.Broker], time.Duration(r.Time)) {
				t.Errorf("broker %d: %s at %v, but its log lost the record at %v", r.Broker, r.How, time.Duration(r.Time), truth.gone[r.Broker])
			}
		}
	}
	for b, times := range truth.gone {
		if len(times) > 0 && !slices.ContainsFunc(removals, func(r checker.Removal) bool { return r.Broker == b }) {
			t.Errorf("broker %d lost the record at %v, the witness does not tell", b, times)
		}
	}
}

// checkDumps looks for the record in what every replica holds at the end, and for what stands in its place.
func checkDumps(t *testing.T, h *history.History, f checker.Finding) {
	t.Helper()
	seen := 0
	for _, d := range h.Dumps {
		if d.Partition != f.Partition {
			continue
		}
		seen++
		for _, r := range d.Records {
			if r.Value == f.Value {
				t.Errorf("broker %d still holds %s at offset %d", d.Broker, r.Value, r.Offset)
			}
			if r.Offset == f.Offset && r.Value != f.Witness.Replaced {
				t.Errorf("broker %d holds %s at offset %d, the witness says %q", d.Broker, r.Value, r.Offset, f.Witness.Replaced)
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d dumps of %s, want 3", seen, f.Partition)
	}
}

func sameBrokers(a, b []history.BrokerID) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// TestLossUnderAcksOne finds, with the standard generator, writes that acks=1 lost because their leader was killed under a partition:
// reported, and allowed. The same history judged as if it had been acks=all is invalid.
func TestLossUnderAcksOne(t *testing.T) {
	run := Defaults()
	run.Acks = 1
	res, f := find(t, run, 600, leaderKilledUnderPartition)
	if res.Verdict.Status != checker.Valid || f.Severity != checker.Allowed {
		t.Errorf("status %s, severity %s: want a valid run and an allowed anomaly", res.Verdict.Status, f.Severity)
	}
	strict := res.Run
	strict.Acks = -1
	v := checker.Check(strict, res.History, checker.Options{})
	if v.Status != checker.Invalid || !slices.ContainsFunc(v.Findings, func(g checker.Finding) bool {
		return g.Class == checker.LostWrite && g.Severity == checker.Violation && g.Value == f.Value
	}) {
		t.Errorf("as acks=all: %s with %+v, want invalid by the same loss", v.Status, v.Findings)
	}
}

// TestLossUnderUncleanElection finds writes that an unclean election lost, named as the contract's doing.
func TestLossUnderUncleanElection(t *testing.T) {
	run := Defaults()
	run.Unclean = true
	res, f := find(t, run, 400, lostWrite)
	if res.Verdict.Status != checker.Valid || f.Severity != checker.Allowed {
		t.Errorf("status %s, severity %s: want a valid run and an allowed anomaly", res.Verdict.Status, f.Severity)
	}
	if c := res.Verdict.Contract; c.Durable || !c.Unclean {
		t.Errorf("contract %+v: want no durability, because of unclean election", c)
	}
}
