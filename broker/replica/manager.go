// Package replica is a broker's replicas: for each partition the leader's and the follower's part of Kafka's replication,
// with the safety decisions as named predicates in rules.go.
package replica

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// Token names a request that is to be answered later; the node that gave it knows the connection.
type Token uint64

// Reply answers the request behind a token. A nil Response is a produce with acks=0: done, nothing to send. With Close the
// connection is to be closed instead: such a produce failed, and there is no other way to let its producer know.
type Reply struct {
	Token    Token
	Response kmsg.Response
	Close    bool
}

// FetchOut is a replica fetch to send to a leader; at most one per leader is outstanding.
type FetchOut struct {
	To      kafka.BrokerID
	Request *kmsg.FetchRequest
}

// Output is what a manager wants done.
type Output struct {
	Fetches        []FetchOut
	AlterPartition *kmsg.AlterPartitionRequest // to the active controller; at most one outstanding
	Replies        []Reply
	Flushes        []disk.Flush // ids are the manager's own, from 1
	Steps          []Step
	Fatal          error // a disk error: the broker must stop at once
}

// StepKind names a protocol step; the names are those of the history.
type StepKind string

// The steps a manager reports.
const (
	StepElection StepKind = "election"
	StepFollow   StepKind = "follow"
	StepHW       StepKind = "hw"
	StepAppend   StepKind = "append"
	StepTruncate StepKind = "truncate"
	StepTrim     StepKind = "trim"
	StepStart    StepKind = "start"
	StepRecovery StepKind = "recovery"
)

// Step is a protocol step, for people and witnesses.
type Step struct {
	Kind      StepKind
	Partition kafka.TopicPartition
	TopicID   kafka.TopicID // of the replica's topic; zero where the replica is gone
	Epoch     kafka.Epoch
	Peer      kafka.BrokerID // follow: the leader; append as follower: the leader
	From, To  kafka.Offset
	Detail    string
}

// forever is a deadline that never comes; longAgo is a time before every clock's start.
const (
	forever = time.Duration(1<<63 - 1)
	longAgo = -forever / 2
)

// Manager holds every replica of one broker incarnation.
type Manager struct {
	cfg         config.Config
	fs          disk.FS
	img         *metadata.Image
	brokerEpoch kafka.BrokerEpoch
	cleanEpoch  kafka.BrokerEpoch
	serving     bool // the metadata contains this incarnation's registration: see mayServe
	stopping    bool
	done        bool

	parts    []*Partition // in order
	byName   map[kafka.TopicPartition]*Partition
	strays   []string // directories whose topic is unknown, until they can be removed
	removals []string // directories that are being removed: not to be created again before they are gone

	fetchers  []*fetcher // by leader, ascending
	purgatory purgatory
	sessions  fetchSessionCache
	alter     alterQueue
	flushes   map[disk.FlushID]flushJob
	flushID   disk.FlushID

	nextISRCheck           time.Duration
	nextHWCheckpoint       time.Duration
	nextRecoveryCheckpoint time.Duration
	nextRetention          time.Duration
	nextProducerExpiry     time.Duration
	hwMoved                bool // since the last checkpoint
	recoveryMoved          bool

	now   time.Duration // of the last input
	out   Output
	given int    // bytes of records in out's replies
	spare Output // whose slices the next output may use
}

// SetBrokerEpoch tells the epoch of this incarnation's registration; before it nothing is fetched.
func (m *Manager) SetBrokerEpoch(e kafka.BrokerEpoch) { m.brokerEpoch = e }

// CleanShutdownEpoch is the broker epoch that a valid clean-shutdown marker carried when the manager was opened (the marker is
// deleted then), or kafka.NoBrokerEpoch, also where the disk was found to lack what a clean end had stored: what the broker tells the
// controller as its previous broker epoch (KIP-966).
func (m *Manager) CleanShutdownEpoch() kafka.BrokerEpoch { return m.cleanEpoch }

