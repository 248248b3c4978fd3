package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"slices"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// Snapshots of the producers' state, as Kafka keeps them: a file <offset>.snapshot beside the segments holds what is known of producers below
// that offset. One is written where a segment begins and at a clean shutdown, with the next flush. After a restart or a truncation the
// last one at or below the log's end is read, and the batches behind it are walked.
//
// The format is Kafka's (ProducerStateManager.java, version 1), whose entries tell of one batch each. Kafka writes a producer's last batch
// alone, and so forgets the four before it; here every batch of the window has an entry, oldest first. Kafka's reader takes the last one.

const snapshotSuffix = ".snapshot"

// snapshotBytesMax bounds a snapshot file: what producersMax producers take.
const snapshotBytesMax = snapshotHeadSize + producersMax*windowBatches*snapshotEntrySize

const (
	snapshotVersion   = 1
	snapshotHeadSize  = 2 + 4 + 4 // version, CRC, number of entries
	snapshotEntrySize = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8
	snapshotCRCFrom   = 2 + 4 // the CRC covers what is behind it
)

// owedSnapshot is a snapshot that the next flush is to write.
type owedSnapshot struct {
	at      kafka.Offset
	data    []byte
	version uint64 // of the change that it is
}

func snapshotPath(dir string, at kafka.Offset) string {
	return fmt.Sprintf("%s/%020d%s", dir, at, snapshotSuffix)
}

// format renders what is known of producers.
func (p *producers) format() []byte {
	n := 0
	for _, known := range p.byID {
		n += len(known.batches)
	}
	b := make([]byte, snapshotHeadSize, snapshotHeadSize+n*snapshotEntrySize)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[6:], uint32(n))
	for _, id := range slices.Sorted(maps.Keys(p.byID)) {
		known := p.byID[id]
		for _, s := range known.batches {
			b = binary.BigEndian.AppendUint64(b, uint64(id))
			b = binary.BigEndian.AppendUint16(b, uint16(known.epoch))
			b = binary.BigEndian.AppendUint32(b, uint32(s.last))
			b = binary.BigEndian.AppendUint64(b, uint64(s.end-1))
			b = binary.BigEndian.AppendUint32(b, uint32(s.end-1-s.base))
			b = binary.BigEndian.AppendUint64(b, uint64(s.at))
			b = binary.BigEndian.AppendUint32(b, math.MaxUint32) // coordinator epoch: of no transaction
			b = binary.BigEndian.AppendUint64(b, math.MaxUint64) // first offset of the transaction under way: none
		}
	}
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[snapshotCRCFrom:], castagnoli))
	return b
}

// parse reads a snapshot at an offset into p, which is empty.
func (p *producers) parse(data []byte, at kafka.Offset) error {
	if len(data) < snapshotHeadSize {
		return fmt.Errorf("snapshot of %d bytes, expected at least %d", len(data), snapshotHeadSize)
	}
	if v := binary.BigEndian.Uint16(data); v != snapshotVersion {
		return fmt.Errorf("snapshot of version %d, expected %d", v, snapshotVersion)
	}
	want := binary.BigEndian.Uint32(data[2:])
	if got := crc32.Checksum(data[snapshotCRCFrom:], castagnoli); got != want {
		return fmt.Errorf("snapshot with CRC %08x, expected %08x", want, got)
	}
	n, rest := binary.BigEndian.Uint32(data[6:]), data[snapshotHeadSize:]
	if int64(n)*snapshotEntrySize != int64(len(rest)) {
		return fmt.Errorf("snapshot of %d entries in %d bytes, expected %d bytes each", n, len(rest), snapshotEntrySize)
	}
	for ; len(rest) > 0; rest = rest[snapshotEntrySize:] {
		last, lastOffset := int32(binary.BigEndian.Uint32(rest[10:])), int64(binary.BigEndian.Uint64(rest[14:]))
		delta := int32(binary.BigEndian.Uint32(rest[22:]))
		if last < 0 || delta < 0 || lastOffset < int64(delta) || kafka.Offset(lastOffset) >= at {
			return fmt.Errorf("snapshot entry of sequence number %d and offset %d behind %d others, expected none below 0, and offsets below %d", last, lastOffset, delta, at)
		}
		p.note(sequence{
			producer: int64(binary.BigEndian.Uint64(rest)), epoch: int16(binary.BigEndian.Uint16(rest[8:])),
			sequencedBatch: sequencedBatch{
				first: int32((int64(last) - int64(delta)) & math.MaxInt32), last: last,
				base: kafka.Offset(lastOffset) - kafka.Offset(delta), end: kafka.Offset(lastOffset) + 1, at: int64(binary.BigEndian.Uint64(rest[26:])),
			},
		})
	}
	return nil
}

