package replica

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/refused"
)

// This file changes the ISR: a leader proposes, the controller decides by partition epoch (KIP-497, AlterPartition). What is
// proposed counts for the high watermark until every copy of it is known to have been refused; a lost answer says nothing.

// alterRetryBackoff is the wait before a proposal is sent again (Kafka's AlterPartitionManager).
const alterRetryBackoff = 50 * time.Millisecond

// proposal is where a partition's proposed ISR stands.
type proposal struct {
	sent    bool
	unknown bool                                                  // a copy was sent whose outcome is not known
	at      time.Duration                                         // to be sent at, or, after a refusal, when the next may be made
	members []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR // with the broker epochs that were seen when it was made
}

// alterQueue holds the partitions that have a proposal, and which of them are in the outstanding request.
type alterQueue struct {
	waiting     []*Partition // with an unsent proposal, in order of partition
	sent        []sentProposal
	outstanding bool
}

// sentProposal tells whether a partition still stands where it stood when its proposal was sent.
type sentProposal struct {
	p              *Partition
	leaderEpoch    kafka.Epoch
	partitionEpoch int32
	answered       bool
}

func (q *alterQueue) deadline() time.Duration {
	at := forever
	if !q.outstanding {
		for _, p := range q.waiting {
			at = min(at, p.proposal.at)
		}
	}
	return at
}

// isrCheckInterval is how often followers are looked at: as Kafka's isr-expiration task.
func isrCheckInterval(lagTimeMax time.Duration) time.Duration {
	return max(lagTimeMax/2, time.Millisecond)
}

// checkISRs proposes to drop every follower that does not keep up, and moves high watermarks that waited for one that
// no longer counts.
func (m *Manager) checkISRs(now time.Duration) {
	for _, p := range m.parts {
		if p.role != leading {
			continue
		}
		m.maybeShrinkISR(now, p)
		m.reevaluateHW(now, p)
	}
}

func (m *Manager) maybeShrinkISR(now time.Duration, p *Partition) {
	if p.pending != nil || now < p.proposal.at {
		return
	}
	if isr := m.keepingUp(now, p); len(isr) < len(p.isr) {
		m.propose(now, p, isr)
	}
}

// keepingUp is the committed ISR without the followers that do not keep up.
func (m *Manager) keepingUp(now time.Duration, p *Partition) []kafka.BrokerID {
	var out []kafka.BrokerID
	for i := range p.remotes {
		r := &p.remotes[i]
		if slices.Contains(p.isr, r.id) && !m.caughtUp(now, p, r) {
			out = append(out, r.id)
		}
	}
	return without(p.isr, out)
}

func (m *Manager) maybeExpandISR(now time.Duration, p *Partition, r *remote) {
	if slices.Contains(p.maximal, r.id) || now < p.proposal.at {
		return
	}
	ready, eligible := p.epochStart, m.eligible(r)
	if mayJoin(r.leo, p.hw, p.hw, eligible, p.pending != nil) && r.leo < p.epochStart {
		m.cfg.Refused.Note(refused.JoinBeforeEpoch, refused.Joined, m.about(p, r.id, m.cfg.NodeID))
	}
	if m.cfg.Bug.Bites(bug.JoinAtStaleHW, mayJoin(r.leo, p.hw, p.hw, eligible, p.pending != nil) && r.leo < p.epochStart) {
		ready = p.hw
	}
	if mayJoin(r.leo, p.hw, ready, eligible, p.pending != nil) {
		m.propose(now, p, append(slices.Clone(p.isr), r.id))
	}
}

// propose starts a change of the ISR. The broker epochs are those that the followers fetched with, taken together with the
// log ends that made the decision (KAFKA-15221).
func (m *Manager) propose(now time.Duration, p *Partition, isr []kafka.BrokerID) {
	p.pending = isr
	p.proposal = proposal{at: now}
	for _, id := range isr {
		member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		member.BrokerID, member.BrokerEpoch = int32(id), int64(m.memberEpoch(p, id))
		p.proposal.members = append(p.proposal.members, member)
	}
	p.maximal = maximalISR(p.isr, p.pending, p.doubtful)
	if m.cfg.Bug.Bites(bug.ShrinkBeforeCommit, len(isr) < len(p.isr)) {
		p.maximal = maximalISR(p.pending, nil, p.doubtful)
	}
	m.enqueueProposal(p)
	p.version++
}

// memberEpoch is the incarnation that a proposed member was seen in; NoBrokerEpoch for one that has not fetched in this leader epoch.
// The controller takes that only of a present member, which it takes out itself when a new incarnation registers (KIP-903): the
// registered epoch would vouch for an incarnation that this leader knows nothing of.
func (m *Manager) memberEpoch(p *Partition, id kafka.BrokerID) kafka.BrokerEpoch {
	if id == m.cfg.NodeID {
		return m.brokerEpoch
	}
	if r := p.remote(id); r != nil {
		return r.brokerEpoch
	}
	return kafka.NoBrokerEpoch
}

// withdraw forgets a partition's proposal and all its copies: none can be accepted any more.
func (m *Manager) withdraw(p *Partition) {
	p.pending, p.doubtful, p.proposal = nil, nil, proposal{}
	p.maximal = p.isr
	m.alter.waiting = slices.DeleteFunc(m.alter.waiting, func(q *Partition) bool { return q == p })
}

func (m *Manager) enqueueProposal(p *Partition) {
	p.proposal.sent = false
	i, found := slices.BinarySearchFunc(m.alter.waiting, p.tp, func(q *Partition, tp kafka.TopicPartition) int { return q.tp.Compare(tp) })
	if !found {
		m.alter.waiting = slices.Insert(m.alter.waiting, i, p)
	}
}

