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

// Guarded lists where the files of a replica whose broker is stopped keep bytes in which recovery from a recovery point on finds any change:
// those of the batches from the one that holds the point on, and whatever stands behind them. It leaves out each batch's leader epoch, which
// the CRC does not cover, as leaders write it. It changes nothing.
func Guarded(fsys disk.FS, dir string, recoveryPoint kafka.Offset) ([]Place, error) {
	bases, err := listFiles(fsys, dir, logSuffix)
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", dir, err)
	}
	var places []Place
	for i, base := range bases {
		if i+1 < len(bases) && bases[i+1] <= recoveryPoint {
			continue
		}
		s := newSegment(dir, base)
		if err := s.openFiles(fsys, false); err != nil {
			return nil, fmt.Errorf("look into %s: %w", dir, err)
		}
		places = append(places, s.guarded(recoveryPoint)...)
		if err := s.close(); err != nil {
			return nil, fmt.Errorf("look into %s: %w", dir, err)
		}
	}
	return places, nil
}

// guarded is Guarded for one segment.
func (s *segment) guarded(recoveryPoint kafka.Offset) (places []Place) {
	var w window
	pos := int64(0)
	for s.size-pos >= headerSize {
		h, err := w.read(s, pos, headerSize, windowBytes)
		if err != nil {
			return places
		}
		b, err := ParseBatch(h)
		if err != nil || int64(b.Size) > s.size-pos {
			break
		}
		if b.Last >= recoveryPoint {
			places = append(places, Place{s.logPath, pos, pos + atEpoch}, Place{s.logPath, pos + atMagic, pos + int64(b.Size)})
		}
		pos += int64(b.Size)
	}
	if pos < s.size {
		places = append(places, Place{s.logPath, pos, s.size})
	}
	return places
}
