package log

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
)

var wantRecords = []Record{
	{Offset: 40, Epoch: 3, Time: 1000, Value: []byte("no key")},
	{Offset: 41, Epoch: 3, Time: 1005, Key: []byte("k"), Value: []byte(strings.Repeat("v", 1000)), Headers: []Header{{"h", []byte("x")}, {"", nil}}},
	{Offset: 42, Epoch: 3, Time: 990, Key: []byte{}},
}

func rawRecords() []byte {
	var b []byte
	for i, r := range wantRecords {
		r.Offset, r.Time = kafka.Offset(i), r.Time-1000
		b = appendRecord(b, r)
	}
	return b
}

func compress(c codec, data []byte) []byte {
	var b bytes.Buffer
	var err error
	switch c {
	case codecGzip:
		w := gzip.NewWriter(&b)
		_, err = w.Write(data)
		err = errors.Join(err, w.Close())
	case codecSnappy:
		return snappy.Encode(nil, data)
	case codecLZ4:
		w := lz4.NewWriter(&b)
		_, err = w.Write(data)
		err = errors.Join(err, w.Close())
	case codecZstd:
		var w *zstd.Encoder
		w, err = zstd.NewWriter(&b)
		if err == nil {
			_, err = w.Write(data)
			err = errors.Join(err, w.Close())
		}
	default:
		return data
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

// xerialFrames frames data in blocks, as the Java client does.
func xerialFrames(data []byte, block int) []byte {
	b := append(bytes.Clone(xerial), 0, 0, 0, 1, 0, 0, 0, 1)
	for len(data) > 0 {
		n := min(block, len(data))
		chunk := snappy.Encode(nil, data[:n])
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(chunk))), chunk...)
		data = data[n:]
	}
	return b
}

func TestRecordsOfEveryCodec(t *testing.T) {
	for _, c := range []codec{codecNone, codecGzip, codecSnappy, codecLZ4, codecZstd} {
		checkDecoded(t, c.String(), buildBatch(40, 3, 1000, uint16(c), 3, compress(c, rawRecords())))
	}
	checkDecoded(t, "xerial", buildBatch(40, 3, 1000, uint16(codecSnappy), 3, xerialFrames(rawRecords(), 100)))
}

func checkDecoded(t *testing.T, name string, batch []byte) {
	t.Helper()
	got, err := Records(batch, 2000)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if !reflect.DeepEqual(got, wantRecords) {
		t.Errorf("%s: %v, expected %v", name, got, wantRecords)
	}
	if _, err := Records(batch, 500); err == nil {
		t.Errorf("%s: more than 500 bytes passed that bound", name)
	}
}

// TestBombs decompresses a few bytes that stand for many: the bound holds before memory is spent.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 32<<20)
	for _, c := range []codec{codecGzip, codecSnappy, codecLZ4, codecZstd} {
		batch := buildBatch(0, 0, 0, uint16(c), 1, compress(c, zeros))
		used := allocated(func() {
			if _, err := Records(batch, 1<<16); err == nil {
				t.Error("32 MiB passed a bound of 64 KiB")
			}
		})
		if used > 20<<20 { // zstd's window, lz4's block
			t.Errorf("%v: %d bytes allocated", c, used)
		}
	}
}

// allocated is the number of bytes that fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLogAppendTime(t *testing.T) {
	records, err := Records(buildBatch(0, 0, 77, attrLogAppendTime, 1, appendRecord(nil, Record{Time: 5})), 100)
	if err != nil || records[0].Time != 77 {
		t.Errorf("%v, %v, expected the batch's time 77", records, err)
	}
}

// TestOffsetForTimeWithinBatch looks into the batch, compressed or not.
func TestOffsetForTimeWithinBatch(t *testing.T) {
	for _, c := range []codec{codecNone, codecZstd} {
		l := openNew(t, Config{SegmentBytes: 10_000, IndexIntervalBytes: 0, MaxBatchBytes: 10_000})
		batch := buildBatch(0, 0, 1000, uint16(c), 3, compress(c, rawRecords()))
		binary.BigEndian.PutUint64(batch[atMaxTime:], 1005)
		seal(batch)
		_, _, err := l.Append(batch, 0)
		must(t, err)
		if o, at, err := l.OffsetForTime(1003); o != 1 || at != 1005 || err != nil {
			t.Errorf("%v: offset %d at %d, %v, expected 1 at 1005", c, o, at, err)
		}
	}
}

