package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
)

// Append appends a producer's batches as leader of epoch: it validates them (magic 2, size, CRC, dense offset deltas), writes base
// offsets and the epoch into them (in place) and returns the offset of the first record and the one behind the last, which is the new end.
// A batch that its idempotent producer had appended before is not appended again: the offsets are then those of the original, and the end
// stays. A *InvalidBatch refuses them all, and changes nothing; any other error is the disk's.
func (l *Log) Append(batches []byte, epoch kafka.Epoch) (first, end kafka.Offset, err error) {
	if epoch < 0 || epoch < l.LatestEpoch() {
		return 0, l.end, reject(kafka.NotLeaderOrFollower, "append in epoch %d, expected at least %d", epoch, max(0, l.LatestEpoch()))
	}
	if len(batches) == 0 {
		return 0, l.end, reject(kafka.InvalidRecord, "no batch, expected at least one")
	}
	if len(batches) > l.cfg.SegmentBytes {
		return 0, l.end, reject(kafka.RecordListTooLarge, "batches have %d bytes, expected at most a segment of %d", len(batches), l.cfg.SegmentBytes)
	}
	next := l.end
	for rest := batches; len(rest) > 0; {
		b, err := l.validateProduced(rest)
		if err != nil {
			return 0, l.end, err
		}
		if s, ok := sequenceOf(rest, next); ok {
			if b.Size != len(batches) { // as Kafka asks of every producer (ProduceRequest.validateRecords)
				return 0, l.end, reject(kafka.InvalidRecord, "%d bytes with a batch of %d of an idempotent producer, expected no other batch", len(batches), b.Size)
			}
			original, copied, err := l.producers.admit(s)
			if err != nil || copied {
				return original.base, original.end, err
			}
		}
		if next > math.MaxInt64-1-kafka.Offset(b.Records) {
			return 0, l.end, reject(kafka.InvalidRecord, "%d records at offset %d, expected offsets below 2^63", b.Records, next)
		}
		next += kafka.Offset(b.Records)
		rest = rest[b.Size:]
	}
	first, next = l.end, l.end
	for rest := batches; len(rest) > 0; {
		size := int(binary.BigEndian.Uint32(rest[atLength:])) + lengthOverhead
		stamp(rest, next, epoch)
		next += kafka.Offset(binary.BigEndian.Uint32(rest[atRecords:]))
		rest = rest[size:]
	}
	if err := l.write(batches, false); err != nil {
		return 0, l.end, err
	}
	return first, l.end, nil
}

// validateProduced checks the batch that b starts with as Kafka's LogValidator does.
func (l *Log) validateProduced(b []byte) (Batch, error) {
	h, err := ParseBatch(b)
	if err != nil {
		return h, err
	}
	if h.Size > l.cfg.MaxBatchBytes {
		return h, reject(kafka.MessageTooLarge, "batch has %d bytes, expected at most %d", h.Size, l.cfg.MaxBatchBytes)
	}
	if h, err = parseWhole(b); err != nil {
		return h, err
	}
	attributes := binary.BigEndian.Uint16(b[atAttributes:])
	switch codec := attributes & attrCodec; {
	case attributes&attrControl != 0:
		return h, reject(kafka.InvalidRecord, "control batch from a producer, expected data")
	case attributes&attrTransactional != 0:
		return h, reject(kafka.InvalidTxnState, "batch of a transaction, expected none: there is no transaction coordinator")
	case !validSequence(b):
		return h, reject(kafka.InvalidRecord, "batch of an idempotent producer with an epoch or a sequence number below 0, expected none")
	case codec > uint16(codecZstd):
		return h, reject(kafka.InvalidRecord, "compression codec %d, expected at most %d", codec, codecZstd)
	case codec == 0:
		return h, checkRecords(b[headerSize:h.Size], h.Records)
	}
	return h, nil
}

// validSequence looks at the epoch and sequence number in the header of a batch whose producer is idempotent.
func validSequence(h []byte) bool {
	s, ok := sequenceOf(h, 0)
	return !ok || s.epoch >= 0 && s.first >= 0
}

