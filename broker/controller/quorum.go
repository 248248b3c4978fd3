package controller

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"tidemark/broker/bug"
	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// never is a deadline that does not come.
const never = time.Duration(math.MaxInt64)

// heartbeatsPerTimeout is how often a leader speaks up within an election timeout.
const heartbeatsPerTimeout = 4

// maxUncommitted bounds the bytes that a leader proposes ahead of what a majority has taken.
const maxUncommitted = 16 << 20

// quorum is this member's raft: who leads, what is in the log, what is committed. It wraps etcd's RawNode so that a run
// replays exactly:
//
//   - etcd draws its election timeout from a process-wide random source, so that timeout is set too long ever to fire; the
//     timer here is our own, seeded, and calls Campaign. Tick is only the leader's heartbeat.
//   - etcd's CheckQuorum counts those ticks, so it stays off. A leader records when each voter last answered in its term; once
//     no majority did within controller.quorum.fetch.timeout.ms it resigns, as Kafka's does: it moves itself to the next term,
//     which any member may do at any time.
//   - Pre-vote is on, so that a member that was cut off does not raise the term. Without CheckQuorum etcd grants a pre-vote to
//     whoever has the log for it, even beside a live leader, so a member here ignores pre-votes while it hears its leader.
//
// Storage is asynchronous: what depends on the log, the term or the vote (votes, acknowledgements, the leader's own) leaves only
// after the flush that makes them last.
type quorum struct {
	self            kafka.BrokerID
	me              uint64      // this member: self on this disk
	directory       DirectoryID // the disk
	voters          []uint64    // as applied, ascending
	learners        []uint64    // as applied, ascending
	electionTimeout time.Duration
	fetchTimeout    time.Duration
	rnd             *rand.Rand
	bug             *bug.Switch

	log   *raftLog
	node  *raft.RawNode
	state raft.StateType
	lead  kafka.BrokerID

	electionAt  time.Duration            // when to campaign
	heartbeatAt time.Duration            // when, leading, to speak up
	heardAt     time.Duration            // when the leader of this term last spoke; before all time if it never did
	answeredAt  map[uint64]time.Duration // when, leading, each member last answered in this term

	votersSince time.Duration // when, leading, all were taken to have answered

	flushed uint64        // id of the last flush handed out
	dirty   bool          // something was written that must last, and no flush was handed out since
	after   []*pb.Message // what may leave once all that was written lasts
	waiting []waitingFlush
	told    Promise

	out     quorumOutput
	members *pb.ConfState // as applied
	apply   func(*pb.Entry) error
	restore func(*snapshot) error // a snapshot takes the place of all that was applied
	moved   func()                // the role or the leader changed

	snapshotAt map[uint64]time.Duration // when, leading, a snapshot was sent to each member that still waits for one
}

type quorumOutput struct {
	messages []Message
	flushes  []disk.Flush
	fatal    error
}

// waitingFlush holds the messages that may leave once a flush is done.
type waitingFlush struct {
	id       disk.FlushID
	messages []*pb.Message
}