// Tick does what has become due; Deadline is when Tick should next be called.
func (m *Manager) Tick(now time.Duration) {
	m.now = now
	if m.stopping {
		return
	}
	m.expire(now)
	if now >= m.nextISRCheck {
		m.nextISRCheck = now + isrCheckInterval(m.cfg.ReplicaLagTimeMax)
		m.checkISRs(now)
	}
	if now >= m.nextRetention {
		m.nextRetention = now + m.cfg.LogRetentionCheckInterval
		m.retain(now)
	}
	if now >= m.nextHWCheckpoint {
		m.nextHWCheckpoint = now + m.cfg.HWCheckpointInterval
		if m.hwMoved {
			m.checkpointHW()
		}
	}
	if now >= m.nextProducerExpiry {
		m.nextProducerExpiry = now + m.cfg.ProducerIDExpirationCheckInterval
		for _, p := range m.parts {
			p.log.ExpireProducers(now, m.cfg.ProducerIDExpiration)
		}
	}
	if now >= m.nextRecoveryCheckpoint {
		m.nextRecoveryCheckpoint = now + m.cfg.RecoveryCheckpointInterval
		if m.recoveryMoved {
			m.checkpointRecovery(flushJob{})
		}
	}
}

// Deadline is the earliest time at which Tick has something to do.
func (m *Manager) Deadline() time.Duration {
	if m.stopping {
		return forever
	}
	at := min(m.nextISRCheck, m.nextHWCheckpoint, m.nextRecoveryCheckpoint, m.nextRetention, m.nextProducerExpiry, m.purgatory.deadline(), m.alter.deadline())
	for _, f := range m.fetchers {
		at = min(at, f.deadline())
	}
	return at
}

// Ready returns what the manager wants done and forgets it. The slices are the caller's until the next call of Ready.
func (m *Manager) Ready() Output {
	if !m.stopping && m.out.Fatal == nil {
		m.maybeServe()
		m.sendFetches()
		m.sendAlterPartition()
	}
	out, again := m.out, m.spare
	m.out = Output{
		Fetches: again.Fetches[:0], Replies: again.Replies[:0], Flushes: again.Flushes[:0], Steps: again.Steps[:0],
	}
	m.spare, m.given = out, 0
	return out
}

// EachReplica visits every replica in order of partition.
func (m *Manager) EachReplica(fn func(*Partition)) {
	for _, p := range m.parts {
		fn(p)
	}
}

// Close closes the logs' files.
func (m *Manager) Close() error {
	var first error
	for _, p := range m.parts {
		if err := p.log.Close(); err != nil && first == nil {
			first = fmt.Errorf("closing the log of %v: %w", p.tp, err)
		}
	}
	return first
}

// fatal stops the broker: after a disk error nothing that this process believes to be stored can be relied on.
func (m *Manager) fatal(err error) {
	if m.out.Fatal == nil {
		m.out.Fatal = err
	}
}

func (m *Manager) step(s Step) {
	if p := m.byName[s.Partition]; p != nil {
		s.TopicID = p.topicID
	}
	m.out.Steps = append(m.out.Steps, s)
}

func (m *Manager) reply(tok Token, resp kmsg.Response) {
	m.out.Replies = append(m.out.Replies, Reply{Token: tok, Response: resp})
}

// insert adds a partition in order.
func (m *Manager) insert(p *Partition) {
	i, _ := slices.BinarySearchFunc(m.parts, p.tp, func(q *Partition, tp kafka.TopicPartition) int { return q.tp.Compare(tp) })
	m.parts = slices.Insert(m.parts, i, p)
	m.byName[p.tp] = p
}

// lookUp finds a replica by name: unknown topics and replicas that this broker does not have are told apart.
func (m *Manager) lookUp(tp kafka.TopicPartition) (*Partition, kafka.Code) {
	if p := m.byName[tp]; p != nil {
		return p, kafka.None
	}
	if m.img != nil {
		if _, ok := m.img.Partition(tp); ok {
			return nil, kafka.NotLeaderOrFollower
		}
	}
	return nil, kafka.UnknownTopicOrPartition
}

// registration returns what the metadata knows of a broker.
func (m *Manager) registration(id kafka.BrokerID) (metadata.Broker, bool) {
	if m.img == nil {
		return metadata.Broker{}, false
	}
	b, ok := m.img.Brokers[id]
	return b, ok
}
