package workloads

import (
	"encoding/binary"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"tidemark/history"
)

// seal writes a batch's base offset and its CRC.
func seal(batch []byte, base int64) []byte {
	binary.BigEndian.PutUint64(batch, uint64(base))
	binary.BigEndian.PutUint32(batch[batchCRCAt:], crc32.Checksum(batch[batchAttributesAt:], castagnoli))
	return batch
}

// TestBatchIsKafkas reads a batch with kmsg's decoder.
func TestBatchIsKafkas(t *testing.T) {
	b := appendBatch([]byte("before"), "p3-118")[len("before"):]
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(b); err != nil {
		t.Fatal(err)
	}
	var record kmsg.Record
	if err := record.ReadFrom(batch.Records); err != nil {
		t.Fatal(err)
	}
	if batch.Magic != 2 || batch.NumRecords != 1 || batch.LastOffsetDelta != 0 || batch.ProducerID != -1 || batch.ProducerEpoch != -1 ||
		batch.FirstSequence != -1 || batch.FirstTimestamp != -1 || batch.MaxTimestamp != -1 || int(batch.Length) != len(b)-12 {
		t.Errorf("%+v", batch)
	}
	if string(record.Value) != "p3-118" || record.Key != nil || len(record.Headers) != 0 || record.OffsetDelta != 0 {
		t.Errorf("%+v", record)
	}
}

// TestBatchesGiveBackRecords: whatever was sent is read from any position, and a cut tail is left out.
func TestBatchesGiveBackRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var wire []byte
		var all []history.Record
		for i, value := range rapid.SliceOfN(rapid.String(), 0, 8).Draw(t, "values") {
			wire = append(wire, seal(appendBatch(nil, value), int64(i)+5)...)
			all = append(all, history.Record{Offset: history.Offset(i) + 5, Value: value})
		}
		whole := len(wire)
		if whole > 0 {
			next := seal(appendBatch(nil, "cut"), 99)
			wire = append(wire, next[:rapid.IntRange(0, len(next)-1).Draw(t, "cut")]...)
		}
		position := history.Offset(rapid.IntRange(0, 15).Draw(t, "position"))
		var want []history.Record
		end := position
		for _, r := range all {
			if r.Offset >= position {
				want = append(want, r)
				end = r.Offset + 1
			}
		}
		var reader batchReader
		got, next, err := reader.read(position, wire)
		if err != nil || !reflect.DeepEqual(got, want) || next != end {
			t.Fatalf("read %v, next %d, %v; expected %v, next %d", got, next, err, want, end)
		}
	})
}

// TestBatchesWithSeveralRecords reads what other producers write: many records a batch, keys, headers, gaps, control batches.
func TestBatchesWithSeveralRecords(t *testing.T) {
	batch := func(base int64, attributes int16, lastDelta int32, records ...kmsg.Record) []byte {
		b := kmsg.RecordBatch{Magic: 2, Attributes: attributes, LastOffsetDelta: lastDelta, NumRecords: int32(len(records))}
		for _, r := range records {
			body := r.AppendTo(nil)
			r.Length = int32(len(body) - 1) // the length itself is the one byte 0 so far
			b.Records = r.AppendTo(b.Records)
		}
		raw := b.AppendTo(nil)
		binary.BigEndian.PutUint32(raw[batchLengthAt:], uint32(len(raw)-12))
		return seal(raw, base)
	}
	wire := batch(10, 0, 4, kmsg.Record{Key: []byte("k"), Value: []byte("a")},
		kmsg.Record{OffsetDelta: 2, Value: []byte("b"), Headers: []kmsg.Header{{Key: "h", Value: []byte("v")}}})
	wire = append(wire, batch(15, attrControlBatch, 0, kmsg.Record{Key: []byte("marker")})...)
	packed := batch(16, attrSnappy, 1, kmsg.Record{Value: []byte("c")}, kmsg.Record{OffsetDelta: 1, Value: []byte("d")})
	records := snappy.Encode(nil, packed[batchHeaderBytes:])
	packed = append(packed[:batchHeaderBytes], records...)
	binary.BigEndian.PutUint32(packed[batchLengthAt:], uint32(len(packed)-12))
	wire = append(wire, seal(packed, 16)...)
	var reader batchReader
	got, next, err := reader.read(10, wire)
	want := []history.Record{{Offset: 10, Value: "a"}, {Offset: 12, Value: "b"}, {Offset: 16, Value: "c"}, {Offset: 17, Value: "d"}}
	if err != nil || !reflect.DeepEqual(got, want) || next != 18 {
		t.Errorf("read %v, next %d, %v; expected %v, next 18", got, next, err, want)
	}
}

