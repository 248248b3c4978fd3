package log

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// segment is one file of batches and its offset index. The index is also held in memory: eight bytes for each
// log.index.interval.bytes.
type segment struct {
	base, end          kafka.Offset // of the first record, of the one behind the last
	logPath, indexPath string
	file               disk.File
	indexFile          disk.File // nil unless the segment is active
	size               int64
	index              []indexEntry
	changed            uint64 // flushState.version at the last change

	// What Log.Expired saw last: where it ended, and since when that is so.
	seen    bool
	seenEnd kafka.Offset
	seenAt  time.Duration
}

const (
	logSuffix   = ".log"
	indexSuffix = ".index"
)

func newSegment(dir string, base kafka.Offset) *segment {
	name := fmt.Sprintf("%s/%020d", dir, base)
	return &segment{base: base, end: base, logPath: name + logSuffix, indexPath: name + indexSuffix}
}

// openFiles opens the segment's files; with create, they are made, empty whatever they held.
func (s *segment) openFiles(fs disk.FS, create bool) error {
	var err error
	if s.file, err = fs.Open(s.logPath, create); err != nil {
		return err
	}
	if create {
		if err := s.file.Truncate(0); err != nil {
			return err
		}
		if err := s.openIndex(fs); err != nil {
			return err
		}
		return s.indexFile.Truncate(0)
	}
	s.size, err = s.file.Size()
	return err
}

// openIndex makes the index writable, as that of the active segment is.
func (s *segment) openIndex(fs disk.FS) (err error) {
	if s.indexFile == nil {
		s.indexFile, err = fs.Open(s.indexPath, true)
	}
	return err
}

func (s *segment) closeIndex() error {
	f := s.indexFile
	s.indexFile = nil
	if f == nil {
		return nil
	}
	return f.Close()
}

func (s *segment) close() error {
	f := s.file
	s.file = nil
	if f == nil {
		return s.closeIndex()
	}
	return errors.Join(f.Close(), s.closeIndex())
}

// addIndex indexes the batch at pos if it is time for an entry.
func (s *segment) addIndex(b Batch, pos int64, interval int) error {
	if !wantsEntry(s.index, pos, interval) {
		return nil
	}
	e := indexEntry{int32(b.Last - s.base), int32(pos)}
	var buf [indexEntrySize]byte
	e.put(buf[:])
	if _, err := s.indexFile.WriteAt(buf[:], int64(len(s.index))*indexEntrySize); err != nil {
		return err
	}
	s.index = append(s.index, e)
	return nil
}

// cut shortens the segment to the batches before pos, whose last one ends before end.
func (s *segment) cut(fs disk.FS, pos int64, end kafka.Offset) error {
	if err := s.file.Truncate(pos); err != nil {
		return err
	}
	n := len(s.index)
	for n > 0 && int64(s.index[n-1].position) >= pos {
		n--
	}
	if err := s.openIndex(fs); err != nil {
		return err
	}
	if err := s.indexFile.Truncate(int64(n) * indexEntrySize); err != nil {
		return err
	}
	s.index, s.size, s.end = s.index[:n], pos, end
	return nil
}

// paths are the segment's files, and the snapshot of producers where it begins.
func (s *segment) paths() []string {
	return []string{s.logPath, s.indexPath, strings.TrimSuffix(s.logPath, logSuffix) + snapshotSuffix}
}

// remove closes and deletes what is at paths.
func (s *segment) remove(fs disk.FS) error {
	if err := s.close(); err != nil {
		return err
	}
	for _, path := range s.paths() {
		if err := disk.Run(fs, disk.Step{Op: disk.RemoveFile, Path: path}); err != nil {
			return err
		}
	}
	return nil
}
