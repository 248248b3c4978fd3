// Package controller is one member of the controller quorum: the cluster's metadata in a raft log (what ZooKeeper did, KIP-500,
// KIP-595), sessions and fencing (KIP-631), elections (KIP-966), all as pure decisions around etcd's raft.
//
// quorum.go and raftlog.go replicate the log, snapshot.go shortens it, voters.go and directory.go say who votes. A decision (register.go,
// heartbeat.go, alter_partition.go, create_topics.go, delete_topics.go, elect_leaders.go, reassign.go) is a function from what is known and a
// request to records and an answer; rules.go and election.go hold the predicates that they are made of. This file ties the two together: the active controller decides on the
// metadata as it will be once everything proposed is committed, and answers when that is so.
package controller

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/twmb/franz-go/pkg/kmsg"
	pb "go.etcd.io/raft/v3/raftpb"

	"tidemark/broker/bug"
	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// Token names a request that is to be answered later.
type Token uint64

// Reply answers the request behind a token.
type Reply struct {
	Token    Token
	Response kmsg.Response
}

// Message is one raft message to another member, as bytes.
type Message struct {
	To   kafka.BrokerID
	Data []byte
}

// Output is what a controller wants done.
type Output struct {
	Messages []Message
	Replies  []Reply
	Flushes  []disk.Flush           // ids are the controller's own, from 1
	Changed  []kafka.TopicPartition // partitions that the committed metadata changed, in order, without repeats
	Steps    []Step
	Fatal    error // a disk error: the node must stop at once
}

// Step is an ISR or leader change that was committed, for people and witnesses. The member that leads the quorum reports it when
// it applies the change. A leader that dies between the others' flush and its own leaves a step that nobody reports; a new one
// whose commit index was lost with its power may report a step again, with the same partition epoch.
type Step struct {
	Partition      kafka.TopicPartition
	TopicID        kafka.TopicID
	Leader         kafka.BrokerID
	Epoch          kafka.Epoch
	PartitionEpoch int32 // of the change: tells a repeat
	ISR            []kafka.BrokerID
	Unclean        bool
	Detail         string // why: "broker 2 fenced", "alter partition by 1", ...
}

// Controller is one node's member of the quorum: a voter if it is in controller.quorum.voters, else a learner that follows the
// metadata.
type Controller struct {
	cfg   config.Config
	rnd   *rand.Rand
	q     *quorum
	image *metadata.Image // what is committed and applied

	// Of the active controller, nil otherwise.
	next         *metadata.Image // image, and after it everything proposed
	sessions     sessions
	waiting      []waitingReply // by index
	rebalanceAt  time.Duration
	surveyed     int64   // the index at which every registered broker was found to be the member it should be
	voterChanges []int64 // indexes of the changes of the voters that this controller proposed and that may not be committed

	applied   []uint64 // see QuorumState
	logged    int64    // bytes of records applied since the last snapshot
	recovered uint64   // the commit index found on the disk: changes up to it were reported by an earlier incarnation
	replies   []Reply
	changed   []kafka.TopicPartition
	steps     []Step
	now       time.Duration // of the input under way
}

// waitingReply is an answer that may leave once the entry at index is applied.
type waitingReply struct {
	index  int64
	token  Token
	req    kmsg.Request
	answer kmsg.Response
}

// Open recovers the member from its disk: raft log, term and vote. rnd draws election timeouts and topic ids.
func Open(cfg config.Config, fs disk.FS, now time.Duration, rnd *rand.Rand) (*Controller, error) {
	c := &Controller{cfg: cfg, rnd: rnd, image: metadata.New(), now: now}
	q, err := openQuorum(cfg, fs, now, rnd)
	if err != nil {
		return nil, err
	}
	q.apply, q.restore, q.moved = c.apply, c.restore, c.moved
	q.log.current = c.snapshot
	c.q, c.recovered = q, q.log.state.GetCommit()
	if q.log.snap != nil {
		if err := c.restore(q.log.snap); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", q.log.path, err), c.Close())
		}
	}
	q.drain(now)
	return c, q.out.fatal
}

// Step takes a raft message from another member; garbage is an error and changes nothing.
func (c *Controller) Step(now time.Duration, data []byte) error {
	c.now = now
	if err := c.q.step(now, data); err != nil {
		return err
	}
	c.settle()
	return nil
}