func openQuorum(cfg config.Config, fsys disk.FS, now time.Duration, rnd *rand.Rand) (*quorum, error) {
	q := &quorum{self: cfg.NodeID, lead: kafka.NoBroker, electionTimeout: cfg.QuorumElectionTimeout, fetchTimeout: cfg.QuorumFetchTimeout,
		rnd: rnd, bug: cfg.Bug, heardAt: math.MinInt64 / 2}
	var ids []uint64
	for _, v := range cfg.Voters {
		ids = append(ids, raftID(v.ID))
	}
	if cfg.NodeID < 0 || len(ids) == 0 || q.electionTimeout <= 0 || q.fetchTimeout <= 0 {
		return nil, fmt.Errorf("controller: node %d of %d voters with timeouts %v and %v, expected ids from 0, a voter at least and timeouts above 0", cfg.NodeID,
			len(ids), q.electionTimeout, q.fetchTimeout)
	}
	if err := fsys.MkdirAll(logDir); err != nil {
		return nil, err
	}
	directory, err := openDirectory(fsys, cfg.NodeID)
	if err != nil {
		return nil, err
	}
	q.directory, q.me = directory, memberID(q.self, directory)
	if q.bug.Bites(bug.NoDirectoryID, q.me != raftID(q.self)) {
		q.me = raftID(q.self)
	}
	log, err := openLog(fsys, ids, cfg.Bug)
	if err != nil {
		return nil, err
	}
	q.log, q.snapshotAt, q.answeredAt = log, map[uint64]time.Duration{}, map[uint64]time.Duration{}
	_, members, _ := log.InitialState()
	q.setMembers(members)
	q.told = Promise{Term: int64(q.term()), Vote: brokerID(log.state.GetVote()), Acked: int64(log.last())}
	q.node, err = raft.NewRawNode(&raft.Config{
		ID: q.me, ElectionTick: math.MaxInt32, HeartbeatTick: 1, Storage: log, AsyncStorageWrites: true,
		MaxSizePerMsg: 1 << 20, MaxUncommittedEntriesSize: maxUncommitted, MaxInflightMsgs: 64, PreVote: true,
		DisableProposalForwarding: true, DisableConfChangeValidation: true, StepDownOnRemoval: true, Logger: quietLogger{},
	})
	if err != nil {
		return nil, err
	}
	q.electionAt = now + q.drawTimeout()
	if len(q.voters) == 1 && q.votes() {
		q.electionAt = now
	}
	return q, nil
}

// drawTimeout is random within [timeout, 2×timeout).
func (q *quorum) drawTimeout() time.Duration {
	return q.electionTimeout + time.Duration(q.rnd.Int64N(int64(q.electionTimeout)))
}

func (q *quorum) term() uint64  { return q.log.state.GetTerm() }
func (q *quorum) leading() bool { return q.state == raft.StateLeader }
func (q *quorum) votes() bool   { return slices.Contains(q.voters, q.me) }

// step takes a message from another member.
func (q *quorum) step(now time.Duration, data []byte) error {
	m, err := decodeMessage(data)
	if err != nil {
		return err
	}
	if err := q.validate(m); err != nil {
		return err
	}
	if q.forAnother(m) {
		return nil
	}
	from, typ := m.GetFrom(), m.GetType()
	switch typ {
	case pb.MsgPreVote:
		if q.hearsLeader(now) || !q.mayVote(m) {
			return nil
		}
	case pb.MsgVote:
		if !q.mayVote(m) {
			return nil
		}
	case pb.MsgHeartbeat:
		if m.GetCommit() > q.log.last() && m.GetTerm() >= q.term() {
			// The leader holds us to entries that this log does not have: it was replaced. A new term makes leaders ask again.
			q.sendNewTerm(m)
			return nil
		}
	}
	_ = q.node.Step(m) // an answer from one who is no member any more
	q.drain(now)
	switch {
	case (typ == pb.MsgApp || typ == pb.MsgHeartbeat) && m.GetTerm() == q.term() && q.lead == brokerID(from):
		q.heardAt = now
		q.electionAt = now + q.drawTimeout()
	case typ == pb.MsgVote && m.GetTerm() == q.term() && q.log.state.GetVote() == m.GetFrom():
		q.electionAt = now + q.drawTimeout()
	case (typ == pb.MsgAppResp || typ == pb.MsgHeartbeatResp) && q.leading() && m.GetTerm() == q.term():
		q.answeredAt[from] = now
	}
	return nil
}

// mayVote: a member whose log is empty cannot know whether its disk was replaced, and with it what it promised. It votes only
// for candidates who have nothing either (a new cluster), until a leader has filled its log; and never in a term up to that
// leader's, where it may have voted before (KAFKA-12181). What remains open is a disk replaced before the cluster's first entry. One that
// was formatted as a later disk has an id that says so, and is no voter before it is added.
func (q *quorum) mayVote(m *pb.Message) bool {
	if q.directory != FirstDirectory(q.self) {
		return true
	}
	return (q.log.last() > 0 || m.GetIndex() == 0) && m.GetTerm() > q.log.abstain
}

