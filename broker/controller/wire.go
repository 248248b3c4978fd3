package controller

import (
	"encoding/binary"
	"errors"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"
)

// Raft messages between members: a version byte, a type byte, then varints in their shortest form. Strict, because raft itself
// panics on messages that no member would send; validate.go judges what the words mean.

const wireVersion = 2

// Bounds on a message. A leader sends a mebibyte of entries, or one that is larger by itself (at most what one request for topics makes),
// or a snapshot.
const (
	messageBytesMax = snapshotBytesMax + 8<<20
	entriesMax      = 1 << 17
)

// The types that travel. All others are local to a member, or belong to features that are not used here (leader
// transfer, forwarded proposals and reads).
var wireTypes = []pb.MessageType{
	pb.MsgApp, pb.MsgAppResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgHeartbeat, pb.MsgHeartbeatResp, pb.MsgPreVote, pb.MsgPreVoteResp,
	pb.MsgSnap,
}

var errWireShort = errors.New("ends early")

func encodeMessage(m *pb.Message) []byte {
	size := 64
	for _, e := range m.GetEntries() {
		size += 24 + len(e.GetData())
	}
	size += len(m.GetSnapshot().GetData())
	b := append(make([]byte, 0, size), wireVersion, byte(m.GetType()))
	for _, v := range [...]uint64{m.GetFrom(), m.GetTo(), m.GetTerm(), m.GetLogTerm(), m.GetIndex(), m.GetCommit(), m.GetRejectHint()} {
		b = binary.AppendUvarint(b, v)
	}
	if m.GetReject() {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(m.GetEntries())))
	for _, e := range m.GetEntries() {
		b = appendEntry(b, e)
	}
	if m.GetType() == pb.MsgSnap {
		s := snapshotOf(m.GetSnapshot())
		b = appendSnapshot(binary.AppendUvarint(binary.AppendUvarint(b, s.last.index), s.last.term), s)
	}
	return b
}

// appendEntry encodes an entry, for the wire and for the log alike.
func appendEntry(b []byte, e *pb.Entry) []byte {
	b = append(b, byte(e.GetType()))
	b = binary.AppendUvarint(b, e.GetTerm())
	b = binary.AppendUvarint(b, e.GetIndex())
	b = binary.AppendUvarint(b, uint64(len(e.GetData())))
	return append(b, e.GetData()...)
}

// decodeMessage reads a message; the entries' data is copied.
func decodeMessage(data []byte) (*pb.Message, error) {
	if len(data) > messageBytesMax {
		return nil, fmt.Errorf("raft message of %d bytes, expected at most %d", len(data), messageBytesMax)
	}
	r := wireReader{rest: data}
	if v := r.byte(); r.err == nil && v != wireVersion {
		return nil, fmt.Errorf("raft message of version %d, expected %d", v, wireVersion)
	}
	typ := pb.MessageType(r.byte())
	var f [7]uint64
	for i := range f {
		f[i] = r.uvarint()
	}
	reject := r.bool()
	n := r.uvarint()
	if most := min(len(r.rest)/4, entriesMax); n > uint64(most) { // an entry takes four bytes at least
		return nil, fmt.Errorf("raft message of %d bytes claims %d entries, expected at most %d", len(data), n, most)
	}
	var entries []*pb.Entry
	for i := uint64(0); i < n && r.err == nil; i++ {
		entries = append(entries, r.entry())
	}
	var snap *pb.Snapshot
	if typ == pb.MsgSnap {
		snap = r.snapshot()
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes left over", len(r.rest))
	}
	if r.err != nil {
		return nil, fmt.Errorf("raft message of %d bytes: %w", len(data), r.err)
	}
	return &pb.Message{Type: &typ, From: &f[0], To: &f[1], Term: &f[2], LogTerm: &f[3], Index: &f[4], Commit: &f[5],
		RejectHint: &f[6], Reject: &reject, Entries: entries, Snapshot: snap}, nil
}

type wireReader struct {
	rest []byte
	err  error
}

func (r *wireReader) byte() byte {
	if r.err != nil || len(r.rest) == 0 {
		r.fail(errWireShort)
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *wireReader) bool() bool {
	b := r.byte()
	if b > 1 {
		r.fail(fmt.Errorf("bool %d, expected 0 or 1", b))
	}
	return b == 1
}

func (r *wireReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || (n > 1 && r.rest[n-1] == 0) {
		r.fail(errors.New("no varint in its shortest form"))
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *wireReader) entry() *pb.Entry {
	typ := pb.EntryType(r.byte())
	term, index, n := r.uvarint(), r.uvarint(), r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail(errWireShort)
	}
	if r.err != nil {
		return &pb.Entry{}
	}
	var data []byte
	if n > 0 {
		data = append(data, r.rest[:n]...)
		r.rest = r.rest[n:]
	}
	return &pb.Entry{Type: &typ, Term: &term, Index: &index, Data: data}
}

func (r *wireReader) snapshot() *pb.Snapshot {
	last := entryID{index: r.uvarint(), term: r.uvarint()}
	s, err := readSnapshot(r, last)
	if err != nil {
		r.fail(err)
		return nil
	}
	return s.toRaft()
}

func (r *wireReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
