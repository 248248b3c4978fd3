package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/internal/garbage"
)

// batchBound allows for a log's tail cache and, in Records, for the window of a decompressor.
var batchBound = garbage.Bound{Bytes: 24 << 20, Times: 16, Says: []string{"expected", "but", "bound", "varint"}}

// garbageBatches spoils two batches, as they are and again with their CRCs made right, so that more than those is looked at.
func garbageBatches(base kafka.Offset, c codec) []garbage.Input {
	valid := buildBatch(base, 3, 1000, uint16(c), 3, compress(c, rawRecords()))
	valid = append(valid, BuildBatch(base+3, 4, 1000, []byte("last"))...)
	inputs := garbage.Of(valid, uint64(c))
	for _, in := range inputs {
		if in.Kind != garbage.Cut && len(in.Data) > headerSize {
			data := bytes.Clone(in.Data)
			for rest := data; len(rest) > headerSize; {
				size := int64(binary.BigEndian.Uint32(rest[atLength:])) + lengthOverhead
				if size <= headerSize || size > int64(len(rest)) {
					break
				}
				seal(rest[:size])
				rest = rest[size:]
			}
			inputs = append(inputs, garbage.Input{Name: in.Name + ", with its CRC", Kind: in.Kind, Data: data})
		}
	}
	return inputs
}

// TestGarbageAppended: what a producer sends is refused, and the log is as it was, or it stands in the log as it is.
func TestGarbageAppended(t *testing.T) {
	for c := codecNone; c <= codecZstd; c++ {
		accepted, refused := batchBound.Hold(t, garbageBatches(0, c), func(in garbage.Input) error {
			l := openNew(t, Config{SegmentBytes: 4 << 20, IndexIntervalBytes: 0, MaxBatchBytes: 1 << 20})
			_, end, err := l.Append(in.Data, 4)
			if err != nil {
				return refusal(t, l, in, err)
			}
			if got, err := l.Read(0, end, len(in.Data), false); err != nil || !bytes.Equal(got, in.Data) || len(got) == 0 {
				t.Errorf("%s: the log holds %d bytes, %v, expected the %d appended", in.Name, len(got), err, len(in.Data))
			}
			return nil
		})
		if accepted == 0 || refused < 100 {
			t.Errorf("%v: %d accepted, %d refused, expected some and at least 100", c, accepted, refused)
		}
	}
}

func refusal(t *testing.T, l *Log, in garbage.Input, err error) error {
	var bad *InvalidBatch
	if !errors.As(err, &bad) || bad.Code == kafka.None || l.End() != 0 {
		t.Errorf("%s: refused with %v at end %d, expected a code and an empty log", in.Name, err, l.End())
	}
	return err
}

// TestGarbageFetched: of what a leader sends the whole batches are taken, each in its place, or all of it is refused.
func TestGarbageFetched(t *testing.T) {
	for c := codecNone; c <= codecZstd; c++ {
		accepted, refused := batchBound.Hold(t, garbageBatches(0, c), func(in garbage.Input) error {
			l := openNew(t, Config{SegmentBytes: 4 << 20, IndexIntervalBytes: 0, MaxBatchBytes: 1 << 20})
			end, err := l.AppendFetched(in.Data)
			if err != nil {
				return refusal(t, l, in, err)
			}
			got, err := l.Read(0, end, len(in.Data), false)
			if err != nil || !bytes.HasPrefix(in.Data, got) || in.Kind == garbage.Cut && end > 3 {
				t.Errorf("%s: the log ends at %d with %d bytes, %v, expected a beginning of what was sent", in.Name, end, len(got), err)
			}
			return nil
		})
		if accepted < 40 || refused < 50 { // a cut is no error
			t.Errorf("%v: %d accepted, %d refused, expected many of both", c, accepted, refused)
		}
	}
}

// TestGarbageRecords decodes what may be behind a header, compressed or not.
func TestGarbageRecords(t *testing.T) {
	for c := codecNone; c <= codecZstd; c++ {
		accepted, refused := batchBound.Hold(t, garbageBatches(40, c), func(in garbage.Input) error {
			records, err := Records(in.Data, 1<<20)
			if err != nil {
				return err
			}
			if b, err := ParseBatch(in.Data); err != nil || len(records) != int(b.Records) || in.Kind == garbage.Cut && len(in.Data) < b.Size {
				t.Errorf("%s: %d records, %v, expected those of a whole batch", in.Name, len(records), err)
			}
			return nil
		})
		if accepted == 0 || refused < 100 {
			t.Errorf("%v: %d accepted, %d refused, expected some and at least 100", c, accepted, refused)
		}
		bad := garbage.Of(compress(c, rawRecords()), 9)
		batchBound.Hold(t, bad, func(in garbage.Input) error {
			_, err := Records(buildBatch(0, 0, 0, uint16(c), 3, in.Data), 1<<20)
			return err
		})
	}
}

