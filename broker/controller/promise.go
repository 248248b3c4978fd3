package controller

import (
	pb "go.etcd.io/raft/v3/raftpb"

	"tidemark/broker/kafka"
)

// Promise is what a member of the quorum found on its disk when it opened, and after that what it has told others, or itself as one of
// them, that its disk has.
type Promise struct {
	Term  int64          // of its last vote
	Vote  kafka.BrokerID // whom it voted for in that term, kafka.NoBroker for nobody
	Acked int64          // the last entry of the metadata log that it acknowledged and has not replaced since
}

// promise remembers what a message that leaves promises.
func (q *quorum) promise(m *pb.Message) {
	switch {
	case m.GetReject():
	case m.GetType() == pb.MsgVoteResp:
		q.told.Term, q.told.Vote = int64(m.GetTerm()), brokerID(m.GetTo())
	case m.GetType() == pb.MsgAppResp && m.GetIndex() <= q.log.last():
		q.told.Acked = max(q.told.Acked, int64(m.GetIndex()))
	}
}