// oweSnapshot has the next flush write what is known of producers now.
func (l *Log) oweSnapshot() {
	l.flush.dirChanged()
	l.dropSnapshot(l.end)
	l.owed = append(l.owed, owedSnapshot{l.end, l.producers.format(), l.flush.version})
}

// SnapshotProducers has the next flush write what is known of producers, as a clean shutdown does; nothing if there are none.
func (l *Log) SnapshotProducers() {
	if len(l.producers.byID) > 0 {
		l.oweSnapshot()
	}
}

// dropSnapshot forgets a snapshot that is owed.
func (l *Log) dropSnapshot(at kafka.Offset) {
	l.owed = slices.DeleteFunc(l.owed, func(o owedSnapshot) bool { return o.at == at })
}

// snapshotSteps writes what is owed.
func (l *Log) snapshotSteps() (steps []disk.Step) {
	for _, o := range l.owed {
		path := snapshotPath(l.dir, o.at)
		steps = append(steps, disk.Step{Op: disk.WriteFile, Path: path, Data: o.data}, disk.Step{Op: disk.SyncFile, Path: path})
	}
	return steps
}

// recoverProducers reads the producers' state of a log that was opened. Snapshots that are not at a segment's beginning go for good: one
// above the log's end would be believed once other records stand there.
func (l *Log) recoverProducers() error {
	if err := l.loadProducers(); err != nil {
		return err
	}
	if l.cfg.Bug.Bites(bug.ProducersForgotten, len(l.producers.byID) > 0) {
		l.producers.byID = nil
	}
	all, err := listFiles(l.fs, l.dir, snapshotSuffix)
	if err != nil {
		return err
	}
	removed := false
	for _, at := range all {
		if slices.ContainsFunc(l.segments, func(s *segment) bool { return s.base == at }) {
			continue
		}
		if err := l.removeSnapshot(at); err != nil {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return l.fs.SyncDir(l.dir)
}

// truncateProducers follows a truncation, with which the snapshots of the segments that went are gone.
func (l *Log) truncateProducers() error {
	l.owed = slices.DeleteFunc(l.owed, func(o owedSnapshot) bool { return o.at > l.end })
	if len(l.producers.byID) == 0 {
		return nil
	}
	return l.loadProducers()
}

// SnapshotsCut reports whether truncation has removed snapshots of producers since it was last asked. Until their removal lasts, nothing
// may be appended: after a crash they would be taken for the state below other records.
func (l *Log) SnapshotsCut() bool {
	cut := l.snapshotsCut
	l.snapshotsCut = false
	return cut
}

func (l *Log) removeSnapshot(at kafka.Offset) error {
	return disk.Run(l.fs, disk.Step{Op: disk.RemoveFile, Path: snapshotPath(l.dir, at)})
}

// loadProducers reads the last usable snapshot at or below the log's end, then walks the batches behind it.
func (l *Log) loadProducers() error {
	all, err := listFiles(l.fs, l.dir, snapshotSuffix)
	if err != nil {
		return err
	}
	for _, o := range l.owed {
		all = append(all, o.at)
	}
	slices.Sort(all)
	from := l.segments[0].base
	l.producers.byID = nil
	for i := len(all) - 1; i >= 0 && all[i] >= l.segments[0].base; i-- {
		if all[i] > l.end {
			continue
		}
		data, err := l.readSnapshot(all[i])
		if err != nil {
			return err
		}
		if err := l.producers.parse(data, all[i]); err == nil {
			from = all[i]
			break
		}
		l.producers.byID = nil // a torn one: an earlier one will do
	}
	return ignoreCorrupt(l.replayProducers(from))
}

// readSnapshot is a snapshot's content; one that is gone or too large is as good as torn.
func (l *Log) readSnapshot(at kafka.Offset) ([]byte, error) {
	for _, o := range l.owed {
		if o.at == at {
			return o.data, nil
		}
	}
	data, err := disk.ReadFile(l.fs, snapshotPath(l.dir, at), snapshotBytesMax)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrTooLarge) {
		return nil, nil
	}
	return data, err
}

// replayProducers takes down the batches from an offset on.
func (l *Log) replayProducers(from kafka.Offset) error {
	for _, s := range l.segments[l.segmentOf(from):] {
		for pos := int64(0); pos < s.size; {
			h, err := l.headerAt(s, pos)
			if err != nil {
				return err
			}
			b, err := ParseBatch(h)
			if err != nil {
				return s.corrupt(pos, err.Error())
			}
			if q, ok := sequenceOf(h, b.Base); ok && b.Base >= from {
				l.producers.note(q)
			}
			pos += int64(b.Size)
		}
	}
	return nil
}
