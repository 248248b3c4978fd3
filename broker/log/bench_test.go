package log

import (
	"testing"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

func openNew(t interface{ Fatal(...any) }, cfg Config) *Log {
	l, _, err := Open(disk.Mem(), "t", cfg, 0, false)
	must(t, err)
	return l
}

var benchConfig = Config{SegmentBytes: 1 << 20, IndexIntervalBytes: 4096, MaxBatchBytes: 1 << 20}

// BenchmarkAppend appends batches of one 100-byte record; the log is emptied before it grows beyond 64 MiB.
func BenchmarkAppend(b *testing.B) {
	l := openNew(b, benchConfig)
	batch := BuildBatch(0, 0, 0, make([]byte, 100))
	b.ReportAllocs()
	b.SetBytes(int64(len(batch)))
	for b.Loop() {
		if _, _, err := l.Append(batch, 1); err != nil {
			b.Fatal(err)
		}
		if l.End() > 400_000 {
			must(b, l.TruncateFully(0))
		}
	}
}

// BenchmarkAppendFetched is the follower's side of the same.
func BenchmarkAppendFetched(b *testing.B) {
	l := openNew(b, benchConfig)
	batch := BuildBatch(0, 0, 0, make([]byte, 100))
	b.ReportAllocs()
	for b.Loop() {
		stamp(batch, l.End(), 1)
		if _, err := l.AppendFetched(batch); err != nil {
			b.Fatal(err)
		}
		if l.End() > 400_000 {
			must(b, l.TruncateFully(0))
		}
	}
}

// BenchmarkRead reads one batch of one 100-byte record: at the tail, as a follower in sync does, and far behind, from the file.
func BenchmarkRead(b *testing.B) {
	l := openNew(b, benchConfig)
	batch := BuildBatch(0, 0, 0, make([]byte, 100))
	const records = 50_000
	for range records {
		_, _, err := l.Append(batch, 1)
		must(b, err)
	}
	b.Run("tail", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if data, err := l.Read(records-1, records, 1<<20, true); err != nil || len(data) != len(batch) {
				b.Fatal(len(data), err)
			}
		}
	})
	b.Run("file", func(b *testing.B) {
		b.ReportAllocs()
		from := kafka.Offset(0)
		for b.Loop() {
			if data, err := l.Read(from, from+1, 1<<20, true); err != nil || len(data) != len(batch) {
				b.Fatal(len(data), err)
			}
			from = (from + 7919) % records
		}
	})
}

// BenchmarkEachBatch walks the last 100 batches' headers.
func BenchmarkEachBatch(b *testing.B) {
	l := openNew(b, benchConfig)
	batch := BuildBatch(0, 0, 0, make([]byte, 100))
	for range 1000 {
		_, _, err := l.Append(batch, 1)
		must(b, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		must(b, l.EachBatch(900, func(Batch) bool { n++; return true }))
		if n != 100 {
			b.Fatal(n)
		}
	}
}

// BenchmarkOpen recovers a log of 6,000 batches, a minute's worth at 100 operations a second.
func BenchmarkOpen(b *testing.B) {
	l := openNew(b, benchConfig)
	batch := BuildBatch(0, 0, 0, make([]byte, 100))
	for range 6000 {
		_, _, err := l.Append(batch, 1)
		must(b, err)
	}
	must(b, l.Close())
	b.ReportAllocs()
	for b.Loop() {
		again, rec, err := Open(l.fs, "t", benchConfig, 0, false)
		must(b, err)
		if rec.ScannedBytes == 0 {
			b.Fatal(rec)
		}
		must(b, again.Close())
	}
}
