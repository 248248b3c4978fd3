package log

import (
	"fmt"

	"tidemark/broker/kafka"
)

// Truncate cuts the log so that its end is at most to (a batch that spans to goes whole), trims the epoch cache, and returns
// the new end. It lowers the recovery point: if the checkpoint on disk has a higher one, it must be replaced there before the
// log grows again, or a crash could leave bytes that no recovery looks at.
func (l *Log) Truncate(to kafka.Offset) (kafka.Offset, error) {
	if to < 0 {
		return l.end, fmt.Errorf("truncate to offset %d, expected a non-negative one", to)
	}
	if to < l.Start() {
		return to, l.TruncateFully(to)
	}
	if to < l.end {
		if err := l.cut(to); err != nil {
			return l.end, fmt.Errorf("truncate to %d: %w", to, err)
		}
		to = l.end
	}
	if l.epochs.trim(to) {
		l.flush.epochsChanged()
	}
	if err := l.truncateProducers(); err != nil {
		return l.end, fmt.Errorf("producers below %d: %w", to, err)
	}
	return l.end, nil
}

func (l *Log) cut(to kafka.Offset) error {
	i := l.segmentOf(to)
	s := l.segments[i]
	pos, b, err := l.find(s, to)
	if err != nil {
		return err
	}
	l.tail.restart()
	l.window.forget()
	for len(l.segments) > i+1 {
		if err := l.active().remove(l.fs); err != nil {
			return err
		}
		l.segments = l.segments[:len(l.segments)-1]
		l.flush.dirChanged()
		l.snapshotsCut = true
	}
	if err := s.cut(l.fs, pos, b.Base); err != nil {
		return err
	}
	l.flush.touch(s)
	l.flush.truncated(b.Base)
	l.end = b.Base
	l.start = min(l.start, l.end) // where it was within the batch that went
	l.recoveryPoint = min(l.recoveryPoint, b.Base)
	return nil
}

// TruncateFully empties the log and starts it at offset at.
func (l *Log) TruncateFully(at kafka.Offset) error {
	if at < 0 {
		return fmt.Errorf("restart at offset %d, expected a non-negative one", at)
	}
	l.window.forget()
	for len(l.segments) > 0 {
		if err := l.active().remove(l.fs); err != nil {
			return fmt.Errorf("truncate fully at %d: %w", at, err)
		}
		l.segments = l.segments[:len(l.segments)-1]
	}
	l.flush.truncated(min(at, l.end))
	l.start, l.end = at, at
	l.recoveryPoint = min(l.recoveryPoint, at)
	if l.epochs.trim(0) {
		l.flush.epochsChanged()
	}
	l.producers.byID, l.owed, l.snapshotsCut = nil, nil, true
	return l.startSegment(at)
}
