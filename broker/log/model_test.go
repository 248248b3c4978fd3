package log

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// model is a log as a slice: what Log must be indistinguishable from.
type model struct {
	start   kafka.Offset
	batches []modelBatch
	epochs  []EpochStart
}

type modelBatch struct {
	Batch
	data []byte
}

func (m *model) end() kafka.Offset {
	if n := len(m.batches); n > 0 {
		return m.batches[n-1].Last + 1
	}
	return m.start
}

func (m *model) add(data []byte) {
	b, err := parseWhole(data)
	if err != nil {
		panic(err)
	}
	m.batches = append(m.batches, modelBatch{b, data})
	if n := len(m.epochs); n == 0 || m.epochs[n-1].Epoch < b.Epoch {
		m.assign(b.Epoch, b.Base)
	}
}

func (m *model) assign(e kafka.Epoch, start kafka.Offset) {
	m.dropEpochs(start)
	m.epochs = append(m.epochs, EpochStart{e, start})
}

// dropEpochs drops the epochs that start at o or later.
func (m *model) dropEpochs(o kafka.Offset) {
	var kept []EpochStart
	for _, e := range m.epochs {
		if e.Start < o {
			kept = append(kept, e)
		}
	}
	m.epochs = kept
}

func (m *model) latest() kafka.Epoch {
	if len(m.epochs) == 0 {
		return kafka.NoEpoch
	}
	return m.epochs[len(m.epochs)-1].Epoch
}

func (m *model) truncate(to kafka.Offset) {
	if to < m.start {
		*m = model{start: to}
		return
	}
	for len(m.batches) > 0 && m.batches[len(m.batches)-1].Last >= to {
		m.batches = m.batches[:len(m.batches)-1]
		m.dropEpochs(m.end())
	}
	m.dropEpochs(to)
}

// TestModel drives a log and its model with the same random steps, restarts included, and compares every answer.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := disk.Mem()
		cfg := Config{SegmentBytes: rapid.IntRange(300, 1500).Draw(t, "segment"), IndexIntervalBytes: rapid.IntRange(0, 400).Draw(t, "interval"), MaxBatchBytes: 300}
		l, _, err := Open(fs, "a/t", cfg, 0, false)
		must(t, err)
		m := &model{}
		disked := kafka.Offset(0) // the recovery point that a checkpoint would hold
		steps := map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				epoch := max(0, m.latest()) + kafka.Epoch(rapid.IntRange(0, 1).Draw(t, "newer"))
				data := drawBatches(t, 0, -1)
				first, end, err := l.Append(data, epoch)
				if len(data) > cfg.SegmentBytes {
					var bad *InvalidBatch
					if !errors.As(err, &bad) || bad.Code != kafka.RecordListTooLarge {
						t.Fatalf("append of %d bytes gave %v", len(data), err)
					}
					return
				}
				must(t, err)
				if first != m.end() {
					t.Fatalf("first offset is %d, expected %d", first, m.end())
				}
				m.addAll(data)
				if end != m.end() {
					t.Fatalf("end is %d, expected %d", end, m.end())
				}
			},
			"fetched": func(t *rapid.T) {
				data := drawBatches(t, m.end(), max(0, m.latest())+kafka.Epoch(rapid.IntRange(0, 2).Draw(t, "newer")))
				torn := rapid.IntRange(0, headerSize).Draw(t, "torn")
				_, err := l.AppendFetched(append(bytes.Clone(data), BuildBatch(0, 0, 0, nil)[:torn]...))
				must(t, err)
				m.addAll(data)
			},
			"assign": func(t *rapid.T) {
				e := m.latest() + 1
				l.AssignEpoch(e, m.end())
				m.assign(e, m.end())
			},
			"truncate": func(t *rapid.T) {
				to := kafka.Offset(rapid.Int64Range(max(0, int64(m.start)-1), int64(m.end())+2).Draw(t, "to"))
				_, err := l.Truncate(to)
				must(t, err)
				m.truncate(to)
				disked = min(disked, l.RecoveryPoint())
			},
			"truncate fully": func(t *rapid.T) {
				at := kafka.Offset(rapid.Int64Range(0, 50).Draw(t, "at"))
				must(t, l.TruncateFully(at))
				*m = model{start: at}
				disked = min(disked, l.RecoveryPoint())
			},
			"flush": func(t *rapid.T) {
				steps, end := l.FlushSteps()
				for _, s := range steps {
					must(t, disk.Run(fs, s))
				}
				l.Flushed(end)
				disked = l.RecoveryPoint()
				if disked != m.end() || l.NeedsFlush() {
					t.Fatalf("recovery point is %d after a flush, expected %d", disked, m.end())
				}
			},
			"restart": func(t *rapid.T) {
				clean := rapid.Bool().Draw(t, "clean")
				if clean {
					steps, _ := l.FlushSteps()
					for _, s := range steps {
						must(t, disk.Run(fs, s))
					}
				}
				must(t, l.Close())
				var rec Recovery
				l, rec, err = Open(fs, "a/t", cfg, disked, clean)
				must(t, err)
				if rec.Clean != clean && len(m.batches) > 0 || rec.Reason != "" || rec.From != m.end() || rec.To != m.end() {
					t.Fatalf("recovery %+v, expected nothing cut and clean %v at %d", rec, clean, m.end())
				}
				m.dropEpochs(m.end())
				disked = l.RecoveryPoint()
			},
			"": func(t *rapid.T) { compare(t, l, m) },
		}
		t.Repeat(steps)
		must(t, l.Close())
	})
}