// AppendFetched appends batches as the leader sent them: offsets and epochs are kept; the first must start at End. A trailing
// partial batch (cut by a fetch's size limit) is ignored. A *InvalidBatch refuses them all, and changes nothing; any other
// error is the disk's.
func (l *Log) AppendFetched(batches []byte) (end kafka.Offset, err error) {
	next, epoch, whole := l.end, max(0, l.LatestEpoch()), 0
	for len(batches)-whole > atMagic {
		rest := batches[whole:]
		if size := int64(int32(binary.BigEndian.Uint32(rest[atLength:]))) + lengthOverhead; size >= headerSize && size > int64(len(rest)) {
			break
		}
		b, err := parseWhole(rest)
		if err != nil {
			return l.end, err
		}
		if b.Base != next {
			return l.end, reject(kafka.CorruptMessage, "fetched batch starts at offset %d, expected %d", b.Base, next)
		}
		if b.Epoch < epoch {
			return l.end, reject(kafka.CorruptMessage, "fetched batch at offset %d has epoch %d, expected at least %d", b.Base, b.Epoch, epoch)
		}
		next, epoch = b.Last+1, b.Epoch
		whole += b.Size
	}
	if err := l.write(batches[:whole], true); err != nil {
		return l.end, err
	}
	return l.end, nil
}

// write appends whole, validated batches, rolling segments as they fill.
func (l *Log) write(data []byte, fetched bool) error {
	for len(data) > 0 {
		s := l.active()
		n := l.fitting(s, data)
		if n == 0 {
			if err := l.roll(); err != nil {
				return err
			}
			continue
		}
		if err := l.writeRun(s, data[:n], fetched); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// fitting is the size of the leading batches that may go into a segment: at least one if it is empty.
func (l *Log) fitting(s *segment, data []byte) int {
	n := 0
	for n < len(data) {
		size := int(binary.BigEndian.Uint32(data[n+atLength:])) + lengthOverhead
		last := kafka.Offset(binary.BigEndian.Uint64(data[n:])) + kafka.Offset(binary.BigEndian.Uint32(data[n+atLastDelta:]))
		full := s.size+int64(n+size) > int64(min(l.cfg.SegmentBytes, math.MaxInt32)) || last-s.base > math.MaxInt32
		if full && s.size+int64(n) > 0 {
			break
		}
		n += size
	}
	return n
}

func (l *Log) writeRun(s *segment, data []byte, fetched bool) error {
	_, err := s.file.WriteAt(data, s.size)
	if l.cfg.Bug.Bites(bug.ShortWriteIgnored, errors.Is(err, io.ErrShortWrite)) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", s.logPath, err)
	}
	l.flush.touch(s)
	for len(data) > 0 {
		b, err := ParseBatch(data)
		if err != nil {
			return err
		}
		if err := s.addIndex(b, s.size, l.cfg.IndexIntervalBytes); err != nil {
			return fmt.Errorf("append to %s: %w", s.indexPath, err)
		}
		l.AssignEpoch(b.Epoch, b.Base)
		if q, ok := sequenceOf(data, b.Base); ok && !l.cfg.Bug.Bites(bug.ProducersLeaderOnly, fetched) {
			l.producers.note(q)
		}
		l.tail.add(b, s.size, data[:b.Size])
		s.size += int64(b.Size)
		s.end, l.end = b.Last+1, b.Last+1
		data = data[b.Size:]
	}
	return nil
}

// roll starts a new segment at the end.
func (l *Log) roll() error {
	if err := l.active().closeIndex(); err != nil {
		return err
	}
	l.oweSnapshot()
	return l.startSegment(l.end)
}

func (l *Log) startSegment(base kafka.Offset) error {
	s := newSegment(l.dir, base)
	l.segments = append(l.segments, s)
	l.tail.restart()
	if err := s.openFiles(l.fs, true); err != nil {
		return fmt.Errorf("start segment %s: %w", s.logPath, err)
	}
	l.flush.touch(s)
	l.flush.dirChanged()
	return nil
}