// retryProposal sends the same proposal again after a back-off: its outcome is unknown.
func (m *Manager) retryProposal(now time.Duration, p *Partition) {
	p.proposal.at, p.proposal.unknown = now+alterRetryBackoff, true
	m.enqueueProposal(p)
}

// refused follows a definite refusal. Without a copy of unknown outcome the proposal is withdrawn; else another is made in its place,
// only to move the partition epoch, until a later one is known.
func (m *Manager) refused(now time.Duration, p *Partition) {
	p.doubtful = inDoubt(p.isr, p.pending, p.doubtful, p.proposal.unknown)
	if len(p.doubtful) == 0 {
		m.withdraw(p)
		p.proposal.at = now + alterRetryBackoff
		return
	}
	m.propose(now+alterRetryBackoff, p, m.keepingUp(now, p))
}

// sendAlterPartition puts every due proposal into one request, if none is outstanding.
func (m *Manager) sendAlterPartition() {
	q := &m.alter
	if q.outstanding || len(q.waiting) == 0 || m.brokerEpoch == kafka.NoBrokerEpoch || q.deadline() > m.now {
		return
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, int32(m.cfg.NodeID), int64(m.brokerEpoch)
	later := q.waiting[:0:0]
	for _, p := range q.waiting {
		if p.proposal.at > m.now {
			later = append(later, p)
			continue
		}
		p.proposal.sent = true
		q.sent = append(q.sent, sentProposal{p: p, leaderEpoch: p.epoch, partitionEpoch: p.partitionEpoch})
		part := kmsg.NewAlterPartitionRequestTopicPartition()
		part.Partition, part.LeaderEpoch, part.PartitionEpoch = p.tp.Index, int32(p.epoch), p.partitionEpoch
		part.NewEpochISR = p.proposal.members
		if n := len(req.Topics); n == 0 || kafka.TopicID(req.Topics[n-1].TopicID) != p.topicID {
			topic := kmsg.NewAlterPartitionRequestTopic()
			topic.TopicID = p.topicID
			req.Topics = append(req.Topics, topic)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, part)
	}
	q.waiting, q.outstanding = later, true
	m.out.AlterPartition = req
}

// AlterPartitionFailed says that the outstanding AlterPartition is lost: its outcome is unknown, it must be tried again.
func (m *Manager) AlterPartitionFailed(now time.Duration) {
	m.now = now
	if m.stopping {
		return
	}
	m.finishAlter(now)
}

// finishAlter ends the outstanding request: whatever it did not decide is tried again (KAFKA-14010).
func (m *Manager) finishAlter(now time.Duration) {
	for _, s := range m.alter.sent {
		if !s.answered && s.current() && !m.cfg.Bug.Bites(bug.AlterPartitionWedged, true) {
			m.retryProposal(now, s.p)
		}
	}
	m.alter.sent, m.alter.outstanding = m.alter.sent[:0], false
}

// current reports whether the proposal that was sent is still the partition's own.
func (s *sentProposal) current() bool {
	return s.p.role == leading && s.p.epoch == s.leaderEpoch && s.p.partitionEpoch == s.partitionEpoch &&
		s.p.pending != nil && s.p.proposal.sent
}

// AlterPartitionResponse takes the controller's answer; AlterPartitionFailed says that none will come.
func (m *Manager) AlterPartitionResponse(now time.Duration, resp *kmsg.AlterPartitionResponse) {
	m.now = now
	if m.stopping || !m.alter.outstanding {
		return
	}
	if kafka.Code(resp.ErrorCode) == kafka.None {
		for i := range resp.Topics {
			t := &resp.Topics[i]
			for k := range t.Partitions {
				s := m.sentFor(kafka.TopicID(t.TopidID), t.Partitions[k].Partition)
				switch {
				case s == nil:
				case s.current():
					s.answered = m.decided(now, s.p, &t.Partitions[k])
				case s.p.role == leading:
					m.cfg.Refused.Note(refused.StaleAlterAnswer, isrEffect(s.p.isr, t.Partitions[k].ISR), m.about(s.p, m.cfg.NodeID))
				}
			}
		}
	}
	m.finishAlter(now)
}

func (m *Manager) sentFor(id kafka.TopicID, index int32) *sentProposal {
	for i := range m.alter.sent {
		if s := &m.alter.sent[i]; s.p.topicID == id && s.p.tp.Index == index {
			return s
		}
	}
	return nil
}

// decided takes the controller's word on one proposal; false: it must be asked again. Only two answers settle it: the new ISR,
// and INELIGIBLE_REPLICA, which says that the partition epoch was right and this copy changed nothing. Every other error may come from
// a controller that is no longer one, or tells of a change that the metadata will bring.
func (m *Manager) decided(now time.Duration, p *Partition, a *kmsg.AlterPartitionResponseTopicPartition) bool {
	switch code := kafka.Code(a.ErrorCode); {
	case code == kafka.IneligibleReplica:
		m.refused(now, p)
	case code == kafka.None && kafka.Epoch(a.LeaderEpoch) == p.epoch && kafka.BrokerID(a.LeaderID) == m.cfg.NodeID && provesRefused(a.PartitionEpoch, p.partitionEpoch):
		p.partitionEpoch = a.PartitionEpoch
		p.isr = make([]kafka.BrokerID, len(a.ISR))
		for i, id := range a.ISR {
			p.isr[i] = kafka.BrokerID(id)
		}
		m.withdraw(p)
	default:
		return false
	}
	p.version++
	m.reevaluateHW(now, p)
	return true
}
