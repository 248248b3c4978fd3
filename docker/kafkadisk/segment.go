package kafkadisk

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/broker/disk"
	"tidemark/broker/log"
	"tidemark/history"
)

// Every entry of a segment, whatever its format, begins with an 8-byte offset and the 4-byte length of what follows, and has its format
// (magic) at the same place (Records.java).
const (
	entryHeader = 12
	atMagic     = 16
)

// Bounds, in bytes: of one entry, of what one entry decompresses to, and of all that one replica's records take in memory.
const (
	entryBytesMax   = 64 << 20
	recordsBytesMax = 64 << 20
	replicaBytesMax = 1 << 30
)

// recordOverhead is what a record takes in memory besides its value.
const recordOverhead = 32

// segment is a file of entries, named by the offset that it begins at or after.
type segment struct {
	base history.Offset
	path string
}

// segmentsOf lists the segments in a replica's directory, ascending: at least one. Files that are still to be removed or swapped in bear
// other suffixes (.deleted, .cleaned, .swap), and are not the log.
func segmentsOf(files disk.FS, dir string) ([]segment, error) {
	names, err := files.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var out []segment
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".log")
		if base, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && base >= 0 && len(digits) == 20 {
			out = append(out, segment{history.Offset(base), dir + "/" + name})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no segment, expected at least one", dir)
	}
	slices.SortFunc(out, func(a, b segment) int { return cmp.Compare(a.base, b.base) })
	return out, nil
}

// contents is what has been read of a log so far.
type contents struct {
	records []history.DumpRecord
	end     history.Offset // the next offset, at the earliest
	bytes   int            // of memory, for records
}

// read takes in one segment up to its end or its first damage.
func (c *contents) read(files disk.FS, s segment) error {
	f, err := files.Open(s.path, false)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	size, err := f.Size()
	if err != nil {
		return err
	}
	var entry []byte
	for pos := int64(0); pos < size; {
		if entry, err = nextEntry(f, entry[:0], pos, size); err == nil {
			err = c.take(entry)
		}
		if err != nil {
			return fmt.Errorf("at %d: %w", pos, err)
		}
		pos += int64(len(entry))
	}
	return nil
}

// nextEntry reads the entry at a position of a file into buf.
func nextEntry(f disk.File, buf []byte, pos, size int64) ([]byte, error) {
	left := size - pos
	if left <= atMagic {
		return buf, fmt.Errorf("%d bytes are left, expected an entry of at least %d", left, atMagic+1)
	}
	var head [entryHeader]byte
	if err := disk.ReadFull(f, head[:], pos); err != nil {
		return buf, err
	}
	length := int64(int32(binary.BigEndian.Uint32(head[8:])))
	most := min(left, entryBytesMax) - entryHeader
	if length <= atMagic-entryHeader || length > most {
		return buf, fmt.Errorf("entry length %d, expected %d to %d", length, atMagic-entryHeader+1, most)
	}
	buf = slices.Grow(buf, int(entryHeader+length))[:entryHeader+length]
	return buf, disk.ReadFull(f, buf, pos)
}

// take takes in one whole entry. It keeps nothing of its memory.
func (c *contents) take(entry []byte) error {
	switch magic := entry[atMagic]; magic {
	case 0, 1:
		return c.takeMessage(entry)
	case 2:
		b, err := log.ParseSparse(entry, recordsBytesMax)
		if err != nil {
			return err
		}
		if err := c.follows(history.Offset(b.Base)); err != nil {
			return err
		}
		for i := range b.Records {
			r := &b.Records[i]
			if err := c.add(history.DumpRecord{Offset: history.Offset(r.Offset), Epoch: history.Epoch(r.Epoch)}, r.Value); err != nil {
				return err
			}
		}
		c.end = history.Offset(b.Last) + 1
		return nil
	default:
		return fmt.Errorf("entry of format %d, expected 0, 1 or 2", int8(magic))
	}
}

// follows checks that an offset may come next. Offsets need not be dense: compaction leaves gaps.
func (c *contents) follows(o history.Offset) error {
	if o < c.end || o == math.MaxInt64 {
		return fmt.Errorf("offset %d, expected at least %d", o, c.end)
	}
	return nil
}

// add takes in a record that follows those before.
func (c *contents) add(r history.DumpRecord, value []byte) error {
	if err := c.follows(r.Offset); err != nil {
		return err
	}
	if c.bytes += len(value) + recordOverhead; c.bytes > replicaBytesMax {
		return fmt.Errorf("the records up to offset %d take more than %d bytes", r.Offset, replicaBytesMax)
	}
	r.Value = string(value)
	c.records = append(c.records, r)
	c.end = r.Offset + 1
	return nil
}
