package controller

import (
	"fmt"
	"math"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"tidemark/broker/kafka"
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
	case m.GetTo() != raftID(q.self):
		return fmt.Errorf("raft message for member %d, expected %d", brokerID(m.GetTo()), q.self)
	case m.GetFrom() == 0 || m.GetFrom() > math.MaxInt32 || m.GetFrom() == raftID(q.self):
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
	from := brokerID(m.GetFrom())
	switch typ {
	case pb.MsgApp:
		if err := q.validVoter(from, typ); err != nil {
			return err
		}
		return validEntries(m)
	case pb.MsgSnap:
		if err := q.validVoter(from, typ); err != nil {
			return err
		}
		return validSnapshot(m)
	case pb.MsgAppResp:
		if q.leading() && m.GetTerm() == q.term() && m.GetIndex() > q.log.last() && !m.GetReject() {
			return fmt.Errorf("%v of index %d, expected up to %d", typ, m.GetIndex(), q.log.last())
		}
		return q.validMember(from, typ)
	case pb.MsgHeartbeatResp:
		return q.validMember(from, typ)
	default:
		return q.validVoter(from, typ)
	}
}

func (q *quorum) validVoter(b kafka.BrokerID, typ pb.MessageType) error {
	if !slices.Contains(q.voters, b) {
		return fmt.Errorf("%v from %d, expected one of the voters %v", typ, b, q.voters)
	}
	return nil
}

func (q *quorum) validMember(b kafka.BrokerID, typ pb.MessageType) error {
	if !slices.Contains(q.voters, b) && !slices.Contains(q.learners, b) {
		return fmt.Errorf("%v from %d, expected one of the voters %v or learners %v", typ, b, q.voters, q.learners)
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
		_, err := learnerOf(e)
		return err
	default:
		return fmt.Errorf("entry %d of type %d, expected records or a new learner", e.GetIndex(), e.GetType())
	}
}

// learnerOf reads the one change of membership that there is: a new learner. Voters come from the configuration and never
// change, so no two voter changes can overlap (KIP-853).
func learnerOf(e *pb.Entry) (*pb.ConfChange, error) {
	cc := &pb.ConfChange{}
	if err := proto.Unmarshal(e.GetData(), cc); err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.GetIndex(), err)
	}
	if cc.GetType() != pb.ConfChangeAddLearnerNode || cc.GetNodeId() == 0 || cc.GetNodeId() > math.MaxInt32 {
		return nil, fmt.Errorf("entry %d: %v of member %d, expected a new learner", e.GetIndex(), cc.GetType(), cc.GetNodeId())
	}
	return cc, nil
}
