package workloads

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/snappy"

	"tidemark/history"
)

// Layout of a record batch, magic 2 (Kafka's DefaultRecordBatch). The CRC covers everything from the attributes on.
const (
	batchLengthAt     = 8
	batchMagicAt      = 16
	batchCRCAt        = 17
	batchAttributesAt = 21
	batchLastDeltaAt  = 23
	batchProducerIDAt = 43
	batchEpochAt      = 51
	batchSequenceAt   = 53
	batchCountAt      = 57
	batchHeaderBytes  = 61

	batchMagic       = 2
	attrCompression  = 0x07
	attrSnappy       = 0x02
	attrControlBatch = 0x20
)

// unpackedBytesMax bounds the records of one batch, decompressed. The workload's values are short: it is thousands of them.
const unpackedBytesMax = 4 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBatch appends a batch with one record without key or headers. It carries no producer id, so the broker does not
// deduplicate, and no timestamp, so that retention by age goes by the file's.
func appendBatch(dst []byte, value string) []byte {
	start := len(dst)
	var header [batchHeaderBytes]byte
	header[batchMagicAt] = batchMagic
	for i := batchLastDeltaAt + 4; i < batchCountAt; i++ {
		header[i] = 0xff // first and last timestamp, producer id, producer epoch and first sequence are -1
	}
	binary.BigEndian.PutUint32(header[batchCountAt:], 1)
	dst = append(dst, header[:]...)

	var size [binary.MaxVarintLen64]byte
	n := binary.PutVarint(size[:], int64(len(value)))
	dst = binary.AppendVarint(dst, int64(3+1+n+len(value)+1))
	dst = append(dst, 0, 0, 0, 1) // attributes, timestamp delta, offset delta; key length -1, zigzag
	dst = append(dst, size[:n]...)
	dst = append(dst, value...)
	dst = append(dst, 0) // headers

	b := dst[start:]
	binary.BigEndian.PutUint32(b[batchLengthAt:], uint32(len(b)-batchLengthAt-4))
	binary.BigEndian.PutUint32(b[batchCRCAt:], crc32.Checksum(b[batchAttributesAt:], castagnoli))
	return dst
}

// sequenceBatch makes a batch that of an idempotent producer: its id and epoch, and the sequence number of the first record.
func sequenceBatch(b []byte, producer int64, epoch int16, sequence int32) {
	binary.BigEndian.PutUint64(b[batchProducerIDAt:], uint64(producer))
	binary.BigEndian.PutUint16(b[batchEpochAt:], uint16(epoch))
	binary.BigEndian.PutUint32(b[batchSequenceAt:], uint32(sequence))
	binary.BigEndian.PutUint32(b[batchCRCAt:], crc32.Checksum(b[batchAttributesAt:], castagnoli))
}

// batchReader reads the records of a Fetch answer. Its buffers are reused; what it returns is not.
type batchReader struct {
	text  []byte // all values, one behind the other
	spans []span
}

type span struct {
	offset history.Offset
	end    int // of the value in text; it begins where the one before ends
}

// read returns the records at or above position, and the position after the last batch; records below it are left out, as a
// broker answers with whole batches, and so are control records. A batch cut short by the answer's size limit ends it.
func (r *batchReader) read(position history.Offset, b []byte) (records []history.Record, next history.Offset, err error) {
	r.text, r.spans = r.text[:0], r.spans[:0]
	next = position
	for len(b) >= batchLengthAt+4 {
		base := int64(binary.BigEndian.Uint64(b))
		length := int(int32(binary.BigEndian.Uint32(b[batchLengthAt:])))
		if length < messageBytesMin {
			return nil, position, fmt.Errorf("batch at offset %d of %d bytes, expected at least %d", base, length, messageBytesMin)
		}
		if length > len(b)-batchLengthAt-4 {
			break
		}
		batch := b[:batchLengthAt+4+length]
		b = b[len(batch):]
		read := r.readBatch
		if batch[batchMagicAt] <= messageMagic {
			read = r.readMessage
		}
		last, err := read(position, base, batch)
		if err != nil {
			return nil, position, err
		}
		next = max(next, last+1)
	}
	if len(r.spans) == 0 {
		return nil, next, nil
	}
	records = make([]history.Record, len(r.spans))
	text, from := string(r.text), 0
	for i, s := range r.spans {
		records[i] = history.Record{Offset: s.offset, Value: text[from:s.end]}
		from = s.end
	}
	return records, next, nil
}

