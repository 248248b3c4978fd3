package controller

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
)

// The raft log on disk: files of frames in the directory that Kafka keeps its metadata log in, one after the other. The first is raft.log.
// With every snapshot another begins, which holds the snapshot and all that is after it, and is named after the last entry that the
// snapshot holds, as Kafka's are: raft-<index>-<term>.log. Once it lasts, the one before goes.
//
//	frame:    length of the payload (4 bytes), CRC-32C of the payload (4 bytes), payload
//	header:   the payload of the first frame: 'h', format version, index and term of the last entry in the snapshot (0 and 0 without)
//	snapshot: 'c', number of voters, each; number of learners, each; digest of the log (8 bytes), metadata.AppendSnapshot
//	entry:    'e', type, term, index, data
//	state:    's', term, vote, commit, abstain
//	begun:    'b': all that was taken over from the file before stands before this
//
// Nothing is overwritten: an entry frame replaces every entry from its index on, a state frame the state before it. A file
// that was cut short therefore reads as what it was at an earlier time, and one that was cut before it had begun counts for nothing: the
// one before is still there.
const (
	logDir       = "__cluster_metadata-0"
	logPath      = logDir + "/raft.log"
	logVersion   = 1
	frameHeader  = 8
	maxFrameSize = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// raftLog holds the entries since the last snapshot but one, in memory, and those since the last on disk; it is raft's Storage.
type raftLog struct {
	fsys     disk.FS
	path     string
	file     disk.File
	size     int64
	obsolete []string    // files that go once what is in path lasts
	base     entryID     // the entry before the first in memory
	entries  []*pb.Entry // from base on
	snap     *snapshot   // that path begins with, nil for none
	begun    bool        // the file that is read has all that the one before had
	state    *pb.HardState
	abstain  uint64 // see quorum.mayVote
	voters   []uint64
	bug      *bug.Switch
	buf      []byte
	current  func() (*snapshot, error) // of what was applied
}

// entryID is an entry's place in the log.
type entryID struct{ index, term uint64 }

var _ raft.Storage = (*raftLog)(nil)

// openLog recovers the log: what follows the first frame that is torn is cut off. On return all that was recovered is synced:
// a process that was killed may have left records in the page cache that no one has promised yet, and they count from now on.
func openLog(fsys disk.FS, voters []uint64, on *bug.Switch) (*raftLog, error) {
	if err := fsys.MkdirAll(logDir); err != nil {
		return nil, err
	}
	paths, err := logPaths(fsys)
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
		l := &raftLog{fsys: fsys, path: path, voters: voters, bug: on, state: &pb.HardState{}}
		if l.file, err = fsys.Open(path, true); err != nil {
			return nil, err
		}
		if err := l.recover(); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), l.file.Close())
		}
		if !l.begun && i < len(paths)-1 { // it never lasted
			if err := errors.Join(l.file.Close(), fsys.Remove(path)); err != nil {
				return nil, err
			}
			continue
		}
		if !l.begun && path != logPath {
			return nil, errors.Join(fmt.Errorf("%s: ends before its snapshot does, expected a whole snapshot or the file before it", path), l.file.Close())
		}
		if err := errors.Join(l.file.Sync(), fsys.SyncDir(logDir), fsys.SyncDir("")); err != nil {
			return nil, errors.Join(err, l.file.Close())
		}
		for _, older := range paths[i+1:] {
			if err := fsys.Remove(older); err != nil {
				return nil, errors.Join(err, l.file.Close())
			}
		}
		return l, nil
	}
	return nil, fmt.Errorf("%s: no file, expected %s at least", logDir, logPath)
}

