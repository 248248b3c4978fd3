package controller

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
)

// The raft log on disk: one append-only file of frames, in the directory that Kafka keeps its metadata log in.
//
//	frame:  length of the payload (4 bytes), CRC-32C of the payload (4 bytes), payload
//	header: the payload of the first frame: 'h', format version, index and term of the entry before the first (0 and 0)
//	entry:  'e', type, term, index, data
//	state:  's', term, vote, commit, abstain
//
// Nothing is overwritten: an entry frame replaces every entry from its index on, a state frame the state before it. A file
// that was cut short therefore reads as what it was at an earlier time. Compaction is not built; the header leaves room for
// it: a new file that begins after a snapshot.
const (
	logDir       = "__cluster_metadata-0"
	logPath      = logDir + "/raft.log"
	logVersion   = 1
	frameHeader  = 8
	maxFrameSize = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// raftLog holds the entries in memory and on disk; it is raft's Storage.
type raftLog struct {
	file    disk.File
	size    int64
	entries []*pb.Entry // index 1 first
	state   *pb.HardState
	abstain uint64 // see quorum.mayVote
	voters  []uint64
	bug     *bug.Switch
	buf     []byte
}

var _ raft.Storage = (*raftLog)(nil)

// openLog recovers the log: what follows the first frame that is torn is cut off. On return all that was recovered is synced:
// a process that was killed may have left records in the page cache that no one has promised yet, and they count from now on.
func openLog(fsys disk.FS, voters []uint64, on *bug.Switch) (*raftLog, error) {
	l := &raftLog{voters: voters, bug: on, state: &pb.HardState{}}
	if err := fsys.MkdirAll(logDir); err != nil {
		return nil, err
	}
	file, err := fsys.Open(logPath, true)
	if err != nil {
		return nil, err
	}
	l.file = file
	if err := l.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", logPath, err), file.Close())
	}
	if err := errors.Join(file.Sync(), fsys.SyncDir(logDir), fsys.SyncDir("")); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

func (l *raftLog) recover() error {
	size, err := l.file.Size()
	if err != nil {
		return err
	}
	data := make([]byte, size)
	if n, err := l.file.ReadAt(data, 0); n < len(data) {
		return fmt.Errorf("read %d of %d bytes: %w", n, len(data), err)
	}
	valid, err := l.replay(data)
	if err != nil {
		return err
	}
	l.size = int64(valid)
	if l.size < size {
		if err := l.file.Truncate(l.size); err != nil {
			return err
		}
	}
	if l.state.GetCommit() > l.last() {
		return fmt.Errorf("commit index %d, expected up to the last entry, %d", l.state.GetCommit(), l.last())
	}
	if l.size == 0 {
		l.buf = binary.AppendUvarint(binary.AppendUvarint(append(beginFrame(nil), 'h', logVersion), 0), 0)
		endFrame(l.buf, 0)
		return l.flushBuffer()
	}
	return nil
}

// replay reads frames until the first that is torn and returns how many bytes were good. A frame whose checksum is right but
// whose content is not is no torn tail: an error.
func (l *raftLog) replay(data []byte) (valid int, err error) {
	for rest := data; len(rest) >= frameHeader; rest = data[valid:] {
		n := binary.BigEndian.Uint32(rest)
		if n == 0 || n > maxFrameSize || int(n) > len(rest)-frameHeader {
			break
		}
		payload := rest[frameHeader : frameHeader+int(n)]
		if crc32.Checksum(payload, castagnoli) != binary.BigEndian.Uint32(rest[4:]) {
			break
		}
		if err := l.replayFrame(payload, valid == 0); err != nil {
			return valid, fmt.Errorf("frame at byte %d: %w", valid, err)
		}
		valid += frameHeader + int(n)
	}
	return valid, nil
}

func (l *raftLog) replayFrame(payload []byte, first bool) error {
	r := wireReader{rest: payload}
	switch kind := r.byte(); {
	case first != (kind == 'h'):
		return fmt.Errorf("kind %q, expected the header first and only there", kind)
	case kind == 'h':
		if version, index, term := r.byte(), r.uvarint(), r.uvarint(); r.err == nil && (version != logVersion || index != 0 || term != 0) {
			return fmt.Errorf("format %d beginning after entry %d of term %d, expected format %d from the beginning", version, index, term,
				logVersion)
		}
	case kind == 'e':
		e := r.entry()
		if i := e.GetIndex(); r.err == nil && (i == 0 || i > l.last()+1 || i <= l.state.GetCommit()) {
			return fmt.Errorf("entry %d, expected one after the committed %d and at most one after the last %d", i, l.state.GetCommit(), l.last())
		}
		if r.err == nil {
			if err := validEntry(e); err != nil {
				return err
			}
			l.keep(e)
		}
	case kind == 's':
		term, vote, commit, abstain := r.uvarint(), r.uvarint(), r.uvarint(), r.uvarint()
		l.state, l.abstain = &pb.HardState{Term: &term, Vote: &vote, Commit: &commit}, abstain
	default:
		return fmt.Errorf("kind %q, expected 'e' or 's'", kind)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes left over", len(r.rest))
	}
	return r.err
}

// keep replaces the entries from e's index on by e. Readers of the old ones keep them: the slice is never overwritten.
func (l *raftLog) keep(e *pb.Entry) {
	at := e.GetIndex() - 1
	if at < uint64(len(l.entries)) {
		l.entries = l.entries[:at:at]
	}
	l.entries = append(l.entries, e)
}

// write appends entries and state to the file, into the page cache: it counts once a flush of the file has finished.
func (l *raftLog) write(entries []*pb.Entry, state *pb.HardState) error {
	for _, e := range entries {
		start := len(l.buf)
		l.buf = appendEntry(append(beginFrame(l.buf), 'e'), e)
		endFrame(l.buf, start)
		l.keep(e)
	}
	if state != nil {
		l.state = state
		start := len(l.buf)
		l.buf = append(beginFrame(l.buf), 's')
		vote := state.GetVote()
		if l.bug.Bites(bug.VoteNotPersisted, vote != raft.None) {
			vote = raft.None
		}
		for _, v := range [...]uint64{state.GetTerm(), vote, state.GetCommit(), l.abstain} {
			l.buf = binary.AppendUvarint(l.buf, v)
		}
		endFrame(l.buf, start)
	}
	return l.flushBuffer()
}

func (l *raftLog) flushBuffer() error {
	n, err := l.file.WriteAt(l.buf, l.size)
	if err == nil && n < len(l.buf) {
		err = fmt.Errorf("%s: wrote %d of %d bytes", logPath, n, len(l.buf))
	}
	l.size += int64(n)
	l.buf = l.buf[:0]
	return err
}

// beginFrame leaves room for a frame's header; endFrame fills it in once the payload stands.
func beginFrame(b []byte) []byte { return append(b, make([]byte, frameHeader)...) }

func endFrame(b []byte, start int) {
	payload := b[start+frameHeader:]
	binary.BigEndian.PutUint32(b[start:], uint32(len(payload)))
	binary.BigEndian.PutUint32(b[start+4:], crc32.Checksum(payload, castagnoli))
}

// last is the last entry's index, 0 if there is none.
func (l *raftLog) last() uint64 { return uint64(len(l.entries)) }

// InitialState returns what was recovered, and the voters of the configuration.
func (l *raftLog) InitialState() (*pb.HardState, *pb.ConfState, error) {
	return l.state, &pb.ConfState{Voters: l.voters}, nil
}

// Entries returns [lo, hi), as much as fits in maxSize bytes of data, one at least.
func (l *raftLog) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	if lo == 0 {
		return nil, raft.ErrCompacted
	}
	if hi > l.last()+1 || lo > hi {
		return nil, raft.ErrUnavailable
	}
	out := l.entries[lo-1 : hi-1 : hi-1]
	var size uint64
	for i, e := range out {
		size += uint64(len(e.GetData())) + 16
		if i > 0 && size > maxSize {
			return out[:i:i], nil
		}
	}
	return out, nil
}

// Term is the term of an entry; that of 0 is 0.
func (l *raftLog) Term(i uint64) (uint64, error) {
	switch {
	case i == 0:
		return 0, nil
	case i > l.last():
		return 0, raft.ErrUnavailable
	}
	return l.entries[i-1].GetTerm(), nil
}

// LastIndex is the last entry's index.
func (l *raftLog) LastIndex() (uint64, error) { return l.last(), nil }

// FirstIndex is 1: nothing is compacted.
func (l *raftLog) FirstIndex() (uint64, error) { return 1, nil }

// Snapshot is never asked for, since nothing is compacted.
func (l *raftLog) Snapshot() (*pb.Snapshot, error) {
	return nil, raft.ErrSnapshotTemporarilyUnavailable
}