// readBatch takes down one whole batch's records and returns its last offset.
func (r *batchReader) readBatch(position history.Offset, base int64, b []byte) (last history.Offset, err error) {
	if len(b) < batchHeaderBytes {
		return 0, fmt.Errorf("batch at offset %d of %d bytes, expected at least %d", base, len(b), batchHeaderBytes)
	}
	if b[batchMagicAt] != batchMagic {
		return 0, fmt.Errorf("batch at offset %d with magic %d, expected %d", base, b[batchMagicAt], batchMagic)
	}
	want, got := binary.BigEndian.Uint32(b[batchCRCAt:]), crc32.Checksum(b[batchAttributesAt:], castagnoli)
	if want != got {
		return 0, fmt.Errorf("%s: batch at offset %d with CRC %08x, expected %08x", history.CorruptBatch, base, want, got)
	}
	attributes := binary.BigEndian.Uint16(b[batchAttributesAt:])
	lastDelta, count := int32(binary.BigEndian.Uint32(b[batchLastDeltaAt:])), int32(binary.BigEndian.Uint32(b[batchCountAt:]))
	if base < 0 || base > maxOffset || lastDelta < 0 || count < 0 {
		return 0, fmt.Errorf("batch at offset %d with last delta %d and %d records, expected none below 0", base, lastDelta, count)
	}
	last = history.Offset(base + int64(lastDelta))
	if attributes&attrControlBatch != 0 {
		return last, nil
	}
	if b, err = unpack(attributes&attrCompression, b[batchHeaderBytes:]); err != nil {
		return 0, fmt.Errorf("batch at offset %d with %w", base, err)
	}
	for i := range count {
		delta, value, rest, ok := cutRecord(b)
		if !ok || delta < 0 || delta > int64(lastDelta) {
			return 0, fmt.Errorf("batch at offset %d: record %d of %d is malformed", base, i, count)
		}
		b = rest
		if offset := history.Offset(base + delta); offset >= position {
			r.text = append(r.text, value...)
			r.spans = append(r.spans, span{offset, len(r.text)})
		}
	}
	return last, nil
}

// unpack returns a batch's records as they were before their compression: none, as the raw producer sends, or one block of snappy, as
// franz-go does where that is shorter.
func unpack(compression uint16, b []byte) ([]byte, error) {
	switch compression {
	case 0:
		return b, nil
	case attrSnappy:
		n, err := snappy.DecodedLen(b)
		if err != nil {
			return nil, fmt.Errorf("snappy of %d bytes: %w", len(b), err)
		}
		if n > unpackedBytesMax {
			return nil, fmt.Errorf("snappy of %d bytes unpacked, expected at most %d", n, unpackedBytesMax)
		}
		if b, err = snappy.Decode(nil, b); err != nil {
			return nil, fmt.Errorf("snappy of %d bytes unpacked: %w", n, err)
		}
		return b, nil
	}
	return nil, fmt.Errorf("compression %d, expected none or snappy (%d)", compression, attrSnappy)
}

// maxOffset leaves room to add a batch's deltas.
const maxOffset = 1<<63 - 1 - 1<<32

// cutRecord cuts the first record off b.
func cutRecord(b []byte) (delta int64, value, rest []byte, ok bool) {
	size, n := binary.Varint(b)
	if n <= 0 || size < 1 || size > int64(len(b)-n) {
		return 0, nil, nil, false
	}
	b, rest = b[n:n+int(size)], b[n+int(size):]
	b = b[1:] // attributes
	if _, n = binary.Varint(b); n <= 0 {
		return 0, nil, nil, false
	}
	b = b[n:]
	if delta, n = binary.Varint(b); n <= 0 {
		return 0, nil, nil, false
	}
	if _, b, ok = cutBytes(b[n:]); !ok { // the key
		return 0, nil, nil, false
	}
	value, _, ok = cutBytes(b)
	return delta, value, rest, ok
}

// cutBytes cuts bytes with their length in front off b; a length of -1 is none.
func cutBytes(b []byte) (cut, rest []byte, ok bool) {
	size, n := binary.Varint(b)
	if n <= 0 || size < -1 || size > int64(len(b)-n) {
		return nil, nil, false
	}
	b = b[n:]
	if size <= 0 {
		return nil, b, true
	}
	return b[:size], b[size:], true
}
