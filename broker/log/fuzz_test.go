package log

import (
	"bytes"
	"errors"
	"testing"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

var fuzzConfig = Config{SegmentBytes: 1 << 16, IndexIntervalBytes: 100, MaxBatchBytes: 1 << 12}

func seeds(f *testing.F) {
	batch := BuildBatch(0, 0, 0, []byte("a"), []byte("b"))
	f.Add(batch)
	f.Add(append(bytes.Clone(batch), BuildBatch(2, 1, 0, nil)...))
	f.Add(batch[:40])
	f.Add([]byte{})
	old := bytes.Clone(batch)
	old[atMagic] = 1
	f.Add(old)
	for _, c := range []codec{codecGzip, codecSnappy, codecLZ4, codecZstd} {
		f.Add(buildBatch(0, 0, 0, uint16(c), 1, compress(c, appendRecord(nil, Record{Value: []byte("v")}))))
	}
}

// FuzzAppend: whatever a producer sends is refused with a code, or stands in the log as the same records.
func FuzzAppend(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		l, _, err := Open(disk.Mem(), "t", fuzzConfig, 0, false)
		must(t, err)
		sent := bytes.Clone(data)
		_, end, err := l.Append(data, 3)
		if err != nil {
			var bad *InvalidBatch
			if !errors.As(err, &bad) || bad.Code == kafka.None || l.End() != 0 || !bytes.Equal(sent, data) {
				t.Fatalf("refused with %v at end %d", err, l.End())
			}
			return
		}
		got, err := l.Read(0, end, len(data), false)
		must(t, err)
		if !bytes.Equal(got, data) {
			t.Fatal("the log holds something else")
		}
		reopen(t, l, end)
	})
}

// FuzzAppendFetched: what a leader sends is taken as far as it is whole, or refused.
func FuzzAppendFetched(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		l, _, err := Open(disk.Mem(), "t", fuzzConfig, 0, false)
		must(t, err)
		end, err := l.AppendFetched(data)
		if err != nil {
			var bad *InvalidBatch
			if !errors.As(err, &bad) || end != 0 || l.End() != 0 {
				t.Fatalf("refused with %v at end %d", err, l.End())
			}
			return
		}
		got, err := l.Read(0, end, len(data), false)
		must(t, err)
		if !bytes.HasPrefix(data, got) {
			t.Fatal("the log holds something else")
		}
		reopen(t, l, end)
	})
}

// reopen recovers the log from its files: nothing that was accepted may be found invalid.
func reopen(t *testing.T, l *Log, end kafka.Offset) {
	must(t, l.Close())
	again, rec, err := Open(l.fs, "t", fuzzConfig, 0, false)
	must(t, err)
	if again.End() != end || rec.Reason != "" {
		t.Fatalf("recovered to %d, %+v, expected %d", again.End(), rec, end)
	}
}

// FuzzSegment: any bytes as a segment file are recovered from, and the rest is a log.
func FuzzSegment(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := disk.Mem()
		must(t, fs.MkdirAll("t"))
		must(t, disk.Run(fs, disk.Step{Op: disk.WriteFile, Path: "t/00000000000000000000.log", Data: data}))
		l, rec, err := Open(fs, "t", fuzzConfig, 0, false)
		must(t, err)
		if rec.ScannedBytes+rec.TruncatedBytes != int64(len(data)) {
			t.Fatalf("%+v of %d bytes", rec, len(data))
		}
		must(t, l.EachBatch(0, func(Batch) bool { return true }))
		must(t, l.Close())
	})
}

// FuzzRecords: decoding ends, in bounded memory, with as many records as the header says or an error.
func FuzzRecords(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := Records(data, 1<<16)
		if err != nil {
			var bad *InvalidBatch
			if !errors.As(err, &bad) || records != nil {
				t.Fatalf("%d records with %v", len(records), err)
			}
			return
		}
		if b, _ := ParseBatch(data); len(records) != int(b.Records) {
			t.Fatalf("%d records, expected %d", len(records), b.Records)
		}
	})
}

// FuzzIndex: an accepted index is the one that it was parsed from, and points into its segment.
func FuzzIndex(f *testing.F) {
	f.Add(formatIndex([]indexEntry{{3, 100}, {7, 400}}), int64(1000))
	f.Add(formatIndex([]indexEntry{{3, 100}}), int64(120))
	f.Add(make([]byte, 16), int64(1000))
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		entries, err := parseIndex(data, size)
		if err != nil {
			return
		}
		if !bytes.Equal(formatIndex(entries), data) {
			t.Fatal("rendered differently")
		}
		for o := range kafka.Offset(10) {
			if at := floor(entries, o); at != 0 && at > size-headerSize {
				t.Fatalf("offset %d is looked for at %d of %d", o, at, size)
			}
		}
	})
}

// FuzzCheckpoints: what a parser of the small files accepts, its formatter renders so that it is read as the same.
func FuzzCheckpoints(f *testing.F) {
	for _, s := range []string{"0\n0\n", "0\n1\norders 0 12\n", "0\n2\na 0 1\nb 1 2", "0\n2\n0 0\n3 17\n", "0\n2\n", "1\n0\n", "0\n1\n0 0\n\n",
		`{"version":0,"brokerEpoch":7}`, `{"version":0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if offsets, err := ParseOffsets(data); err == nil {
			again, err := ParseOffsets(FormatOffsets(offsets))
			if err != nil || len(again) != len(offsets) {
				t.Fatalf("%v became %v, %v", offsets, again, err)
			}
		}
		if epochs, err := ParseEpochs(data); err == nil && !bytes.Equal(bytes.TrimSuffix(FormatEpochs(epochs), []byte("\n")), bytes.TrimSuffix(data, []byte("\n"))) {
			t.Fatalf("%q became %q", data, FormatEpochs(epochs))
		}
		if e, err := ParseCleanShutdown(data); err == nil {
			if again, err := ParseCleanShutdown(FormatCleanShutdown(e)); err != nil || again != e {
				t.Fatalf("epoch %d became %d, %v", e, again, err)
			}
		}
	})
}