func (q *quorum) sendNewTerm(m *pb.Message) {
	q.send(&pb.Message{Type: pb.MsgAppResp.Enum(), From: new(q.me), To: m.From, Term: new(m.GetTerm() + 1)})
}

// hearsLeader reports whether there is a leader whom a campaign would only disturb.
func (q *quorum) hearsLeader(now time.Duration) bool {
	if q.leading() {
		return now < q.lapsesAt()
	}
	return q.lead != kafka.NoBroker && now-q.heardAt < q.electionTimeout
}

// lapsesAt is when a leader no longer has a majority that answered within the fetch timeout.
func (q *quorum) lapsesAt() time.Duration {
	others := len(q.voters) / 2 // that make a majority with this member
	if !q.votes() {
		others++
	}
	if others == 0 || others > len(q.voters) {
		return never
	}
	var buf [16]time.Duration
	last := buf[:0]
	for _, id := range q.voters {
		if id != q.me {
			last = append(last, max(q.answeredAt[id], q.votersSince))
		}
	}
	slices.Sort(last)
	return last[len(last)-others] + q.fetchTimeout
}

func (q *quorum) deadline() time.Duration {
	switch {
	case q.leading():
		return min(q.heartbeatAt, q.lapsesAt())
	case q.votes():
		return q.electionAt
	default:
		return never
	}
}

func (q *quorum) tick(now time.Duration) {
	switch {
	case q.leading() && now >= q.lapsesAt():
		if q.bug.Bites(bug.ZombieController, true) {
			q.allAnswered(now)
			return
		}
		q.resign(now)
	case q.leading() && now >= q.heartbeatAt:
		q.heartbeatAt = now + q.electionTimeout/heartbeatsPerTimeout
		q.retrySnapshots(now)
		q.node.Tick()
		q.drain(now)
	case !q.leading() && now >= q.electionAt && q.votes():
		q.electionAt = now + q.drawTimeout()
		_ = q.node.Campaign() // refused while a membership change is committed but not applied: next time
		q.drain(now)
	}
}

// resign steps down by moving to the next term.
func (q *quorum) resign(now time.Duration) {
	q.electionAt = now + q.drawTimeout()
	_ = q.node.Step(&pb.Message{Type: pb.MsgAppResp.Enum(), From: new(q.me), To: new(q.me), Term: new(q.term() + 1)})
	q.drain(now)
}

// propose appends an entry; it will be the log's last. False if this member may not.
func (q *quorum) propose(now time.Duration, data []byte) bool {
	err := q.node.Propose(data)
	q.drain(now)
	return err == nil
}

// flushDone lets the messages leave that waited for a flush, and those of the flushes before it.
func (q *quorum) flushDone(now time.Duration, id disk.FlushID) {
	for len(q.waiting) > 0 && q.waiting[0].id <= id {
		messages := q.waiting[0].messages
		q.waiting[0].messages = nil
		q.waiting = q.waiting[1:]
		q.release(messages)
	}
	q.drain(now)
}

// release lets messages leave whose condition is met.
func (q *quorum) release(messages []*pb.Message) {
	for _, m := range messages {
		q.promise(m)
		if m.GetTo() == q.me {
			_ = q.node.Step(m) // from raft to itself
		} else {
			q.send(m)
		}
	}
}

func (q *quorum) send(m *pb.Message) {
	q.out.messages = append(q.out.messages, Message{To: brokerID(m.GetTo()), Data: encodeMessage(m)})
}

