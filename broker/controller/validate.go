package controller

import (
	"fmt"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"tidemark/broker/metadata"
)

// limit bounds terms and indexes, so that no arithmetic on them overflows.
const limit = 1 << 60

// validate judges a message from the network before raft sees it. Raft trusts its members: on what no correct member sends it
// may panic, so whatever is not plainly possible is refused here, and the member's state stays as it was.
func (q *quorum) validate(m *pb.Message) error {
	typ := m.GetType()
	switch {
	case !slices.Contains(wireTypes, typ):
		return fmt.Errorf("raft message of type %d, expected one of %v", typ, wireTypes)
	case brokerID(m.GetTo()) != q.self:
		return fmt.Errorf("raft message for member %d, expected %d", brokerID(m.GetTo()), q.self)
	case !validMemberID(m.GetFrom()) || brokerID(m.GetFrom()) == q.self:
		return fmt.Errorf("raft message from member %d, expected another member", brokerID(m.GetFrom()))
	case m.GetTerm() == 0:
		return fmt.Errorf("%v without a term", typ)
	case len(m.GetEntries()) > 0 && typ != pb.MsgApp:
		return fmt.Errorf("%v with %d entries, expected none", typ, len(m.GetEntries()))
	}
	for _, v := range [...]uint64{m.GetTerm(), m.GetLogTerm(), m.GetIndex(), m.GetCommit(), m.GetRejectHint()} {
		if v > limit {
			return fmt.Errorf("%v with %d, expected terms and indexes up to %d", typ, v, uint64(limit))
		}
	}
	switch typ {
	case pb.MsgApp:
		return validEntries(m)
	case pb.MsgSnap:
		return validSnapshot(m)
	case pb.MsgAppResp:
		if q.leading() && m.GetTerm() == q.term() && m.GetIndex() > q.log.last() && !m.GetReject() {
			return fmt.Errorf("%v of index %d, expected up to %d", typ, m.GetIndex(), q.log.last())
		}
	}
	return nil
}

// validEntries: the entries follow the one before them without a gap, their terms do not fall and do not exceed the
// message's, and each can be applied.
func validEntries(m *pb.Message) error {
	index, term := m.GetIndex(), m.GetLogTerm()
	if (index == 0) != (term == 0) {
		return fmt.Errorf("%v after entry %d of term %d, expected both or neither", m.GetType(), index, term)
	}
	for _, e := range m.GetEntries() {
		if e.GetIndex() != index+1 || e.GetTerm() < term || e.GetTerm() == 0 || e.GetTerm() > m.GetTerm() {
			return fmt.Errorf("entry %d of term %d after entry %d of term %d, in a message of term %d", e.GetIndex(), e.GetTerm(), index,
				term, m.GetTerm())
		}
		if err := validEntry(e); err != nil {
			return err
		}
		index, term = e.GetIndex(), e.GetTerm()
	}
	if term > m.GetTerm() {
		return fmt.Errorf("%v after an entry of term %d, in a message of term %d", m.GetType(), term, m.GetTerm())
	}
	return nil
}

// validSnapshot: the snapshot's last entry is one that the sender can have committed, and its image can be taken over.
func validSnapshot(m *pb.Message) error {
	s := snapshotOf(m.GetSnapshot())
	if i, term := s.last.index, s.last.term; i == 0 || i > limit || term == 0 || term > m.GetTerm() {
		return fmt.Errorf("snapshot up to entry %d of term %d, in a message of term %d", i, term, m.GetTerm())
	}
	_, _, err := s.image()
	return err
}

func validEntry(e *pb.Entry) error {
	switch e.GetType() {
	case pb.EntryNormal:
		if len(e.GetData()) == 0 { // a new leader's first entry
			return nil
		}
		_, err := metadata.Decode(e.GetData())
		return err
	case pb.EntryConfChange:
		_, err := memberChangeOf(e)
		return err
	default:
		return fmt.Errorf("entry %d of type %d, expected records or a change of the membership", e.GetIndex(), e.GetType())
	}
}

// memberChangeOf reads a change of the membership: one member at a time (KIP-853).
func memberChangeOf(e *pb.Entry) (*pb.ConfChange, error) {
	cc := &pb.ConfChange{}
	if err := proto.Unmarshal(e.GetData(), cc); err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.GetIndex(), err)
	}
	switch typ := cc.GetType(); {
	case typ != pb.ConfChangeAddLearnerNode && typ != pb.ConfChangeAddNode && typ != pb.ConfChangeRemoveNode, !validMemberID(cc.GetNodeId()):
		return nil, fmt.Errorf("entry %d: %v of member %d, expected a learner, a voter or a removal, and a valid id", e.GetIndex(), typ, cc.GetNodeId())
	}
	return cc, nil
}