// TestBatchesThatAreWrong: an error each, and the position stays.
func TestBatchesThatAreWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		want   string
	}{
		{"a flipped bit", func(b []byte) []byte { b[len(b)-2] ^= 1; return b }, "with CRC"},
		{"an old magic", func(b []byte) []byte { b[batchMagicAt] = 1; return b }, history.CorruptBatch},
		{"no room for a header", func(b []byte) []byte { b[batchLengthAt+3] = 3; return b }, "of 3 bytes, expected at least 14"},
		{"gzip", func(b []byte) []byte { b[batchAttributesAt+1] = 1; return seal(b, 7) }, "with compression 1, expected none or snappy"},
		{"no snappy", func(b []byte) []byte { b[batchAttributesAt+1] = 2; return seal(b, 7) }, "with snappy of"},
		{"a snappy bomb", func(b []byte) []byte {
			b[batchAttributesAt+1] = 2
			b = binary.AppendUvarint(b[:batchHeaderBytes], unpackedBytesMax+1)
			binary.BigEndian.PutUint32(b[batchLengthAt:], uint32(len(b)-12))
			return seal(b, 7)
		}, "expected at most 4194304"},
		{"too many records", func(b []byte) []byte { b[batchCountAt+3] = 9; return seal(b, 7) }, "record 1 of 9 is malformed"},
		{"a negative count", func(b []byte) []byte { b[batchCountAt] = 0x80; return seal(b, 7) }, "expected none below 0"},
		{"a negative offset", func(b []byte) []byte { return seal(b, -1) }, "expected none below 0"},
		{"a value past the end", func(b []byte) []byte { b[batchHeaderBytes+5] = 60; return seal(b, 7) }, "record 0 of 1 is malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire := seal(appendBatch(nil, "first"), 6)
			wire = append(wire, c.change(seal(appendBatch(nil, "second"), 7))...)
			var reader batchReader
			got, next, err := reader.read(6, wire)
			if err == nil || !strings.Contains(err.Error(), c.want) || got != nil || next != 6 {
				t.Errorf("read %v, next %d, %v; expected %q", got, next, err, c.want)
			}
		})
	}
}

func FuzzBatches(f *testing.F) {
	f.Add(int64(0), seal(appendBatch(nil, "p0-0"), 0))
	f.Add(int64(3), append(seal(appendBatch(nil, "p0-0"), 2), seal(appendBatch(nil, "p0-1"), 3)...))
	f.Fuzz(func(t *testing.T, position int64, b []byte) {
		if len(b) >= batchHeaderBytes { // so that more than the CRC is looked at
			if size := binary.BigEndian.Uint32(b[batchLengthAt:]) + batchLengthAt + 4; size >= batchHeaderBytes && int64(size) <= int64(len(b)) {
				binary.BigEndian.PutUint32(b[batchCRCAt:], crc32.Checksum(b[batchAttributesAt:size], castagnoli))
			}
		}
		var reader batchReader
		records, next, err := reader.read(history.Offset(position), b)
		if next < history.Offset(position) || err != nil && records != nil {
			t.Fatalf("%d records, next %d from %d, %v", len(records), next, position, err)
		}
		for _, r := range records {
			if r.Offset < history.Offset(position) || r.Offset >= next {
				t.Fatalf("record at %d, expected %d to %d", r.Offset, position, next)
			}
		}
	})
}