// Handle takes a request for the active controller: BrokerRegistration, BrokerHeartbeat, AlterPartition, AllocateProducerIds, CreateTopics,
// DeleteTopics, ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, AddRaftVoter, RemoveRaftVoter. The answer comes in
// Output once what it changed, and what it was decided on, is committed; NOT_CONTROLLER where this member is not the active one, or stops
// being it before the commit.
func (c *Controller) Handle(now time.Duration, req kmsg.Request, tok Token) {
	c.Tick(now) // what is due comes first: a session that ran out has no say
	if !c.IsActive() {
		c.replies = append(c.replies, Reply{tok, refuse(req, kafka.NotController)})
		return
	}
	switch req.(type) {
	case *kmsg.AddRaftVoterRequest, *kmsg.RemoveRaftVoterRequest:
		c.changeVoters(req, tok)
		c.settle()
		return
	}
	d := c.decide(req)
	if !c.carryOut(d.records) {
		c.replies = append(c.replies, Reply{tok, refuse(req, kafka.NotController)})
		return
	}
	if d.then != nil {
		d.then(c.next.Index)
	}
	index := c.next.Index
	_, ids := req.(*kmsg.AllocateProducerIDsRequest)
	if c.cfg.Bug.Bites(bug.ProducerIDsBeforeCommit, ids && index > c.image.Index) {
		index = c.image.Index
	}
	c.reply(waitingReply{index: index, token: tok, req: req, answer: d.answer})
	c.settle()
}

func (c *Controller) decide(req kmsg.Request) decision {
	v := c.view()
	switch r := req.(type) {
	case *kmsg.BrokerRegistrationRequest:
		return register(v, c.sessions, r)
	case *kmsg.BrokerHeartbeatRequest:
		return heartbeat(v, c.sessions, r)
	case *kmsg.AllocateProducerIDsRequest:
		return allocateProducerIDs(v, r)
	case *kmsg.AlterPartitionRequest:
		return alterPartitions(v, r)
	case *kmsg.CreateTopicsRequest:
		return createTopics(v, r, c.rnd)
	case *kmsg.DeleteTopicsRequest:
		return deleteTopics(v, r)
	case *kmsg.ElectLeadersRequest:
		return electLeaders(v, r)
	case *kmsg.AlterPartitionAssignmentsRequest:
		return reassignPartitions(v, r)
	case *kmsg.ListPartitionReassignmentsRequest:
		return listReassignments(v, r)
	default:
		return decision{answer: refuse(req, kafka.InvalidRequest)}
	}
}

func (c *Controller) view() view {
	return view{img: c.next, cfg: &c.cfg, index: int64(c.q.log.last()) + 1, now: c.now}
}

// carryOut proposes a decision's records as one entry and takes them into account from now on. False if this member cannot
// go on as the active controller: it has resigned.
func (c *Controller) carryOut(records []metadata.Record) bool {
	if len(records) == 0 {
		return true
	}
	index := int64(c.q.log.last()) + 1
	for _, rec := range records {
		if _, err := c.next.Apply(rec); err != nil {
			c.q.resign(c.now)
			return false
		}
	}
	c.next.Index = index
	if !c.q.propose(c.now, metadata.Append(nil, records)) {
		c.q.resign(c.now)
		return false
	}
	return c.next != nil
}

func (c *Controller) reply(w waitingReply) {
	committed := w.index <= c.image.Index
	if committed || c.cfg.Bug.Bites(bug.ZombieController, !committed) {
		c.replies = append(c.replies, Reply{w.token, w.answer})
		return
	}
	c.waiting = append(c.waiting, w)
}

// Flushed reports a finished flush.
func (c *Controller) Flushed(now time.Duration, id disk.FlushID, err error) {
	c.now = now
	if err != nil {
		c.q.out.fatal = fmt.Errorf("flush of %s: %w", logPath, err)
		return
	}
	c.q.flushDone(now, id)
	c.settle()
}

// Tick does what has become due; Deadline is when Tick should next be called.
func (c *Controller) Tick(now time.Duration) {
	c.now = now
	if now >= c.q.deadline() {
		c.q.tick(now)
	}
	c.settle()
	// One session after another, each from the state that the one before left: two brokers that die at once must not be each
	// other's successors (KAFKA-13173).
	for c.IsActive() {
		b, at := c.sessions.first(c.next, c.cfg.BrokerSessionTimeout)
		if b == kafka.NoBroker || now < at {
			break
		}
		if !c.carryOut(c.expire(b)) {
			break
		}
	}
	if c.IsActive() && now >= c.rebalanceAt {
		c.rebalanceAt = now + c.cfg.LeaderImbalanceCheckInterval
		c.carryOut(rebalance(c.view()))
	}
}