// drain carries out what raft wants done until it wants nothing more.
func (q *quorum) drain(now time.Duration) {
	for q.out.fatal == nil && q.node.HasReady() {
		rd := q.node.Ready()
		if rd.SoftState != nil {
			q.changeRole(now, rd.SoftState)
		}
		for _, m := range rd.Messages {
			if err := q.carryOut(m); err != nil {
				q.out.fatal = err
				return
			}
		}
		if !q.dirty {
			q.await()
		}
	}
	if q.dirty {
		q.dirty = false
		q.flushed++
		id := disk.FlushID(q.flushed)
		q.waiting = append(q.waiting, waitingFlush{id: id})
		q.out.flushes = append(q.out.flushes, disk.Flush{ID: id, Steps: q.log.flush()})
	}
	q.await()
}

// await ties what may leave to the last flush under way; with none under way everything lasts already.
func (q *quorum) await() {
	messages := q.after
	q.after = nil
	if n := len(q.waiting); n > 0 {
		q.waiting[n-1].messages = append(q.waiting[n-1].messages, messages...)
		return
	}
	q.release(messages)
}

func (q *quorum) changeRole(now time.Duration, s *raft.SoftState) {
	began := s.RaftState == raft.StateLeader && q.state != raft.StateLeader
	q.state, q.lead = s.RaftState, brokerID(s.Lead)
	if began {
		q.heartbeatAt = now + q.electionTimeout/heartbeatsPerTimeout
		q.allAnswered(now)
		clear(q.snapshotAt)
	}
	q.moved()
}

// allAnswered lets the time within which a majority must answer begin anew.
func (q *quorum) allAnswered(now time.Duration) {
	clear(q.answeredAt)
	q.votersSince = now
}

func (q *quorum) carryOut(m *pb.Message) error {
	switch m.GetTo() {
	case raft.LocalAppendThread:
		var state *pb.HardState
		if m.Term != nil {
			state = &pb.HardState{Term: m.Term, Vote: m.Vote, Commit: m.Commit}
		}
		if q.log.last() == 0 && (len(m.GetEntries()) > 0 || m.GetSnapshot() != nil) && !q.leading() {
			if state == nil {
				state = q.log.state
			}
			q.log.abstain = max(state.GetTerm(), q.term())
		}
		// A commit index is only a hint: raft finds it again.
		promises := state != nil && (state.GetTerm() != q.log.state.GetTerm() || state.GetVote() != q.log.state.GetVote())
		extends := len(m.GetEntries()) > 0 || m.GetSnapshot() != nil
		if q.bug.Bites(bug.QuorumAckUnflushed, extends && !promises && !q.dirty) {
			extends = false
		}
		q.dirty = q.dirty || promises || extends
		q.after = append(q.after, m.GetResponses()...)
		if e := m.GetEntries(); len(e) > 0 {
			q.told.Acked = min(q.told.Acked, int64(e[0].GetIndex())-1)
		}
		if m.GetSnapshot() != nil {
			if err := q.install(snapshotOf(m.GetSnapshot()), state); err != nil {
				return err
			}
			state = nil
		}
		return q.log.write(m.GetEntries(), state)
	case raft.LocalApplyThread:
		for _, e := range m.GetEntries() {
			if err := q.apply(e); err != nil {
				return err
			}
		}
		for _, r := range m.GetResponses() {
			_ = q.node.Step(r) // from raft to itself
		}
		return nil
	default:
		q.send(m)
		return nil
	}
}

// quietLogger drops what raft says; its panics stay panics, for what can only be a mistake of ours.
type quietLogger struct{}

func (quietLogger) Debug(...any)                   {}
func (quietLogger) Debugf(string, ...any)          {}
func (quietLogger) Info(...any)                    {}
func (quietLogger) Infof(string, ...any)           {}
func (quietLogger) Warning(...any)                 {}
func (quietLogger) Warningf(string, ...any)        {}
func (quietLogger) Error(...any)                   {}
func (quietLogger) Errorf(string, ...any)          {}
func (quietLogger) Fatal(v ...any)                 { panic(fmt.Sprint(v...)) }
func (quietLogger) Fatalf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
func (quietLogger) Panic(v ...any)                 { panic(fmt.Sprint(v...)) }
func (quietLogger) Panicf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
