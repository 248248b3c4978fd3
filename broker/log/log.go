// Package log is one replica's log: Kafka v2 record batches in segments, an offset index, the leader-epoch cache,
// checkpoints in Kafka's text format, and recovery after a crash. All through package disk.
package log

import (
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// Config bounds a log. Sizes are in bytes.
type Config struct {
	SegmentBytes       int // log.segment.bytes: a segment rolls before it would exceed this
	IndexIntervalBytes int // log.index.interval.bytes
	MaxBatchBytes      int // message.max.bytes
}

// Recovery says what opening a log did.
type Recovery struct {
	Clean          bool         // the last shutdown was clean: nothing was scanned
	ScannedBytes   int64        // read and verified from the recovery point on
	TruncatedBytes int64        // cut off as torn or corrupt
	From, To       kafka.Offset // the end offset that the files seemed to have, and the one after the cut; equal when nothing was cut
	Reason         string       // why it was cut, "" if it was not
}

// Batch is the header of one record batch, as far as replication needs it.
type Batch struct {
	Base, Last kafka.Offset // of its first and last record
	Epoch      kafka.Epoch  // partition leader epoch
	CRC        uint32       // CRC32C over attributes to end: not over base offset and epoch
	Records    int32
	Size       int // bytes, header included
}

// Log is one replica's log. Offsets are dense.
type Log struct{}

// Open opens or creates the log in dir. recoveryPoint is the offset below which everything is known to be on disk; with clean,
// the last shutdown was clean and nothing needs scanning.
func Open(fs disk.FS, dir string, cfg Config, recoveryPoint kafka.Offset, clean bool) (*Log, Recovery, error) {
	panic("not built")
}

// Start is the log start offset.
func (l *Log) Start() kafka.Offset { panic("not built") }

// End is the log end offset (LEO): that of the next record.
func (l *Log) End() kafka.Offset { panic("not built") }

// Append appends a producer's batches as leader of epoch: it validates them (magic 2, size, CRC, dense offset deltas), writes base
// offsets and the epoch into them (in place) and returns the offset of the first record and the new end.
func (l *Log) Append(batches []byte, epoch kafka.Epoch) (first, end kafka.Offset, err error) {
	panic("not built")
}

// AppendFetched appends batches as the leader sent them: offsets and epochs are kept; the first must start at End. A trailing
// partial batch (cut by a fetch's size limit) is ignored.
func (l *Log) AppendFetched(batches []byte) (end kafka.Offset, err error) { panic("not built") }

// Read returns whole batches from the one that contains from on, of those whose last offset is below bound, at most
// maxBytes of them, but the first whatever its size if minOne. Empty when from == bound or nothing fits. An offset outside [Start, End]
// is an *OffsetOutOfRange error.
func (l *Log) Read(from, bound kafka.Offset, maxBytes int, minOne bool) ([]byte, error) {
	panic("not built")
}

// EachBatch calls fn with the header of every batch from the one that contains from on, until fn returns false.
func (l *Log) EachBatch(from kafka.Offset, fn func(Batch) bool) error { panic("not built") }

// Truncate cuts the log so that its end is at most to (a batch that spans to goes whole), trims the epoch cache, and returns
// the new end. It lowers the recovery point.
func (l *Log) Truncate(to kafka.Offset) (kafka.Offset, error) { panic("not built") }

// TruncateFully empties the log and starts it at offset at.
func (l *Log) TruncateFully(at kafka.Offset) error { panic("not built") }

// LatestEpoch is the largest epoch in the leader-epoch cache, kafka.NoEpoch when empty.
func (l *Log) LatestEpoch() kafka.Epoch { panic("not built") }

// AssignEpoch records that epoch starts at offset start, as a leader does on election even before it writes (KAFKA-7415).
func (l *Log) AssignEpoch(epoch kafka.Epoch, start kafka.Offset) { panic("not built") }

// EpochEnd answers OffsetForLeaderEpoch: the largest epoch ≤ asked in the cache, and where it ends (the start of the next one,
// or End). (NoEpoch, -1) when there is none (KIP-101, KIP-279).
func (l *Log) EpochEnd(asked kafka.Epoch) (kafka.Epoch, kafka.Offset) { panic("not built") }

// OffsetForTime returns the first record with a timestamp ≥ ms and its timestamp; (-1, -1) when there is none.
func (l *Log) OffsetForTime(ms int64) (kafka.Offset, int64, error) { panic("not built") }

// RecoveryPoint is the offset below which everything is known to be on disk.
func (l *Log) RecoveryPoint() kafka.Offset { panic("not built") }

// FlushSteps returns the disk work that makes everything below the current End last (segments written since the recovery
// point, their index, the epoch checkpoint, the directory), and that End.
func (l *Log) FlushSteps() ([]disk.Step, kafka.Offset) { panic("not built") }

// Flushed says that the work for end is done: the recovery point moves up to it, unless the log was truncated below since.
func (l *Log) Flushed(end kafka.Offset) { panic("not built") }

// NeedsFlush reports whether something should be flushed soon: a segment was rolled, or the epoch cache changed.
func (l *Log) NeedsFlush() bool { panic("not built") }

// Close closes its files.
func (l *Log) Close() error { panic("not built") }