func (m *model) addAll(data []byte) {
	for len(data) > 0 {
		b, err := ParseBatch(data)
		if err != nil {
			panic(err)
		}
		m.add(bytes.Clone(data[:b.Size]))
		data = data[b.Size:]
	}
}

// drawBatches makes one to four batches from an offset on.
func drawBatches(t *rapid.T, base kafka.Offset, epoch kafka.Epoch) []byte {
	var data []byte
	for range rapid.IntRange(1, 4).Draw(t, "batches") {
		values := make([][]byte, rapid.IntRange(1, 4).Draw(t, "records"))
		for i := range values {
			values[i] = bytes.Repeat([]byte("v"), rapid.IntRange(0, 40).Draw(t, "size"))
		}
		data = append(data, BuildBatch(base, epoch, 0, values...)...)
		base += kafka.Offset(len(values))
	}
	return data
}

func compare(t *rapid.T, l *Log, m *model) {
	if l.Start() != m.start || l.End() != m.end() || l.LatestEpoch() != m.latest() {
		t.Fatalf("log is %d to %d in epoch %d, expected %d to %d in epoch %d", l.Start(), l.End(), l.LatestEpoch(), m.start, m.end(), m.latest())
	}
	if got, want := fmt.Sprint(l.Epochs()), fmt.Sprint(m.epochs); got != want {
		t.Fatalf("epochs are %s, expected %s", got, want)
	}
	from := kafka.Offset(rapid.Int64Range(int64(m.start), int64(m.end())).Draw(t, "from"))
	bound := kafka.Offset(rapid.Int64Range(int64(m.start), int64(m.end())+1).Draw(t, "bound"))
	maxBytes := rapid.IntRange(0, 1000).Draw(t, "max")
	minOne := rapid.Bool().Draw(t, "one")
	got, err := l.Read(from, bound, maxBytes, minOne)
	must(t, err)
	var want []byte
	var headers []Batch
	for _, b := range m.batches {
		if b.Last < from {
			continue
		}
		headers = append(headers, b.Batch)
		if b.Last < bound && len(want) == sizeOf(headers, len(headers)-1) && (len(want)+b.Size <= maxBytes || minOne && len(want) == 0) {
			want = append(want, b.data...)
		}
	}
	if from >= bound {
		want = nil
	}
	// A read may stop at the end of a segment, but not before it has something.
	if !bytes.HasPrefix(want, got) || (len(got) == 0) != (len(want) == 0) {
		t.Fatalf("read from %d below %d, at most %d bytes: %d bytes, expected a prefix of %d", from, bound, maxBytes, len(got), len(want))
	}
	if n := len(got); n < len(want) {
		next, _ := ParseBatch(want[n:])
		if l.segments[l.segmentOf(next.Base)].base != next.Base {
			t.Fatalf("read stopped at %d, within a segment", next.Base)
		}
	}
	var seen []Batch
	must(t, l.EachBatch(from, func(b Batch) bool { seen = append(seen, b); return true }))
	if fmt.Sprint(seen) != fmt.Sprint(headers) {
		t.Fatalf("batches from %d are %v, expected %v", from, seen, headers)
	}
}

// sizeOf is the size of the first n batches.
func sizeOf(batches []Batch, n int) int {
	size := 0
	for _, b := range batches[:n] {
		size += b.Size
	}
	return size
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}
