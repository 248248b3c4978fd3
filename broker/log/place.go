package log

import (
	"fmt"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// Place is a part of a file: the bytes from From up to To.
type Place struct {
	Path     string
	From, To int64
}

// Above lists where the files of a replica whose broker is stopped keep the batches from the one that holds offset o on, to the end of each
// file, whatever stands there. It changes nothing.
func Above(fsys disk.FS, dir string, o kafka.Offset) ([]Place, error) {
	bases, err := listSegments(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", dir, err)
	}
	var places []Place
	for i, base := range bases {
		if i+1 < len(bases) && bases[i+1] <= o {
			continue
		}
		s := newSegment(dir, base)
		if err := s.openFiles(fsys, false); err != nil {
			return nil, fmt.Errorf("look into %s: %w", dir, err)
		}
		from := position(s, o)
		if err := s.close(); err != nil {
			return nil, fmt.Errorf("look into %s: %w", dir, err)
		}
		if from < s.size {
			places = append(places, Place{s.logPath, from, s.size})
		}
	}
	return places, nil
}

// position is where the batch that holds o begins, by the headers of those before; the end of the file, or of what can be read as batches, if
// there is none.
func position(s *segment, o kafka.Offset) (pos int64) {
	var w window
	for next := s.base; next < o && s.size-pos >= headerSize; {
		h, err := w.read(s, pos, headerSize, windowBytes)
		if err != nil {
			return pos
		}
		b, err := ParseBatch(h)
		if err != nil || b.Base != next || b.Last >= o {
			return pos
		}
		pos, next = pos+int64(b.Size), b.Last+1
	}
	return pos
}
