package workloads

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"

	"tidemark/history"
)

// wrapped is a wrapper around values, with the offset of the last, as a broker of 0.10 keeps what franz-go sends.
func wrapped(last int64, values ...string) []byte {
	var inside []byte
	for i, v := range values {
		at := len(inside)
		inside = appendMessage(inside, v)
		binary.BigEndian.PutUint64(inside[at:], uint64(i))
	}
	m := appendMessage(nil, string(snappy.Encode(nil, inside)))
	m[messageAttributesAt] = attrSnappy
	binary.BigEndian.PutUint64(m, uint64(last))
	binary.BigEndian.PutUint32(m[messageCRCAt:], crc32.ChecksumIEEE(m[batchMagicAt:]))
	return m
}

// TestMessageSetsAreRead reads what brokers before 0.11 answer: messages, a wrapper of some, and one that the answer's end cuts off.
func TestMessageSetsAreRead(t *testing.T) {
	var b []byte
	for i, v := range []string{"w-0-1", "", "w-0-3"} {
		at := len(b)
		b = appendMessage(b, v)
		binary.BigEndian.PutUint64(b[at:], uint64(5+i))
	}
	b = append(b, wrapped(10, "x", "y", "z")...)
	b = append(b, appendMessage(nil, "cut off")[:20]...)
	var r batchReader
	records, next, err := r.read(6, b)
	want := []history.Record{{Offset: 6}, {Offset: 7, Value: "w-0-3"}, {Offset: 8, Value: "x"}, {Offset: 9, Value: "y"}, {Offset: 10, Value: "z"}}
	if err != nil || next != 11 || !slices.Equal(records, want) {
		t.Errorf("read %v, next %d, %v, expected %v", records, next, err, want)
	}
}

// TestMessagesThatAreWrong gives messages that no broker sends: an error, whatever byte is another.
func TestMessagesThatAreWrong(t *testing.T) {
	for _, good := range [][]byte{appendMessage(nil, "w-0-1"), wrapped(3, "x", "y")} {
		for at := batchMagicAt; at < len(good); at++ {
			bad := slices.Clone(good)
			bad[at] ^= 0x55
			var r batchReader
			if records, _, err := r.read(0, bad); err == nil {
				t.Errorf("byte %d is another, and %v was read", at, records)
			}
		}
	}
}
