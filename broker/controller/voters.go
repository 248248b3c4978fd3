package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"tidemark/broker/bug"
	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// changeVoters answers AddRaftVoter and RemoveRaftVoter (keys 80 and 81, KIP-853): one change of the voters at a time, and each counts once
// a majority of those after it has it. A voter is a broker on a disk.
func (c *Controller) changeVoters(req kmsg.Request, tok Token) {
	var id uint64
	what, code := pb.ConfChangeRemoveNode, kafka.None
	switch r := req.(type) {
	case *kmsg.AddRaftVoterRequest:
		what, id = pb.ConfChangeAddNode, memberID(kafka.BrokerID(r.VoterID), r.VoterDirectoryID)
		code = c.mayAdd(id)
	case *kmsg.RemoveRaftVoterRequest:
		id = memberID(kafka.BrokerID(r.VoterID), r.VoterDirectoryID)
		code = c.mayRemove(id)
	}
	if code == kafka.None && !c.proposeVoter(what, id) {
		code = kafka.NotController
	}
	if code != kafka.None {
		c.replies = append(c.replies, Reply{tok, refuse(req, code)})
		return
	}
	c.reply(waitingReply{index: int64(c.q.log.last()), token: tok, req: req, answer: refuse(req, kafka.None)})
}

// mayAdd: nothing is under way, no voter has the broker's id yet, and the newcomer follows the log already: a voter that lacks most of it
// would hold up the next commit.
func (c *Controller) mayAdd(id uint64) kafka.Code {
	switch {
	case !validMemberID(id):
		return kafka.InvalidRequest
	case c.changingVoters():
		return kafka.RequestTimedOut
	case slices.ContainsFunc(c.q.voters, func(v uint64) bool { return brokerID(v) == brokerID(id) }):
		return kafka.DuplicateVoter
	case !c.q.hasAll(id, uint64(c.image.Index)):
		return kafka.RequestTimedOut
	}
	return kafka.None
}

// mayRemove: nothing is under way, the voter is one, and not the last.
func (c *Controller) mayRemove(id uint64) kafka.Code {
	switch {
	case c.changingVoters():
		return kafka.RequestTimedOut
	case !slices.Contains(c.q.voters, id):
		return kafka.VoterNotFound
	case len(c.q.voters) == 1:
		return kafka.InvalidRequest
	}
	return kafka.None
}

// changingVoters reports whether the last change of the voters is not committed yet, so that another must wait: two at once can leave two
// majorities that have no voter in common.
func (c *Controller) changingVoters() bool {
	pending := c.pendingVoterChanges() > 0
	return pending && !c.cfg.Bug.Bites(bug.TwoVoterChanges, pending)
}

func (c *Controller) proposeVoter(what pb.ConfChangeType, id uint64) bool {
	if !c.q.proposeMember(c.now, what, id) || c.next == nil {
		return false
	}
	committed := func(index int64) bool { return index <= c.image.Index }
	c.voterChanges = append(slices.DeleteFunc(c.voterChanges, committed), int64(c.q.log.last()))
	return true
}

// pendingVoterChanges counts those that this controller proposed and that are not committed.
func (c *Controller) pendingVoterChanges() (pending int) {
	for _, index := range c.voterChanges {
		if index > c.image.Index {
			pending++
		}
	}
	return pending
}