// expire fences a broker whose session ran out, as the metadata will be once all that was decided before is committed.
func (c *Controller) expire(b kafka.BrokerID) []metadata.Record {
	v := c.view()
	records := fence(v, b)
	v.img = c.image
	alone := fence(v, b)
	if c.cfg.Bug.Bites(bug.ConcurrentExpiry, !bytes.Equal(metadata.Append(nil, alone), metadata.Append(nil, records))) {
		return alone
	}
	return records
}

// Deadline is the earliest time at which Tick has something to do.
func (c *Controller) Deadline() time.Duration {
	d := c.q.deadline()
	if c.IsActive() {
		_, at := c.sessions.first(c.next, c.cfg.BrokerSessionTimeout)
		d = min(d, at, c.rebalanceAt)
	}
	return d
}

// Ready returns what the controller wants done and forgets it.
func (c *Controller) Ready() Output {
	slices.SortFunc(c.changed, kafka.TopicPartition.Compare)
	out := Output{Messages: c.q.out.messages, Replies: c.replies, Flushes: c.q.out.flushes,
		Changed: slices.Compact(c.changed), Steps: c.steps, Fatal: c.q.out.fatal}
	c.q.out.messages, c.q.out.flushes = nil, nil
	c.replies, c.changed, c.steps = nil, nil, nil
	return out
}

// digest is that of the log up to and including the next entry to be applied.
func (c *Controller) digest(e *pb.Entry) uint64 {
	var head [25]byte
	if n := len(c.applied); n > 0 {
		binary.LittleEndian.PutUint64(head[:], c.applied[n-1])
	}
	binary.LittleEndian.PutUint64(head[8:], e.GetIndex())
	binary.LittleEndian.PutUint64(head[16:], e.GetTerm())
	head[24] = byte(e.GetType())
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(head[:])
	_, _ = d.Write(e.GetData())
	return d.Sum64()
}

// QuorumState is a member's part in the controller quorum.
type QuorumState struct {
	Member   uint64 // raft's id of the broker on its disk
	Term     int64
	Last     int64 // entry of the metadata log
	Leads    bool  // in that term, as it believes
	Told     Promise
	Changing int // changes of the voters that it proposed as the leader and that are not committed
	// Applied is a digest of the metadata log up to and including each of the entries that the member has applied last, the last at Index:
	// what two members applied is the same where their digests are. Not to be changed.
	Applied []uint64
	Index   int64
}

// Quorum tells of this member's part in the quorum.
func (c *Controller) Quorum() QuorumState {
	return QuorumState{Member: c.q.me, Term: c.Term(), Last: int64(c.q.log.last()), Leads: c.q.leading(), Told: c.q.told, Changing: c.pendingVoterChanges(), Applied: c.applied, Index: c.image.Index}
}

// apply takes a committed entry into the image.
func (c *Controller) apply(e *pb.Entry) error {
	c.image.Index = int64(e.GetIndex())
	c.applied = append(c.applied, c.digest(e))
	if err := c.applyData(e); err != nil {
		return err
	}
	if c.logged += int64(len(e.GetData())); c.logged < c.cfg.MetadataSnapshotBytes {
		return nil
	}
	c.logged = 0
	if err := c.q.compact(); err != nil {
		return err
	}
	if old := c.image.Index - int64(c.q.log.base.index) + 1; old < int64(len(c.applied)) {
		c.applied = slices.Clone(c.applied[int64(len(c.applied))-old:])
	}
	return nil
}

func (c *Controller) applyData(e *pb.Entry) error {
	if e.GetType() == pb.EntryConfChange {
		return c.q.changeMembers(e)
	}
	if len(e.GetData()) == 0 {
		return nil
	}
	records, err := metadata.Decode(e.GetData())
	if err != nil {
		return err
	}
	report := e.GetIndex() > c.recovered
	for _, rec := range records {
		changed, err := c.image.Apply(rec)
		if err != nil {
			return fmt.Errorf("entry %d: %w", e.GetIndex(), err)
		}
		c.changed = append(c.changed, changed...)
		if report {
			c.report(rec, changed)
		}
	}
	return nil
}

