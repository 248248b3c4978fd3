package log

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// Contents is what the files of a replica hold.
type Contents struct {
	Start, End kafka.Offset
	Records    []Record // ascending by offset
}

// Dump reads the files of a replica whose broker is stopped, and changes nothing. Every byte must be part of a valid batch and
// every offset from the log start on be there, as after a clean shutdown or a recovery; an error says what is not, and Contents is then what stands
// before it. Control batches take up offsets and give no records.
func Dump(fsys disk.FS, dir string) (Contents, error) {
	var c Contents
	if _, err := fsys.ReadDir(dir); err != nil {
		return c, fmt.Errorf("dump %s: %w", dir, err)
	}
	bases, err := listFiles(fsys, dir, logSuffix)
	if err != nil {
		return c, fmt.Errorf("dump %s: %w", dir, err)
	}
	if len(bases) == 0 {
		return c, fmt.Errorf("dump %s: no segment, expected at least one", dir)
	}
	start, err := startOf(fsys, dir)
	if err != nil {
		return c, fmt.Errorf("dump %s: %w", dir, err)
	}
	for len(bases) > 1 && bases[1] <= start {
		bases = bases[1:]
	}
	c.Start, c.End = max(start, bases[0]), bases[0]
	epoch := kafka.Epoch(0)
	for _, base := range bases {
		s := newSegment(dir, base)
		if base != c.End {
			return c, fmt.Errorf("dump %s: starts behind offset %d, expected no gap and no overlap", s.logPath, c.End)
		}
		if err := s.openFiles(fsys, false); err != nil {
			return c, fmt.Errorf("dump %s: %w", dir, err)
		}
		epoch, err = c.add(s, epoch)
		if closeErr := s.close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return c, fmt.Errorf("dump %s: %w", s.logPath, err)
		}
	}
	c.Records = slices.DeleteFunc(c.Records, func(r Record) bool { return r.Offset < c.Start })
	c.End = max(c.End, c.Start)
	return c, nil
}

// add takes in one segment, whose epochs must be epoch or later, and returns its last epoch.
func (c *Contents) add(s *segment, epoch kafka.Epoch) (kafka.Epoch, error) {
	var w window
	for pos := int64(0); pos < s.size; {
		b, err := verify(&w, s, pos, c.End, epoch, nil, nil)
		if err != nil {
			return epoch, fmt.Errorf("at %d: %w", pos, err)
		}
		data := make([]byte, b.Size)
		if err := disk.ReadFull(s.file, data, pos); err != nil {
			return epoch, err
		}
		if binary.BigEndian.Uint16(data[atAttributes:])&attrControl == 0 {
			records, err := Records(data, maxDecompressed)
			if err != nil {
				return epoch, fmt.Errorf("at %d: %w", pos, err)
			}
			c.Records = append(c.Records, records...)
		}
		c.End, epoch = b.Last+1, b.Epoch
		pos += int64(b.Size)
	}
	return epoch, nil
}