// keepMembers brings the membership a step closer to what is registered: every broker follows the metadata, on the disk that it has now. With
// controller.quorum.auto.join.enable a voter of the configuration whose disk was replaced takes the place of the one it was. False while it
// waits for a newcomer to catch up.
func (c *Controller) keepMembers() (done bool) {
	done = true
	for _, b := range c.image.BrokerIDs() {
		r := c.image.Brokers[b]
		id := memberOf(&r)
		if slices.Contains(c.q.voters, id) {
			continue
		}
		other := func(m uint64) bool { return brokerID(m) == b && m != id }
		if i := slices.IndexFunc(c.q.learners, other); i >= 0 {
			c.q.proposeMember(c.now, pb.ConfChangeRemoveNode, c.q.learners[i])
			return true
		}
		if !slices.Contains(c.q.learners, id) {
			c.q.proposeMember(c.now, pb.ConfChangeAddLearnerNode, id)
			return true
		}
		if !c.joins(id) {
			continue
		}
		if !c.q.hasAll(id, uint64(c.image.Index)) {
			done = false
			continue
		}
		if i := slices.IndexFunc(c.q.voters, other); i < 0 {
			c.proposeVoter(pb.ConfChangeAddNode, id)
		} else if len(c.q.voters) > 1 {
			c.proposeVoter(pb.ConfChangeRemoveNode, c.q.voters[i])
		}
		return true
	}
	return done
}

// joins reports whether a member is a voter of the configuration on a later disk than its first.
func (c *Controller) joins(id uint64) bool {
	b := brokerID(id)
	return c.cfg.QuorumAutoJoin && id != raftID(b) && slices.ContainsFunc(c.cfg.Voters, func(v config.Voter) bool { return v.ID == b })
}

// memberOf is the member that a registered broker is.
func memberOf(b *metadata.Broker) uint64 {
	if b.Directory == [16]byte{} {
		return raftID(b.ID)
	}
	return memberID(b.ID, b.Directory)
}

// proposeMember appends a change of the membership; it will be the log's last. False if this member may not.
func (q *quorum) proposeMember(now time.Duration, what pb.ConfChangeType, id uint64) bool {
	err := q.node.ProposeConfChange(&pb.ConfChange{Type: what.Enum(), NodeId: new(id)})
	q.drain(now)
	return err == nil
}

// changeMembers applies a change of the membership.
func (q *quorum) changeMembers(e *pb.Entry) error {
	cc, err := memberChangeOf(e)
	if err != nil {
		return err
	}
	if cc.GetType() != pb.ConfChangeAddNode && slices.Equal(q.voters, []uint64{cc.GetNodeId()}) {
		return fmt.Errorf("entry %d: %v of the last voter, %d", e.GetIndex(), cc.GetType(), brokerID(cc.GetNodeId()))
	}
	q.setMembers(q.node.ApplyConfChange(cc))
	return nil
}

// setMembers remembers who is a member now.
func (q *quorum) setMembers(members *pb.ConfState) {
	q.members = members
	q.voters = slices.Sorted(slices.Values(members.GetVoters()))
	q.learners = slices.Sorted(slices.Values(members.GetLearners()))
}

// forAnother: the message is for a voter that was on this broker's last disk, or answers as one who is no member. Who it is for is not
// there any more (KIP-853's INVALID_VOTER_KEY).
func (q *quorum) forAnother(m *pb.Message) bool {
	switch m.GetType() {
	case pb.MsgAppResp, pb.MsgHeartbeatResp:
		return m.GetTo() != q.me || !slices.Contains(q.voters, m.GetFrom()) && !slices.Contains(q.learners, m.GetFrom())
	case pb.MsgVoteResp, pb.MsgPreVoteResp:
		return m.GetTo() != q.me || !slices.Contains(q.voters, m.GetFrom())
	default:
		return m.GetTo() != q.me
	}
}

// hasAll reports whether, by this leader's book, a member has the log up to an entry.
func (q *quorum) hasAll(id, index uint64) (has bool) {
	q.node.WithProgress(func(m uint64, _ raft.ProgressType, p tracker.Progress) {
		has = has || m == id && p.Match >= index
	})
	return has
}

// Directory is the disk that this member is on.
func (c *Controller) Directory() DirectoryID { return c.q.directory }

// Votes reports whether this member is a voter, as far as it knows.
func (c *Controller) Votes() bool { return c.q.votes() }

// HasVoter reports whether a broker is a voter on a disk, as far as this member knows.
func (c *Controller) HasVoter(b kafka.BrokerID, d DirectoryID) bool {
	return slices.Contains(c.q.voters, memberID(b, d))
}
