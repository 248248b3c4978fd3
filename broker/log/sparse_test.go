package log

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"tidemark/broker/kafka"
)

// compacted is a batch that takes up offsets 10 to 19 and holds records at these deltas still.
func compacted(attributes uint16, deltas ...int64) []byte {
	var records []byte
	for _, delta := range deltas {
		body := append([]byte{0}, binary.AppendVarint(nil, 0)...)
		body = binary.AppendVarint(body, delta)
		body = append(body, 1, 2, 'v', 0) // no key, the value "v", no headers
		records = append(binary.AppendVarint(records, int64(len(body))), body...)
	}
	b := buildBatch(10, 4, 0, attributes, 1, records)
	binary.BigEndian.PutUint32(b[atLastDelta:], 9)
	binary.BigEndian.PutUint32(b[atRecords:], uint32(len(deltas)))
	return signed(b)
}

func signed(b []byte) []byte {
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
	return b
}

func TestParseSparse(t *testing.T) {
	got, err := ParseSparse(compacted(0, 1, 2, 9), 1000)
	must(t, err)
	if got.Base != 10 || got.Last != 19 || got.Epoch != 4 || got.Control || len(got.Records) != 3 {
		t.Fatalf("read %+v, expected offsets 10 to 19 of epoch 4 with 3 records", got)
	}
	for i, want := range []kafka.Offset{11, 12, 19} {
		if r := got.Records[i]; r.Offset != want || r.Epoch != 4 || string(r.Value) != "v" {
			t.Errorf("record %d is %+v, expected \"v\" at %d of epoch 4", i, r, want)
		}
	}
	if got, err = ParseSparse(compacted(0), 1000); err != nil || got.Last != 19 || len(got.Records) != 0 {
		t.Errorf("a batch without records is %+v, %v, expected offsets 10 to 19", got, err)
	}
	if got, err = ParseSparse(compacted(attrControl, 0), 1000); err != nil || !got.Control || len(got.Records) != 0 || got.Last != 19 {
		t.Errorf("a control batch is %+v, %v, expected offsets 10 to 19 and no record", got, err)
	}
}

func TestParseSparseRefuses(t *testing.T) {
	change := func(b []byte, do func(b []byte)) []byte {
		do(b)
		return signed(b)
	}
	plain := compacted(0, 3)
	for _, c := range []struct {
		name  string
		batch []byte
		want  string
	}{
		{"less than a header", plain[:60], "60 bytes"},
		{"a byte less", plain[:len(plain)-1], "by its length field"},
		{"a byte more", append(compacted(0, 3), 0), "by its length field"},
		{"another format", change(compacted(0, 3), func(b []byte) { b[atMagic] = 1 }), "magic 1"},
		{"a flipped bit", func() []byte { b := compacted(0, 3); b[len(b)-1] ^= 1; return b }(), "CRC"},
		{"an offset twice", compacted(0, 3, 3), "offset delta 3, expected 4 to 9"},
		{"an offset too far", compacted(0, 10), "offset delta 10, expected 0 to 9"},
		{"more records than offsets", change(compacted(0, 3), func(b []byte) { binary.BigEndian.PutUint32(b[atRecords:], 11) }), "11 records"},
		{"more records than bytes", change(compacted(0, 3), func(b []byte) { binary.BigEndian.PutUint32(b[atRecords:], 2) }), "2 records in 8 bytes"},
		{"a negative offset", change(compacted(0, 3), func(b []byte) { b[atBase] = 0x80 }), "expected non-negative"},
		{"no such codec", compacted(7, 3), "codec 7"},
		{"bytes behind", change(compacted(0, 1, 2), func(b []byte) { binary.BigEndian.PutUint32(b[atRecords:], 1) }), "behind the last record"},
	} {
		if _, err := ParseSparse(c.batch, 1000); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, expected %q", c.name, err, c.want)
		}
	}
}