// snapshot is one of what was applied.
func (c *Controller) snapshot() (*snapshot, error) {
	last := entryID{index: uint64(c.image.Index)}
	if c.cfg.Bug.Bites(bug.SnapshotOffByOne, last.index > c.q.log.base.index+1) {
		last.index--
	}
	var err error
	if last.term, err = c.q.log.Term(last.index); err != nil {
		return nil, err
	}
	var digest uint64
	if n := len(c.applied); n > 0 {
		digest = c.applied[n-1]
	}
	data, err := metadata.AppendSnapshot(binary.BigEndian.AppendUint64(nil, digest), c.image)
	return &snapshot{last: last, members: c.q.members, data: data}, err
}

// restore takes over a snapshot.
func (c *Controller) restore(s *snapshot) error {
	img, digest, err := s.image()
	if err != nil {
		return err
	}
	c.changed = append(append(c.changed, c.image.AllPartitions()...), img.AllPartitions()...)
	c.image, c.applied, c.logged = img, []uint64{digest}, 0
	return nil
}

// report tells of a committed change of a leader or an ISR.
func (c *Controller) report(rec metadata.Record, changed []kafka.TopicPartition) {
	var cause metadata.Cause
	var unclean bool
	switch r := rec.(type) {
	case metadata.PartitionRecord:
		cause = r.Cause
	case metadata.PartitionChange:
		if r.Sets&(metadata.SetLeader|metadata.SetISR) == 0 {
			return
		}
		cause, unclean = r.Cause, r.Unclean
	default:
		return
	}
	p, _ := c.image.Partition(changed[0])
	c.steps = append(c.steps, Step{Partition: changed[0], TopicID: c.image.Topics[changed[0].Topic].ID, Leader: p.Leader, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
		ISR: p.ISR, Unclean: unclean, Detail: cause.String()})
}

// settle follows what the last input changed: the active controller begins, waiting answers leave, new brokers become members.
func (c *Controller) settle() {
	if c.next == nil && c.q.leading() && c.appliedOwnTerm() {
		c.next, c.surveyed, c.voterChanges = c.image.Clone(), 0, nil
		if size := c.cfg.ProducerIDBlockSize; c.cfg.Bug.Bites(bug.ProducerIDsReissued, c.next.NextProducerID >= size) {
			c.next.NextProducerID -= size
		}
		c.sessions = freshSessions(c.next, c.now)
		c.rebalanceAt = never
		if c.cfg.AutoLeaderRebalance && c.cfg.LeaderImbalanceCheckInterval > 0 {
			c.rebalanceAt = c.now + c.cfg.LeaderImbalanceCheckInterval
		}
	}
	c.answerDue()
	if c.next != nil && c.surveyed != c.image.Index && int64(c.q.log.last()) == c.image.Index {
		index := c.image.Index
		if c.keepMembers() {
			c.surveyed = index
		}
	}
}

// answerDue lets the answers leave that waited for what is committed now.
func (c *Controller) answerDue() {
	for len(c.waiting) > 0 && c.waiting[0].index <= c.image.Index {
		c.replies = append(c.replies, Reply{c.waiting[0].token, c.waiting[0].answer})
		c.waiting[0] = waitingReply{}
		c.waiting = c.waiting[1:]
	}
}

// appliedOwnTerm: a leader knows everything that was committed before it only once an entry of its own term is (Raft, figure 8).
func (c *Controller) appliedOwnTerm() bool {
	term, err := c.q.log.Term(uint64(c.image.Index))
	return err == nil && term == c.q.term()
}

// moved is called when the role or the leader changed: who was the active controller and is no more answers so to all.
func (c *Controller) moved() {
	if c.q.leading() || c.next == nil {
		return
	}
	c.answerDue() // the change that it resigned for, if it removed itself from the voters
	for _, w := range c.waiting {
		c.replies = append(c.replies, Reply{w.token, refuse(w.req, kafka.NotController)})
	}
	c.next, c.sessions, c.waiting, c.voterChanges = nil, nil, nil, nil
}

// Image is the committed metadata that this member has applied. Not to be changed.
func (c *Controller) Image() *metadata.Image { return c.image }

// Active is the member that this one believes to be the active controller, kafka.NoBroker if none.
func (c *Controller) Active() kafka.BrokerID { return c.q.lead }

// Term is the raft term: the controller epoch.
func (c *Controller) Term() int64 { return int64(c.q.term()) }

// IsActive reports whether this member acts as the controller: it leads, its own term's first entry is committed and a
// majority answered within controller.quorum.fetch.timeout.ms.
func (c *Controller) IsActive() bool { return c.next != nil }

// Close closes its files.
func (c *Controller) Close() error { return c.q.log.file.Close() }
