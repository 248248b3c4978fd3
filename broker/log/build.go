package log

import (
	"encoding/binary"
	"hash/crc32"

	"tidemark/broker/kafka"
)

// BuildBatch makes an uncompressed batch of records without keys or headers, for tests: at base offset base, in leader epoch
// epoch, every record with timestamp ms (milliseconds since 1970). A nil value is a null one.
func BuildBatch(base kafka.Offset, epoch kafka.Epoch, ms int64, values ...[]byte) []byte {
	var records []byte
	for i, v := range values {
		records = appendRecord(records, Record{Offset: kafka.Offset(i), Value: v})
	}
	return buildBatch(base, epoch, ms, 0, len(values), records)
}

// Sequence makes a batch that of an idempotent producer, in place: its producer id and epoch, and the sequence number of its first record.
func Sequence(b []byte, producer int64, epoch int16, first int32) []byte {
	binary.BigEndian.PutUint64(b[atProducerID:], uint64(producer))
	binary.BigEndian.PutUint16(b[atProducerEpoch:], uint16(epoch))
	binary.BigEndian.PutUint32(b[atSequence:], uint32(first))
	seal(b)
	return b
}

// buildBatch makes a batch around n records as they stand on the wire, compressed as the attributes say.
func buildBatch(base kafka.Offset, epoch kafka.Epoch, ms int64, attributes uint16, n int, records []byte) []byte {
	b := make([]byte, headerSize, headerSize+len(records))
	b = append(b, records...)
	stamp(b, base, epoch)
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-lengthOverhead))
	b[atMagic] = 2
	binary.BigEndian.PutUint16(b[atAttributes:], attributes)
	binary.BigEndian.PutUint32(b[atLastDelta:], uint32(n-1))
	binary.BigEndian.PutUint64(b[atFirstTime:], uint64(ms))
	binary.BigEndian.PutUint64(b[atMaxTime:], uint64(ms))
	for i := atProducerID; i < atRecords; i++ { // no producer id, epoch or sequence: -1
		b[i] = 0xff
	}
	binary.BigEndian.PutUint32(b[atRecords:], uint32(n))
	seal(b)
	return b
}

// seal writes a batch's CRC.
func seal(b []byte) {
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
}

// appendRecord appends a record as it stands in a batch whose base offset and first timestamp are 0: Offset and Time are
// deltas.
func appendRecord(dst []byte, r Record) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, r.Time)
	body = binary.AppendVarint(body, int64(r.Offset))
	body = appendBytes(body, r.Key)
	body = appendBytes(body, r.Value)
	body = binary.AppendVarint(body, int64(len(r.Headers)))
	for _, h := range r.Headers {
		body = binary.AppendVarint(body, int64(len(h.Key)))
		body = append(body, h.Key...)
		body = appendBytes(body, h.Value)
	}
	dst = binary.AppendVarint(dst, int64(len(body)))
	return append(dst, body...)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}
