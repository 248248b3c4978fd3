package controller

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"tidemark/broker/metadata"
)

// snapshotBytesMax bounds a snapshot: it travels in one message. A larger image is not compacted.
const snapshotBytesMax = 32 << 20

// membersMax bounds the members of a quorum.
const membersMax = 1 << 12

// snapshot stands for the metadata log up to and including an entry (KIP-630).
type snapshot struct {
	last    entryID
	members *pb.ConfState // voters and learners
	data    []byte        // digest of the log, image
}

// image decodes what the snapshot holds: the metadata, and the digest of the log that led to it.
func (s *snapshot) image() (*metadata.Image, uint64, error) {
	if len(s.data) < 8 {
		return nil, 0, fmt.Errorf("snapshot of %d bytes, expected the log's digest and the image", len(s.data))
	}
	img, err := metadata.DecodeSnapshot(s.data[8:])
	if err != nil {
		return nil, 0, err
	}
	img.Index = int64(s.last.index)
	return img, binary.BigEndian.Uint64(s.data), nil
}

func (s *snapshot) toRaft() *pb.Snapshot {
	return &pb.Snapshot{Data: s.data, Metadata: &pb.SnapshotMetadata{ConfState: s.members, Index: &s.last.index, Term: &s.last.term}}
}

func snapshotOf(s *pb.Snapshot) *snapshot {
	m := s.GetMetadata()
	return &snapshot{last: entryID{m.GetIndex(), m.GetTerm()}, members: m.GetConfState(), data: s.GetData()}
}

// appendSnapshot encodes the members and the data, for the wire and for the log alike.
func appendSnapshot(b []byte, s *snapshot) []byte {
	for _, ids := range [...][]uint64{s.members.GetVoters(), s.members.GetLearners()} {
		b = binary.AppendUvarint(b, uint64(len(ids)))
		for _, id := range ids {
			b = binary.AppendUvarint(b, id)
		}
	}
	return append(binary.AppendUvarint(b, uint64(len(s.data))), s.data...)
}

// readSnapshot reads what appendSnapshot wrote.
func readSnapshot(r *wireReader, last entryID) (*snapshot, error) {
	s := &snapshot{last: last, members: &pb.ConfState{}}
	seen := map[uint64]bool{}
	for _, ids := range [...]*[]uint64{&s.members.Voters, &s.members.Learners} {
		n := r.uvarint()
		if n > membersMax {
			return nil, fmt.Errorf("snapshot of %d members, expected at most %d", n, membersMax)
		}
		for range n {
			id := r.uvarint()
			if r.err == nil && (!validMemberID(id) || seen[id]) {
				return nil, fmt.Errorf("snapshot with member %d, expected valid ids, each once", id)
			}
			seen[id] = true
			*ids = append(*ids, id)
		}
	}
	size := r.uvarint()
	switch {
	case r.err == nil && size > uint64(len(r.rest)):
		return nil, errWireShort
	case r.err != nil:
		return nil, r.err
	case len(s.members.GetVoters()) == 0:
		return nil, errors.New("snapshot without voters, expected one at least")
	case size > snapshotBytesMax:
		return nil, fmt.Errorf("snapshot of %d bytes, expected at most %d", size, snapshotBytesMax)
	}
	s.data, r.rest = slices.Clone(r.rest[:size]), r.rest[size:]
	return s, nil
}

// logNameOf is the file that begins with the snapshot whose last entry is that.
func logNameOf(last entryID) string {
	if last.index == 0 {
		return logPath
	}
	return fmt.Sprintf("%s/raft-%020d-%010d.log", logDir, last.index, last.term)
}

// compact begins another file with a snapshot of what was applied. The entries since the snapshot before stay in memory for members that
// are a little behind.
func (l *raftLog) compact(snap *snapshot) error {
	keep := entryID{}
	if l.snap != nil {
		keep = l.snap.last
	}
	if err := l.begin(snap); err != nil {
		return err
	}
	if keep.index > l.base.index {
		l.entries = append([]*pb.Entry(nil), l.entries[keep.index-l.base.index:]...)
		l.base = keep
	}
	return nil
}

// install replaces everything by a snapshot that another member sent.
func (l *raftLog) install(snap *snapshot) error {
	l.base, l.entries = snap.last, nil
	return l.begin(snap)
}

// begin starts the file that begins with a snapshot: the snapshot, the entries after it, the state.
func (l *raftLog) begin(snap *snapshot) error {
	path := logNameOf(snap.last)
	if path == l.path {
		return nil
	}
	file, err := l.fsys.Open(path, true)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Truncate(0), l.file.Close()); err != nil {
		return errors.Join(err, file.Close())
	}
	l.obsolete = append(l.obsolete, l.path)
	l.path, l.file, l.size, l.snap = path, file, 0, snap
	l.appendHeader(snap.last)
	start := len(l.buf)
	l.buf = appendSnapshot(append(beginFrame(l.buf), 'c'), snap)
	endFrame(l.buf, start)
	for _, e := range l.entries[min(snap.last.index-l.base.index, uint64(len(l.entries))):] {
		l.appendEntry(e)
	}
	l.appendState(max(l.state.GetCommit(), snap.last.index))
	start = len(l.buf)
	l.buf = append(beginFrame(l.buf), 'b')
	endFrame(l.buf, start)
	return l.flushBuffer()
}

// install takes over a snapshot that the leader sent. What it holds is committed, so it counts at once; that this disk has it is told
// after the flush.
func (q *quorum) install(snap *snapshot, state *pb.HardState) error {
	if state != nil {
		q.log.state = state
	}
	if err := q.log.install(snap); err != nil {
		return err
	}
	q.setMembers(snap.members)
	return q.restore(snap)
}

// compact writes a snapshot of what was applied, after which the entries that it stands for may go.
func (q *quorum) compact() error {
	snap, err := q.log.current()
	if err != nil || len(snap.data) > snapshotBytesMax {
		return err
	}
	q.dirty = true
	return q.log.compact(snap)
}

// retrySnapshots lets raft send again what a member that waits for a snapshot did not get: the connection may have been lost with it.
func (q *quorum) retrySnapshots(now time.Duration) {
	var failed []uint64
	q.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		at, waits := q.snapshotAt[id]
		switch {
		case p.State != tracker.StateSnapshot:
			delete(q.snapshotAt, id)
		case !waits:
			q.snapshotAt[id] = now
		case now >= at+q.fetchTimeout:
			delete(q.snapshotAt, id)
			failed = append(failed, id)
		}
	})
	for _, id := range failed {
		q.node.ReportSnapshot(id, raft.SnapshotFailure)
	}
}
