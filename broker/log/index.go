package log

import (
	"encoding/binary"
	"fmt"
	"math"

	"tidemark/broker/kafka"
)

// indexEntry is one entry of a segment's offset index, as in Kafka's OffsetIndex: the last offset of a batch, relative to the
// segment's base, and the position at which that batch starts.
type indexEntry struct{ relative, position int32 }

const (
	indexEntrySize = 8
	maxRelative    = math.MaxInt32
)

func (e indexEntry) put(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(e.relative))
	binary.BigEndian.PutUint32(b[4:], uint32(e.position))
}

// parseIndex reads an index file of a segment of size bytes, and refuses one that cannot be that segment's.
func parseIndex(b []byte, size int64) ([]indexEntry, error) {
	if len(b)%indexEntrySize != 0 {
		return nil, fmt.Errorf("index has %d bytes, expected a multiple of %d", len(b), indexEntrySize)
	}
	entries := make([]indexEntry, len(b)/indexEntrySize)
	last := indexEntry{-1, 0}
	for i := range entries {
		e := indexEntry{int32(binary.BigEndian.Uint32(b[i*indexEntrySize:])), int32(binary.BigEndian.Uint32(b[i*indexEntrySize+4:]))}
		if e.relative <= last.relative || e.position <= last.position || int64(e.position) > size-headerSize {
			return nil, fmt.Errorf("index entry %d is (%d, %d) after (%d, %d), expected it to ascend and to point into %d bytes",
				i, e.relative, e.position, last.relative, last.position, size)
		}
		entries[i], last = e, e
	}
	return entries, nil
}

func formatIndex(entries []indexEntry) []byte {
	b := make([]byte, len(entries)*indexEntrySize)
	for i, e := range entries {
		e.put(b[i*indexEntrySize:])
	}
	return b
}

// wantsEntry reports whether a batch at pos is to be indexed: as in Kafka, when more than the interval lies behind the last
// entry. Positions beyond int32 cannot be.
func wantsEntry(entries []indexEntry, pos int64, interval int) bool {
	var last int64
	if n := len(entries); n > 0 {
		last = int64(entries[n-1].position)
	}
	return pos-last > int64(interval) && pos <= math.MaxInt32
}

// floor is the position from which a walk finds the batch that contains relative offset r: at most an interval and a batch
// before it.
func floor(entries []indexEntry, r kafka.Offset) int64 {
	i := firstAtLeast(entries, r+1)
	if i == 0 {
		return 0
	}
	return int64(entries[i-1].position)
}

// ceiling is a position at or behind which every batch ends at relative offset r or later; size if the index knows none.
func ceiling(entries []indexEntry, r kafka.Offset, size int64) int64 {
	if i := firstAtLeast(entries, r); i < len(entries) {
		return int64(entries[i].position)
	}
	return size
}

// firstAtLeast is the index of the first entry of relative offset r or more.
func firstAtLeast(entries []indexEntry, r kafka.Offset) int {
	lo, hi := 0, len(entries)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if kafka.Offset(entries[mid].relative) < r {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
