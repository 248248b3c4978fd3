package log

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// A log begins at its log start offset. DeleteRecords moves it forward, within a segment if need be (KIP-107); retention removes whole
// segments and moves it to the first that is left. What is below it is not read any more, and its segments go at the next look.

// MoveStart moves the log start offset forward; what is below is gone for readers. It reports whether it moved: it never goes back. An
// offset beyond End is an *OffsetOutOfRange error.
func (l *Log) MoveStart(to kafka.Offset) (moved bool, err error) {
	if to > l.end {
		return false, &OffsetOutOfRange{to, l.start, l.end}
	}
	if to <= l.start {
		return false, nil
	}
	l.start = to
	l.recoveryPoint = max(l.recoveryPoint, to)
	if l.epochs.trimFront(to) {
		l.flush.epochsChanged()
	}
	return true, nil
}

// Retention says how much of a log is kept, as Kafka's log.retention.ms and log.retention.bytes; a negative one keeps all.
type Retention struct {
	Age   time.Duration
	Bytes int64
}

// Expired counts the oldest segments that are to be removed: those below the log start, those in which nothing was written for longer than
// Age, and those without which the log still has Bytes. A segment that holds a record at or beyond bound, which is the high watermark, stays
// (KAFKA-5634), and so does an empty active one.
//
// Kafka takes for a segment's age the largest timestamp in it, which its producers wrote, and where they wrote none the file's time. Here it
// is the broker's own clock alone: a segment is as old as the look at which its end was first seen, in this incarnation of the broker.
func (l *Log) Expired(now time.Duration, keep Retention, bound kafka.Offset) int {
	size := int64(0)
	for _, s := range l.segments {
		if s.seenEnd != s.end || !s.seen {
			s.seen, s.seenEnd, s.seenAt = true, s.end, now
		}
		size += s.size
	}
	n := 0
	for _, s := range l.segments {
		aged := keep.Age >= 0 && now-s.seenAt > keep.Age
		large := keep.Bytes >= 0 && size-s.size >= keep.Bytes
		last := s == l.active()
		if s.end > bound || last && s.size == 0 || !aged && !large && (last || s.end > l.start) {
			break
		}
		size -= s.size
		n++
	}
	return n
}

// RemoveSegments takes the n oldest segments out of the log, which then begins at the first that is left, or at its end; an active one that
// is among them is rolled first. The files are still there: the steps that it returns remove them, and must be run before a segment may
// begin at an offset where one of them did.
func (l *Log) RemoveSegments(n int) ([]disk.Step, error) {
	if n < 0 || n > len(l.segments) {
		return nil, fmt.Errorf("remove %d of %d segments", n, len(l.segments))
	}
	if n == len(l.segments) {
		if err := l.roll(); err != nil {
			return nil, err
		}
	}
	var steps []disk.Step
	for _, s := range l.segments[:n] {
		if err := s.close(); err != nil {
			return nil, err
		}
		for _, path := range s.paths() {
			steps = append(steps, disk.Step{Op: disk.RemoveFile, Path: path})
		}
		l.dropSnapshot(s.base)
	}
	l.window.forget()
	l.segments = append(l.segments[:0:0], l.segments[n:]...)
	if _, err := l.MoveStart(l.segments[0].base); err != nil {
		return nil, err
	}
	return append(steps, disk.Step{Op: disk.SyncDir, Path: l.dir}), nil
}

// dropBelow removes the files of the segments that lie below a log start whole: a crash came between the checkpoint that tells it and their
// removal, or undid a part of that, so that there may be gaps between them. It returns the bases of those that are left.
func (l *Log) dropBelow(start kafka.Offset, bases []kafka.Offset) ([]kafka.Offset, error) {
	for len(bases) > 1 && bases[1] <= start {
		if err := newSegment(l.dir, bases[0]).remove(l.fs); err != nil {
			return nil, err
		}
		bases = bases[1:]
	}
	return bases, nil
}

// beginAt has a log that was opened begin where it did. Where a crash took what stood there, it begins anew there: everything below was
// committed once, and removed.
func (l *Log) beginAt(start kafka.Offset) error {
	if l.end < start {
		return l.TruncateFully(start)
	}
	l.start = start
	if l.epochs.trimFront(start) {
		l.flush.epochsChanged()
	}
	return nil
}

// StartCheckpoint is the file, in the broker's root directory, that tells where logs begin.
const StartCheckpoint = "log-start-offset-checkpoint"

// startCheckpointMax bounds it, in bytes.
const startCheckpointMax = 64 << 20

// startOf is where the replica in dir begins by the checkpoint beside it; 0 if there is none, or none that makes sense, as for its broker.
func startOf(fsys disk.FS, dir string) (kafka.Offset, error) {
	data, err := disk.ReadFile(fsys, path.Join(path.Dir(dir), StartCheckpoint), startCheckpointMax)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	offsets, _ := ParseOffsets(data)
	for tp, start := range offsets {
		if tp.String() == path.Base(dir) {
			return start, nil
		}
	}
	return 0, nil
}
