package log

import (
	"encoding/binary"
	"fmt"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// Read returns whole batches from the one that contains from on, of those whose last offset is below bound, at most
// maxBytes of them, but the first whatever its size if minOne. Empty when from == bound or nothing fits. An offset outside [Start, End]
// is an *OffsetOutOfRange error. It does not read across the end of a segment, so there may be more. The bytes may be
// shared with other readers: they must not be changed.
func (l *Log) Read(from, bound kafka.Offset, maxBytes int, minOne bool) ([]byte, error) {
	if from < l.Start() || from > l.end {
		return nil, &OffsetOutOfRange{from, l.Start(), l.end}
	}
	bound = min(bound, l.end)
	if from >= bound {
		return nil, nil
	}
	if data, _, ok := l.tail.from(from); ok {
		n, err := prefix(data, bound, maxBytes, minOne)
		return data[:n:n], err
	}
	s := l.segments[l.segmentOf(from)]
	pos, b, err := l.find(s, from)
	if err != nil || b.Last >= bound {
		return nil, err
	}
	limit := min(int64(max(maxBytes, 0)), ceiling(s.index, bound-s.base, s.size)-pos)
	if int64(b.Size) > limit {
		if !minOne {
			return nil, nil
		}
		limit = int64(b.Size)
	}
	if limit > s.size-pos {
		return nil, s.corrupt(pos, "batch is larger than what is left of the segment")
	}
	data := make([]byte, limit)
	if err := disk.ReadFull(s.file, data, pos); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.logPath, err)
	}
	n, err := prefix(data, bound, maxBytes, minOne)
	return data[:n:n], err
}

// prefix is the length of the leading batches of data that lie below bound and within maxBytes. data may end in a part of a
// batch.
func prefix(data []byte, bound kafka.Offset, maxBytes int, minOne bool) (int, error) {
	n := 0
	for len(data)-n >= headerSize {
		h := data[n:]
		size := int(binary.BigEndian.Uint32(h[atLength:])) + lengthOverhead
		last := kafka.Offset(binary.BigEndian.Uint64(h)) + kafka.Offset(binary.BigEndian.Uint32(h[atLastDelta:]))
		if last >= bound || size > len(h) || (n+size > maxBytes && (n > 0 || !minOne)) {
			break
		}
		if size < headerSize {
			_, err := ParseBatch(h)
			return n, err
		}
		n += size
	}
	return n, nil
}

// EachBatch calls fn with the header of every batch from the one that contains from on, until fn returns false. fn must not
// change the log.
func (l *Log) EachBatch(from kafka.Offset, fn func(Batch) bool) error {
	if from < l.Start() || from > l.end {
		return &OffsetOutOfRange{from, l.Start(), l.end}
	}
	if from == l.end {
		return nil
	}
	i := l.segmentOf(from)
	pos, b, err := l.find(l.segments[i], from)
	for err == nil && fn(b) && b.Last+1 < l.end {
		pos += int64(b.Size)
		if pos == l.segments[i].size {
			i, pos = i+1, 0
		}
		b, err = l.batchAt(l.segments[i], pos)
	}
	return err
}

// find returns the position and header of the batch that contains o, which must be in s.
func (l *Log) find(s *segment, o kafka.Offset) (int64, Batch, error) {
	if s == l.active() {
		if data, pos, ok := l.tail.from(o); ok {
			b, err := ParseBatch(data)
			return pos, b, err
		}
	}
	pos := floor(s.index, o-s.base)
	for {
		b, err := l.batchAt(s, pos)
		if err == nil && b.Base > o {
			err = s.corrupt(pos, fmt.Sprintf("batch starts at offset %d, expected at most %d", b.Base, o))
		}
		if err != nil || b.Last >= o {
			return pos, b, err
		}
		pos += int64(b.Size)
	}
}

// batchAt returns the header of the batch at a position.
func (l *Log) batchAt(s *segment, pos int64) (Batch, error) {
	h, err := l.headerAt(s, pos)
	if err != nil {
		return Batch{}, err
	}
	b, err := ParseBatch(h)
	if err != nil {
		return b, s.corrupt(pos, err.Error())
	}
	return b, nil
}

// headerAt returns at least the header's bytes of the batch at a position, from the tail or through the window.
func (l *Log) headerAt(s *segment, pos int64) ([]byte, error) {
	if s == l.active() {
		if h, ok := l.tail.header(pos); ok {
			return h, nil
		}
	}
	if s.size-pos < headerSize {
		return nil, s.corrupt(pos, "no whole batch header is left")
	}
	return l.window.read(s, pos, headerSize, windowBytes)
}

func (s *segment) corrupt(pos int64, reason string) error {
	return reject(kafka.CorruptMessage, "%s at %d: %s", s.logPath, pos, reason)
}

// windowBytes is read at once when headers are walked: about an index interval.
const windowBytes = 4096

// window is the part of a segment's file that was read last.
type window struct {
	segment *segment
	pos     int64
	buf     []byte
}

// read returns the n bytes at pos, reading up to chunk bytes of the file from there if the window does not hold them.
func (w *window) read(s *segment, pos int64, n, chunk int) ([]byte, error) {
	if at := pos - w.pos; w.segment == s && at >= 0 && at+int64(n) <= int64(len(w.buf)) {
		return w.buf[at:], nil
	}
	size := int(min(int64(max(n, chunk)), s.size-pos))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.segment, w.pos, w.buf = s, pos, w.buf[:size]
	if err := disk.ReadFull(s.file, w.buf, pos); err != nil {
		w.forget()
		return nil, fmt.Errorf("read %s: %w", s.logPath, err)
	}
	return w.buf, nil
}

// forget empties the window: the file behind it was cut.
func (w *window) forget() { w.segment = nil }
