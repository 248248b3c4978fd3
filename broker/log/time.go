package log

import (
	"encoding/binary"
	"fmt"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// maxDecompressed bounds what one batch may decompress to when the broker itself looks into it, in bytes.
const maxDecompressed = 64 << 20

// OffsetForTime returns the first record with a timestamp ≥ ms and its timestamp; (-1, -1) when there is none. It walks the
// headers from Start on.
func (l *Log) OffsetForTime(ms int64) (kafka.Offset, int64, error) {
	for _, s := range l.segments {
		for pos := int64(0); pos < s.size; {
			h, err := l.headerAt(s, pos)
			if err != nil {
				return -1, -1, err
			}
			b, err := ParseBatch(h)
			if err != nil {
				return -1, -1, s.corrupt(pos, err.Error())
			}
			if int64(binary.BigEndian.Uint64(h[atMaxTime:])) >= ms {
				offset, at, err := l.firstSince(s, pos, b, ms)
				if err != nil || offset >= 0 {
					return offset, at, err
				}
			}
			pos += int64(b.Size)
		}
	}
	return -1, -1, nil
}

// firstSince looks into one batch.
func (l *Log) firstSince(s *segment, pos int64, b Batch, ms int64) (kafka.Offset, int64, error) {
	if int64(b.Size) > s.size-pos {
		return -1, -1, s.corrupt(pos, "batch is larger than what is left of the segment")
	}
	data := make([]byte, b.Size)
	if err := disk.ReadFull(s.file, data, pos); err != nil {
		return -1, -1, fmt.Errorf("read %s: %w", s.logPath, err)
	}
	records, err := Records(data, maxDecompressed)
	if err != nil {
		return -1, -1, err
	}
	for _, r := range records {
		if r.Time >= ms && r.Offset >= l.start {
			return r.Offset, r.Time, nil
		}
	}
	return -1, -1, nil
}
