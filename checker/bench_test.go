package checker

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"tidemark/history"
)

// bigHistory is n sends and polls of 10 clients on 8 partitions, half of each, with 1 % unknown outcomes, final reads and three dumps of each
// partition. Consumers read what is new to them; every record is read by one to three of them.
func bigHistory(n int) *history.History {
	const partitions, writers, readers = 8, 5, 5
	rng := rand.New(rand.NewPCG(7, 7))
	h := &history.History{Ops: make([]history.Op, 0, n+n/100)}
	var logs [partitions][]string
	var positions [readers][partitions]int
	index := int64(0)
	for i := range n {
		p := rng.IntN(partitions)
		op := history.Op{ID: int64(i), Partition: history.Partition{Topic: "orders", Index: int32(p)}, Acks: -1, Broker: 1,
			InvokeIndex: index, ReturnIndex: index + int64(1+rng.IntN(20)), Invoke: time.Duration(index), Return: time.Duration(index + 20)}
		index += 2
		op.Outcome = history.OK
		if i%2 == 0 {
			op.Process, op.Value, op.Offset = int32(i%writers), fmt.Sprintf("p%d-%d", i%writers, i), history.Offset(len(logs[p]))
			if rng.IntN(100) == 0 {
				op.Outcome, op.Offset = history.Info, -1
			}
			if op.Outcome == history.OK || rng.IntN(2) == 0 {
				logs[p] = append(logs[p], op.Value)
			}
		} else {
			r := i % readers
			op.Process, op.Kind, op.Offset = int32(writers+r), history.Poll, -1
			from := positions[r][p]
			to := min(len(logs[p])-1, from+50)
			op.Position, op.HW = history.Offset(from), history.Offset(len(logs[p]))
			for o := from; o < to; o++ {
				op.Records = append(op.Records, history.Record{Offset: history.Offset(o), Value: logs[p][o]})
			}
			positions[r][p] = max(from, to)
			if op.ReturnIndex < op.InvokeIndex+20 {
				op.ReturnIndex = op.InvokeIndex + 20
			}
		}
		h.Ops = append(h.Ops, op)
	}
	h.Marks = append(h.Marks, history.Mark{Index: index, Name: "settle"}, history.Mark{Index: index + 1, Name: "final"})
	for p := range partitions {
		name := history.Partition{Topic: "orders", Index: int32(p)}
		for from := 0; from < len(logs[p]); from += 500 {
			to := min(from+500, len(logs[p]))
			op := history.Op{ID: int64(len(h.Ops)), Process: 10, Kind: history.Poll, Outcome: history.OK, Final: true, Partition: name,
				Position: history.Offset(from), HW: history.Offset(len(logs[p])), InvokeIndex: index + 1, ReturnIndex: index + 2}
			index += 3
			for o := from; o < to; o++ {
				op.Records = append(op.Records, history.Record{Offset: history.Offset(o), Value: logs[p][o]})
			}
			h.Ops = append(h.Ops, op)
		}
		for b := range 3 {
			d := history.Dump{Broker: history.BrokerID(b), Partition: name, LEO: history.Offset(len(logs[p])), HW: history.Offset(len(logs[p]))}
			for o, v := range logs[p] {
				d.Records = append(d.Records, history.DumpRecord{Offset: history.Offset(o), Value: v})
			}
			h.Dumps = append(h.Dumps, d)
		}
	}
	return h
}

// BenchmarkCheck checks 1,000,000 operations by offsets; the figures are per operation of the history.
func BenchmarkCheck(b *testing.B) { benchmarkCheck(b, 1_000_000, 0) }

// BenchmarkCheckBoth has the second judge look too, at 100,000 operations.
func BenchmarkCheckBoth(b *testing.B) { benchmarkCheck(b, 100_000, 1<<40) }

// cpuTime is what the process has used, so that a figure means something on a busy machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkCheck(b *testing.B, n, steps int) {
	h := bigHistory(n)
	run := testRun(8)
	run.Plan, run.World = "", "" // a history made by hand: no phases, no faults
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	b.ResetTimer()
	for b.Loop() {
		if v := Check(run, h, Options{PorcupineSteps: steps}); v.Status != Valid {
			b.Fatalf("%s (%s)", v.Status, v.Reason)
		}
	}
	b.StopTimer()
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	total := float64(b.N) * float64(len(h.Ops))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/total, "ns/op-of-history")
	b.ReportMetric(float64(cpu.Nanoseconds())/total, "cpu-ns/op-of-history")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/total, "bytes/op-of-history")
}
