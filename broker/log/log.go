// Package log is one replica's log: Kafka v2 record batches in segments, an offset index, the leader-epoch cache,
// checkpoints in Kafka's text format, and recovery after a crash. All through package disk.
package log

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/refused"
)

// Config bounds a log. Sizes are in bytes.
type Config struct {
	SegmentBytes       int // log.segment.bytes: a segment rolls before it would exceed this
	IndexIntervalBytes int // log.index.interval.bytes
	MaxBatchBytes      int // message.max.bytes
	Bug                *bug.Switch
	Refused            *refused.Log
}

func (c Config) check() error {
	if c.SegmentBytes < 1 || c.IndexIntervalBytes < 0 || c.MaxBatchBytes < 1 {
		return fmt.Errorf("log configuration %+v, expected positive sizes", c)
	}
	return nil
}

// Log is one replica's log. Offsets are dense.
type Log struct {
	fs            disk.FS
	dir           string
	cfg           Config
	segments      []*segment // ascending without gaps; the last one is active
	start         kafka.Offset
	end           kafka.Offset
	recoveryPoint kafka.Offset
	epochs        epochCache
	tail          tail
	window        window
	flush         flushState
	producers     producers
	owed          []owedSnapshot // of producers, for the next flush to write, ascending
	snapshotsCut  bool           // see SnapshotsCut
}

// Start is the log start offset: within the first segment.
func (l *Log) Start() kafka.Offset { return l.start }

// End is the log end offset (LEO): that of the next record.
func (l *Log) End() kafka.Offset { return l.end }

// RecoveryPoint is the offset below which everything is known to be on disk.
func (l *Log) RecoveryPoint() kafka.Offset { return l.recoveryPoint }

// LatestEpoch is the largest epoch in the leader-epoch cache, kafka.NoEpoch when empty.
func (l *Log) LatestEpoch() kafka.Epoch { return l.epochs.latest() }

// Epochs is the leader-epoch cache, ascending. Not to be changed.
func (l *Log) Epochs() []EpochStart { return l.epochs.entries }

// AssignEpoch records that epoch starts at offset start, as a leader does on election even before it writes (KAFKA-7415).
// Entries that contradict it are dropped.
func (l *Log) AssignEpoch(epoch kafka.Epoch, start kafka.Offset) {
	if l.epochs.assign(epoch, start) {
		l.flush.epochsChanged()
	}
}

// EpochEnd answers OffsetForLeaderEpoch: the largest epoch ≤ asked in the cache, and where it ends (the start of the next one,
// or End). When every epoch in the cache is larger, the answer is as Kafka's (LeaderEpochFileCache.endOffsetFor): asked, and the
// start of the first one, so that a follower cuts all that it has of asked and before. (NoEpoch, -1) when asked is negative
// or the cache is empty (KIP-101, KIP-279).
func (l *Log) EpochEnd(asked kafka.Epoch) (kafka.Epoch, kafka.Offset) {
	return l.epochs.end(asked, l.end)
}

// Close closes its files.
func (l *Log) Close() error {
	var errs []error
	for _, s := range l.segments {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// Rolled reports whether a segment, other than the first, starts at o.
func (l *Log) Rolled(o kafka.Offset) bool {
	return o > l.segments[0].base && o < l.end && l.segments[l.segmentOf(o)].base == o
}

// segmentOf is the index of the last segment that starts at or below o, which must not be below Start.
func (l *Log) segmentOf(o kafka.Offset) int {
	i, found := slices.BinarySearchFunc(l.segments, o, func(s *segment, o kafka.Offset) int {
		switch {
		case s.base < o:
			return -1
		case s.base > o:
			return 1
		}
		return 0
	})
	if found {
		return i
	}
	return i - 1
}
