package checker

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"tidemark/checker/construct"
	"tidemark/history"
)

// large has BenchmarkJournal read and check 10,000,000 operations too, which takes a few minutes and, for the journal, a gigabyte of disk.
var large = flag.Bool("large", false, "also measure 10,000,000 operations")

// stream is a sink that writes a history down without keeping it.
type stream struct {
	journal    *history.JournalWriter
	now        func() time.Duration
	index, ops int64
	under      map[int64]history.Op // under way
}

func (s *stream) stamp() (int64, time.Duration) {
	s.index++
	return s.index - 1, s.now()
}

func (s *stream) Invoke(op history.Op) int64 {
	op.ID = s.ops
	s.ops++
	op.InvokeIndex, op.Invoke = s.stamp()
	s.under[op.ID] = op
	s.journal.Invoke(&op)
	return op.ID
}

func (s *stream) Complete(id int64, done history.Op) {
	delete(s.under, id)
	done.ID = id
	done.ReturnIndex, done.Return = s.stamp()
	s.journal.Return(&done)
}

func (s *stream) Fault(e history.FaultEvent) {
	e.Index, e.Time = s.stamp()
	s.journal.Fault(&e)
}

func (s *stream) State(c history.ClusterState) {
	c.Index, c.Time = s.stamp()
	s.journal.State(&c)
}

func (s *stream) Step(p history.Step) {
	p.Index, p.Time = s.stamp()
	s.journal.Step(&p)
}

func (s *stream) Dump(d history.Dump) {
	d.Index, d.Time = s.stamp()
	s.journal.Dump(&d)
}

func (s *stream) Mark(name string, failed bool, detail string) {
	m := history.Mark{Name: name, Failed: failed, Detail: detail}
	m.Index, m.Time = s.stamp()
	s.journal.Mark(&m)
}

// writeBig writes the journal of a valid history: so many operations of 10 clients on 8 partitions, 1 % of them of unknown outcome.
func writeBig(tb testing.TB, ops int) (path string, run history.Run) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "journal")
	journal, err := history.CreateJournal(path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	g := construct.New(construct.Config{Seed: 7, Ops: ops, Partitions: 8, Producers: 5, Consumers: 5, Unknown: 0.02, LeaderChanges: 4})
	g.Play(&stream{journal: journal, now: g.Now, under: map[int64]history.Op{}})
	if err := journal.Close(); err != nil {
		tb.Fatal(err)
	}
	return path, g.Run()
}

// resetPeak has the kernel count the process's peak of resident memory from now on; peak reads it, in bytes. 0 where there is no Linux.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

func peak() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kib float64
	_, _ = fmt.Sscan(string(rest[:min(len(rest), 32)]), &kib)
	return kib * 1024
}

// BenchmarkJournal reads a journal and checks what it holds, one after the other. The figures are per operation of the history; times-reading is
// how much longer checking takes than reading does, and resident the peak of memory over both.
func BenchmarkJournal(b *testing.B) {
	var first float64
	for _, ops := range []int{1_000_000, 10_000_000} {
		if ops > 1_000_000 && !*large {
			continue
		}
		b.Run(fmt.Sprintf("%dM", ops/1_000_000), func(b *testing.B) {
			path, run := writeBig(b, ops)
			var reading, checking, readCPU, checkCPU time.Duration
			var allocated, operations uint64
			resetPeak()
			b.ResetTimer()
			for b.Loop() {
				runtime.GC()
				start, cpu := time.Now(), cpuTime()
				h, truncated, err := history.ReadJournalFile(path)
				if err != nil || truncated != "" {
					b.Fatal(err, truncated)
				}
				reading, readCPU = reading+time.Since(start), readCPU+cpuTime()-cpu
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start, cpu = time.Now(), cpuTime()
				if v := Check(run, h, Options{}); v.Status != Valid {
					b.Fatalf("%s (%s)", v.Status, v.Reason)
				}
				checking, checkCPU = checking+time.Since(start), checkCPU+cpuTime()-cpu
				runtime.ReadMemStats(&after)
				allocated += after.TotalAlloc - before.TotalAlloc
				operations += uint64(len(h.Ops))
			}
			per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(operations) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(per(reading), "read-ns/operation")
			b.ReportMetric(per(readCPU), "read-cpu-ns/operation")
			b.ReportMetric(per(checking), "check-ns/operation")
			b.ReportMetric(per(checkCPU), "check-cpu-ns/operation")
			b.ReportMetric(checking.Seconds()/reading.Seconds(), "times-reading")
			b.ReportMetric(float64(allocated)/float64(operations), "check-bytes/operation")
			b.ReportMetric(peak()/(1<<20), "resident-MiB")
			if first == 0 {
				first = per(readCPU + checkCPU)
			}
			b.ReportMetric(per(readCPU+checkCPU)/first, "times-1M") // an operation's share of processor time, with that of the first
		})
	}
}