// TestBadRecords are batches that are whole and have the right CRC, around records that are not right.
func TestBadRecords(t *testing.T) {
	for name, b := range map[string][]byte{
		"offset delta 1 instead of 0": appendRecord(nil, Record{Offset: 1}),
		"a record too few":            {},
		"bytes behind":                append(appendRecord(nil, Record{}), 0),
		"length beyond the batch":     {100, 0, 0, 0, 1, 1, 0},
		"negative length":             {1, 0, 0, 0, 1, 1, 0},
		"key beyond the record":       {12, 0, 0, 0, 100, 1, 0},
		"many headers":                {12, 0, 0, 0, 1, 1, 126},
		"endless varint":              bytes.Repeat([]byte{0xff}, 20),
	} {
		if records, err := Records(buildBatch(0, 0, 0, 0, 1, b), 100); err == nil {
			t.Errorf("%s: decoded as %v", name, records)
		}
	}
}

// TestAppendCodes: each way in which a produced batch can be wrong has its error code.
func TestAppendCodes(t *testing.T) {
	good := func() []byte { return BuildBatch(0, -1, 0, []byte("v"), []byte("w")) }
	change := func(at int, v ...byte) []byte { b := good(); copy(b[at:], v); return b }
	sealed := func(at int, v ...byte) []byte { b := change(at, v...); seal(b); return b }
	for name, c := range map[string]struct {
		batch []byte
		code  kafka.Code
	}{
		"magic 0":             {change(atMagic, 0), kafka.UnsupportedForMessageFormat},
		"magic 1":             {change(atMagic, 1), kafka.UnsupportedForMessageFormat},
		"magic 3":             {change(atMagic, 3), kafka.CorruptMessage},
		"CRC":                 {change(atCRC, 1, 2, 3, 4), kafka.CorruptMessage},
		"header only in part": {good()[:40], kafka.CorruptMessage},
		"cut":                 {good()[:70], kafka.CorruptMessage},
		"length 0":            {change(atLength, 0, 0, 0, 0), kafka.CorruptMessage},
		"length negative":     {change(atLength, 0xff), kafka.CorruptMessage},
		"length huge":         {change(atLength, 0x7f, 0xff, 0xff, 0xff), kafka.CorruptMessage},
		"length over max":     {change(atLength, 0, 0, 1, 0), kafka.MessageTooLarge},
		"no records":          {sealed(atRecords, 0, 0, 0, 0), kafka.InvalidRecord},
		"negative records":    {sealed(atRecords, 0xff), kafka.InvalidRecord},
		"sparse offsets":      {sealed(atLastDelta, 0, 0, 0, 5), kafka.InvalidRecord},
		"control":             {sealed(atAttributes, 0, attrControl), kafka.InvalidRecord},
		"codec 7":             {sealed(atAttributes, 0, 7), kafka.InvalidRecord},
		"record deltas":       {sealed(headerSize+3, 2), kafka.InvalidRecord},
		"second batch cut":    {append(good(), good()[:30]...), kafka.CorruptMessage},
	} {
		l := openNew(t, Config{SegmentBytes: 1000, IndexIntervalBytes: 0, MaxBatchBytes: 200})
		_, _, err := l.Append(c.batch, 0)
		var bad *InvalidBatch
		if !errors.As(err, &bad) || bad.Code != c.code {
			t.Errorf("%s: %v, expected %v", name, err, c.code)
		} else if len(err.Error()) > 200 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
		if l.End() != 0 {
			t.Errorf("%s: end is %d", name, l.End())
		}
	}
}

// TestBatchAsKmsgReadsIt holds the layout against another codec's.
func TestBatchAsKmsgReadsIt(t *testing.T) {
	var b kmsg.RecordBatch
	raw := buildBatch(40, 3, 1000, 0, 3, rawRecords())
	if err := b.ReadFrom(raw); err != nil {
		t.Fatal(err)
	}
	h, err := parseWhole(raw)
	if err != nil {
		t.Fatal(err)
	}
	if b.FirstOffset != int64(h.Base) || b.PartitionLeaderEpoch != int32(h.Epoch) || uint32(b.CRC) != h.CRC || b.Magic != 2 ||
		b.LastOffsetDelta != 2 || b.NumRecords != h.Records || b.FirstTimestamp != 1000 || b.ProducerID != -1 || b.FirstSequence != -1 {
		t.Errorf("kmsg reads %+v, the log %+v", b, h)
	}
	var r kmsg.Record
	if err := r.ReadFrom(b.Records); err != nil || string(r.Value) != "no key" || r.Key != nil {
		t.Errorf("kmsg reads the first record as %+v, %v", r, err)
	}
}