// logPaths lists the files of the log, the newest first; the first of all if there is none.
func logPaths(fsys disk.FS) ([]string, error) {
	names, err := fsys.ReadDir(logDir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range names {
		if strings.HasPrefix(name, "raft-") && strings.HasSuffix(name, ".log") {
			paths = append(paths, logDir+"/"+name)
		}
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	if len(paths) == 0 || slices.Contains(names, "raft.log") {
		paths = append(paths, logPath)
	}
	return paths, nil
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
	if l.path != logPath && !l.begun {
		return nil
	}
	if l.size < size {
		if err := l.file.Truncate(l.size); err != nil {
			return err
		}
	}
	if l.state.GetCommit() > l.last() {
		return fmt.Errorf("commit index %d, expected up to the last entry, %d", l.state.GetCommit(), l.last())
	}
	if l.size == 0 {
		l.appendHeader(entryID{})
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
		version, index, term := r.byte(), r.uvarint(), r.uvarint()
		if r.err == nil && (version != logVersion || l.path != logNameOf(entryID{index, term})) {
			return fmt.Errorf("format %d beginning after entry %d of term %d, expected format %d and what the file's name says", version, index, term, logVersion)
		}
		l.base = entryID{index, term}
	case kind == 'c' && l.snap == nil && l.base.index > 0 && len(l.entries) == 0:
		snap, err := readSnapshot(&r, l.base)
		if err != nil {
			return err
		}
		l.snap = snap
	case kind == 'b' && l.snap != nil && !l.begun && l.state.GetCommit() >= l.base.index:
		l.begun = true
	case l.base.index > 0 && l.snap == nil:
		return fmt.Errorf("kind %q, expected the snapshot first", kind)
	case kind == 'e':
		e := r.entry()
		if i := e.GetIndex(); r.err == nil && (i <= l.base.index || i > l.last()+1 || i <= l.state.GetCommit()) {
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
		return fmt.Errorf("kind %q, expected an entry or a state", kind)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes left over", len(r.rest))
	}
	return r.err
}

// keep replaces the entries from e's index on by e. Readers of the old ones keep them: the slice is never overwritten.
func (l *raftLog) keep(e *pb.Entry) {
	at := e.GetIndex() - l.base.index - 1
	if at < uint64(len(l.entries)) {
		l.entries = l.entries[:at:at]
	}
	l.entries = append(l.entries, e)
}

// write appends entries and state to the file, into the page cache: it counts once a flush of the file has finished.
func (l *raftLog) write(entries []*pb.Entry, state *pb.HardState) error {
	for _, e := range entries {
		l.appendEntry(e)
		l.keep(e)
	}
	if state != nil {
		l.state = state
		l.appendState(state.GetCommit())
	}
	return l.flushBuffer()
}

func (l *raftLog) appendEntry(e *pb.Entry) {
	start := len(l.buf)
	l.buf = appendEntry(append(beginFrame(l.buf), 'e'), e)
	endFrame(l.buf, start)
}

func (l *raftLog) appendState(commit uint64) {
	vote := l.state.GetVote()
	if l.bug.Bites(bug.VoteNotPersisted, vote != raft.None) {
		vote = raft.None
	}
	start := len(l.buf)
	l.buf = append(beginFrame(l.buf), 's')
	for _, v := range [...]uint64{l.state.GetTerm(), vote, commit, l.abstain} {
		l.buf = binary.AppendUvarint(l.buf, v)
	}
	endFrame(l.buf, start)
}

func (l *raftLog) appendHeader(after entryID) {
	start := len(l.buf)
	l.buf = append(beginFrame(l.buf), 'h', logVersion)
	l.buf = binary.AppendUvarint(binary.AppendUvarint(l.buf, after.index), after.term)
	endFrame(l.buf, start)
}

// flushBuffer hands what was encoded to the file.
func (l *raftLog) flushBuffer() error {
	n, err := l.file.WriteAt(l.buf, l.size)
	l.size += int64(n)
	l.buf = l.buf[:0]
	return err
}

// flush is the work after which all that was written lasts.
func (l *raftLog) flush() []disk.Step {
	steps := []disk.Step{{Op: disk.SyncFile, Path: l.path}}
	if len(l.obsolete) > 0 {
		steps = append(steps, disk.Step{Op: disk.SyncDir, Path: logDir})
		for _, path := range l.obsolete {
			steps = append(steps, disk.Step{Op: disk.RemoveFile, Path: path})
		}
		l.obsolete = nil
	}
	return steps
}

// beginFrame leaves room for a frame's header; endFrame fills it in once the payload stands.
func beginFrame(b []byte) []byte { return append(b, make([]byte, frameHeader)...) }

func endFrame(b []byte, start int) {
	payload := b[start+frameHeader:]
	binary.BigEndian.PutUint32(b[start:], uint32(len(payload)))
	binary.BigEndian.PutUint32(b[start+4:], crc32.Checksum(payload, castagnoli))
}

// last is the last entry's index, that of the snapshot if there is none after it.
func (l *raftLog) last() uint64 { return l.base.index + uint64(len(l.entries)) }

// InitialState returns what was recovered, and the members as of the snapshot, or of the configuration without one.
func (l *raftLog) InitialState() (*pb.HardState, *pb.ConfState, error) {
	if l.snap != nil {
		return l.state, l.snap.members, nil
	}
	return l.state, &pb.ConfState{Voters: l.voters}, nil
}

// Entries returns [lo, hi), as much as fits in maxSize bytes of data, one at least.
func (l *raftLog) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	if lo <= l.base.index {
		return nil, raft.ErrCompacted
	}
	if hi > l.last()+1 || lo > hi {
		return nil, raft.ErrUnavailable
	}
	from, to := lo-l.base.index-1, hi-l.base.index-1
	out := l.entries[from:to:to]
	var size uint64
	for i, e := range out {
		size += uint64(len(e.GetData())) + 16
		if i > 0 && size > maxSize {
			return out[:i:i], nil
		}
	}
	return out, nil
}

// Term is the term of an entry, or of the one before the first; that of 0 is 0.
func (l *raftLog) Term(i uint64) (uint64, error) {
	switch {
	case i == l.base.index:
		return l.base.term, nil
	case i < l.base.index:
		return 0, raft.ErrCompacted
	case i > l.last():
		return 0, raft.ErrUnavailable
	}
	return l.entries[i-l.base.index-1].GetTerm(), nil
}

// LastIndex is the last entry's index.
func (l *raftLog) LastIndex() (uint64, error) { return l.last(), nil }

// FirstIndex is that of the first entry that is still in memory.
func (l *raftLog) FirstIndex() (uint64, error) { return l.base.index + 1, nil }

// Snapshot is asked for when a member needs entries from before the first: it is one of what was applied, not the last on disk, so that it
// names all members there are.
func (l *raftLog) Snapshot() (*pb.Snapshot, error) {
	snap, err := l.current()
	if err != nil {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return snap.toRaft(), nil
}