// TestGarbageSegments opens a log on spoilt files: each segment is cut where it stops being valid, and no index can mislead it.
func TestGarbageSegments(t *testing.T) {
	bound := garbage.Bound{Bytes: 4 << 20, Times: 16}
	batch := BuildBatch(0, 0, 0, []byte("a"), []byte("b"))
	next := BuildBatch(2, 1, 0, []byte("c"))
	valid := append(bytes.Clone(batch), next...)
	bound.Hold(t, garbage.Of(valid, 1), func(in garbage.Input) error {
		fs := disk.Mem()
		must(t, fs.MkdirAll("t"))
		must(t, disk.Run(fs, disk.Step{Op: disk.WriteFile, Path: "t/00000000000000000000.log", Data: in.Data}))
		l, rec, err := Open(fs, "t", fuzzConfig, 0, false)
		must(t, err)
		var want kafka.Offset
		if bytes.HasPrefix(in.Data, batch) {
			want = 2
		}
		if bytes.HasPrefix(in.Data, valid) {
			want = 3
		}
		if len(in.Data) > atMagic && !bytes.Equal(in.Data[atEpoch:atMagic], valid[atEpoch:atMagic]) {
			want = l.End() // the epoch is not under the CRC
		}
		if l.End() != want || len(rec.Reason) > 1024 || (rec.TruncatedBytes > 0) != (rec.Reason != "") {
			t.Errorf("%s: recovered to %d, %+v, expected %d", in.Name, l.End(), rec, want)
		}
		return l.Close()
	})
	index := formatIndex([]indexEntry{{2, int32(len(batch))}})
	bound.Hold(t, garbage.Of(index, 2), func(in garbage.Input) error {
		fs := disk.Mem()
		must(t, fs.MkdirAll("t"))
		for path, data := range map[string][]byte{"t/00000000000000000000.log": valid, "t/00000000000000000000.index": in.Data, "t/" + epochFile: []byte("0\n2\n0 0\n1 2\n")} {
			must(t, disk.Run(fs, disk.Step{Op: disk.WriteFile, Path: path, Data: data}))
		}
		l, _, err := Open(fs, "t", fuzzConfig, 3, true)
		must(t, err)
		if got, err := l.Read(2, 3, 1000, true); l.End() != 3 || err != nil || !bytes.Equal(got, next) {
			t.Errorf("%s: end %d, offset 2 reads %x, %v, expected %x", in.Name, l.End(), got, err, next)
		}
		return l.Close()
	})
}

// TestGarbageIndexes: an index that is accepted ascends and points into its segment.
func TestGarbageIndexes(t *testing.T) {
	valid := formatIndex([]indexEntry{{3, 100}, {7, 400}, {20, 900}, {21, 1300}})
	bound := garbage.Bound{Bytes: 64 << 10, Times: 2, Says: []string{"expected"}}
	accepted, refused := bound.Hold(t, garbage.Of(valid, 1), func(in garbage.Input) error {
		entries, err := parseIndex(in.Data, 1400)
		if err == nil && !bytes.Equal(formatIndex(entries), in.Data) {
			t.Errorf("%s: rendered differently", in.Name)
		}
		if err == nil && len(entries) > 0 && int64(entries[len(entries)-1].position) > 1400-headerSize {
			t.Errorf("%s: accepted with %v, expected positions inside the segment", in.Name, entries)
		}
		return err
	})
	if accepted == 0 || refused < 80 {
		t.Errorf("%d accepted, %d refused, expected some and at least 80", accepted, refused)
	}
}

// TestGarbageCheckpoints: each of the small files is read as what its formatter writes, or refused.
func TestGarbageCheckpoints(t *testing.T) {
	bound := garbage.Bound{Bytes: 64 << 10, Times: 64, Says: []string{"expected"}}
	offsets := FormatOffsets(map[kafka.TopicPartition]kafka.Offset{{Topic: "orders", Index: 10}: 5, {Topic: "orders", Index: 2}: 1 << 40, {Topic: "a.b-c_d"}: 0})
	bound.Hold(t, garbage.Of(offsets, 1), func(in garbage.Input) error {
		got, err := ParseOffsets(in.Data)
		if err == nil {
			if again, err := ParseOffsets(FormatOffsets(got)); err != nil || len(again) != len(got) {
				t.Errorf("%s: %v became %v, %v", in.Name, got, again, err)
			}
			if in.Kind == garbage.Cut && len(in.Data) < len(offsets)-1 && in.Data[len(in.Data)-1] == '\n' {
				t.Errorf("%s: read as %v", in.Name, got)
			}
		}
		return err
	})
	epochs := FormatEpochs([]EpochStart{{0, 0}, {3, 17}, {1 << 30, 1 << 50}})
	bound.Hold(t, garbage.Of(epochs, 2), func(in garbage.Input) error {
		got, err := ParseEpochs(in.Data)
		if err == nil && !bytes.Equal(bytes.TrimSuffix(FormatEpochs(got), []byte("\n")), bytes.TrimSuffix(in.Data, []byte("\n"))) {
			t.Errorf("%s: rendered as %q", in.Name, FormatEpochs(got))
		}
		return err
	})
	marker := FormatCleanShutdown(42)
	inputs := garbage.Of(marker, 3)
	nines := bytes.Repeat([]byte("9"), garbage.Large)
	for _, text := range []string{`{"version":0,"brokerEpoch":42}]`, `{"version":0,"brokerEpoch":42}}`, `{"version":0,"brokerEpoch":` + string(nines) + `}`,
		`{"version":0,"brokerEpoch":"` + string(nines) + `"}`} {
		inputs = append(inputs, garbage.Input{Name: text[:31], Kind: garbage.Cut, Data: []byte(text)})
	}
	bound.Hold(t, inputs, func(in garbage.Input) error {
		e, err := ParseCleanShutdown(in.Data)
		if err == nil && (in.Kind == garbage.Cut || in.Kind == garbage.Long || e < kafka.NoBrokerEpoch) {
			t.Errorf("%s: read as epoch %d", in.Name, e)
		}
		return err
	})
}
