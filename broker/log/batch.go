package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"tidemark/broker/kafka"
)

// The fields of a v2 record batch's header (Kafka's DefaultRecordBatch.java), by their byte offsets. The CRC covers everything
// from the attributes on, so that a leader may write base offset and epoch without touching it.
const (
	atBase          = 0
	atLength        = 8
	atEpoch         = 12
	atMagic         = 16
	atCRC           = 17
	atAttributes    = 21
	atLastDelta     = 23
	atFirstTime     = 27
	atMaxTime       = 35
	atProducerID    = 43
	atProducerEpoch = 51
	atSequence      = 53
	atRecords       = 57
	headerSize      = 61

	lengthOverhead = 12 // what the length field does not count: itself and the base offset
)

// The attribute bits of a batch.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is the header of one record batch, as far as replication needs it.
type Batch struct {
	Base, Last kafka.Offset // of its first and last record
	Epoch      kafka.Epoch  // partition leader epoch
	CRC        uint32       // CRC32C over attributes to end: not over base offset and epoch
	Records    int32
	Size       int // bytes, header included
}

// ParseBatch reads the header that b starts with and checks that its fields agree with each other. It does not look at the
// records, whose bytes b need not hold, nor at the CRC. The error is a *InvalidBatch.
func ParseBatch(b []byte) (Batch, error) {
	if len(b) > atMagic {
		if binary.BigEndian.Uint32(b[atLength:]) == 0 { // as where a file's length outlived its data
			return Batch{}, reject(kafka.CorruptMessage, "batch length field is 0, expected at least %d", headerSize-lengthOverhead)
		}
		if magic := int8(b[atMagic]); magic == 0 || magic == 1 {
			return Batch{}, reject(kafka.UnsupportedForMessageFormat, "batch has magic %d, expected 2", magic)
		} else if magic != 2 {
			return Batch{}, reject(kafka.CorruptMessage, "batch has magic %d, expected 2", magic)
		}
	}
	if len(b) < headerSize {
		return Batch{}, reject(kafka.CorruptMessage, "%d bytes left, expected a batch header of %d", len(b), headerSize)
	}
	length := int32(binary.BigEndian.Uint32(b[atLength:]))
	if length < headerSize-lengthOverhead || length > math.MaxInt32-lengthOverhead {
		return Batch{}, reject(kafka.CorruptMessage, "batch length field is %d, expected at least %d", length, headerSize-lengthOverhead)
	}
	base := int64(binary.BigEndian.Uint64(b[atBase:]))
	delta := int32(binary.BigEndian.Uint32(b[atLastDelta:]))
	records := int32(binary.BigEndian.Uint32(b[atRecords:]))
	if records < 1 || delta != records-1 {
		return Batch{}, reject(kafka.InvalidRecord, "batch has %d records and last offset delta %d, expected at least one and dense offsets", records, delta)
	}
	if base < 0 || base > math.MaxInt64-1-int64(delta) {
		return Batch{}, reject(kafka.CorruptMessage, "batch has base offset %d, expected a non-negative one", base)
	}
	return Batch{
		Base: kafka.Offset(base), Last: kafka.Offset(base + int64(delta)),
		Epoch:   kafka.Epoch(binary.BigEndian.Uint32(b[atEpoch:])),
		CRC:     binary.BigEndian.Uint32(b[atCRC:]),
		Records: records,
		Size:    int(length) + lengthOverhead,
	}, nil
}

// parseWhole reads the batch that b starts with, all of its bytes included, and checks its CRC.
func parseWhole(b []byte) (Batch, error) {
	h, err := ParseBatch(b)
	if err != nil {
		return h, err
	}
	if h.Size > len(b) {
		return h, reject(kafka.CorruptMessage, "batch has %d bytes by its length field, but %d are left", h.Size, len(b))
	}
	if crc := crc32.Checksum(b[atAttributes:h.Size], castagnoli); crc != h.CRC {
		return h, reject(kafka.CorruptMessage, "batch has CRC %08x, expected %08x", h.CRC, crc)
	}
	return h, nil
}

// stamp writes what a leader decides into a batch: CRC-neutral.
func stamp(b []byte, base kafka.Offset, epoch kafka.Epoch) {
	binary.BigEndian.PutUint64(b[atBase:], uint64(base))
	binary.BigEndian.PutUint32(b[atEpoch:], uint32(epoch))
}

// InvalidBatch is a batch that a log refuses, with the error code for the producer: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE,
// RECORD_LIST_TOO_LARGE, INVALID_RECORD, UNSUPPORTED_FOR_MESSAGE_FORMAT, NOT_LEADER_OR_FOLLOWER for a leader epoch that has passed, or what
// becomes of an idempotent producer's batch: OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE.
type InvalidBatch struct {
	Code   kafka.Code
	Reason string
}

// Error says what was wrong and what was expected.
func (e *InvalidBatch) Error() string { return e.Code.String() + ": " + e.Reason }

func reject(code kafka.Code, format string, args ...any) error {
	return &InvalidBatch{code, fmt.Sprintf(format, args...)}
}

// OffsetOutOfRange is a read outside the log.
type OffsetOutOfRange struct{ From, Start, End kafka.Offset }

// Error names the offset and the log's range.
func (e *OffsetOutOfRange) Error() string {
	return fmt.Sprintf("offset %d is out of range, expected %d to %d", e.From, e.Start, e.End)
}
