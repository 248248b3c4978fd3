package log

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"tidemark/broker/kafka"
)

// Sparse is one whole batch of a log whose offsets need not be dense: compaction removes records from the middle of batches, and leaves
// a batch without any where it was its producer's last (DefaultRecordBatch.java, LogCleaner.scala). Our own logs have no such batches.
type Sparse struct {
	Base, Last kafka.Offset // the offsets that it takes up
	Epoch      kafka.Epoch
	Control    bool     // its records are markers of transactions, and nobody's data
	Records    []Record // ascending by offset; none of a control batch
}

// ParseSparse reads the one batch of format 2 that b is and checks its CRC. What its records decompress to must not exceed maxBytes.
// Keys and values may share memory with b. The error is a *InvalidBatch.
func ParseSparse(b []byte, maxBytes int) (Sparse, error) {
	if len(b) < headerSize {
		return Sparse{}, reject(kafka.CorruptMessage, "%d bytes, expected a batch header of %d", len(b), headerSize)
	}
	if magic := int8(b[atMagic]); magic != 2 {
		return Sparse{}, reject(kafka.CorruptMessage, "batch has magic %d, expected 2", magic)
	}
	if length := int64(int32(binary.BigEndian.Uint32(b[atLength:]))) + lengthOverhead; length != int64(len(b)) {
		return Sparse{}, reject(kafka.CorruptMessage, "batch has %d bytes by its length field, expected %d", length, len(b))
	}
	if crc, want := binary.BigEndian.Uint32(b[atCRC:]), crc32.Checksum(b[atAttributes:], castagnoli); crc != want {
		return Sparse{}, reject(kafka.CorruptMessage, "batch has CRC %08x, expected %08x", crc, want)
	}
	base, delta := int64(binary.BigEndian.Uint64(b[atBase:])), int32(binary.BigEndian.Uint32(b[atLastDelta:]))
	if base < 0 || delta < 0 || base > math.MaxInt64-1-int64(delta) {
		return Sparse{}, reject(kafka.CorruptMessage, "batch has base offset %d and last offset delta %d, expected non-negative ones", base, delta)
	}
	n := int32(binary.BigEndian.Uint32(b[atRecords:]))
	if n < 0 || int64(n) > int64(delta)+1 {
		return Sparse{}, reject(kafka.InvalidRecord, "batch has %d records, expected 0 to %d by its last offset delta", n, int64(delta)+1)
	}
	attributes := binary.BigEndian.Uint16(b[atAttributes:])
	out := Sparse{
		Base: kafka.Offset(base), Last: kafka.Offset(base + int64(delta)), Epoch: kafka.Epoch(binary.BigEndian.Uint32(b[atEpoch:])),
		Control: attributes&attrControl != 0,
	}
	if out.Control || n == 0 {
		return out, nil
	}
	data, err := decompress(codec(attributes&attrCodec), b[headerSize:], maxBytes)
	if err != nil {
		return out, err
	}
	if int64(n) > int64(len(data)/minRecordSize) {
		return out, reject(kafka.InvalidRecord, "batch has %d records in %d bytes, expected at least %d bytes each", n, len(data), minRecordSize)
	}
	first, latest := int64(binary.BigEndian.Uint64(b[atFirstTime:])), int64(binary.BigEndian.Uint64(b[atMaxTime:]))
	d := decoder{rest: data}
	out.Records = make([]Record, 0, n)
	least := int64(0)
	for i := range n {
		r, at := d.record(i, least, int64(delta))
		if d.err != nil {
			return out, d.err
		}
		r.Offset, r.Epoch = out.Base+kafka.Offset(at), out.Epoch
		if r.Time += first; attributes&attrLogAppendTime != 0 {
			r.Time = latest
		}
		out.Records = append(out.Records, r)
		least = at + 1
	}
	if len(d.rest) > 0 {
		return out, reject(kafka.InvalidRecord, "%d bytes behind the last record, expected none", len(d.rest))
	}
	return out, nil
}
