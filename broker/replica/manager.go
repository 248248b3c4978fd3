// Package replica is a broker's replicas: for each partition the leader's and the follower's part of Kafka's replication,
// with the safety decisions as named predicates in rules.go.
package replica

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// Token names a request that is to be answered later; the node that gave it knows the connection.
type Token uint64

// Reply answers the request behind a token. A nil Response is a produce with acks=0: done, nothing to send.
type Reply struct {
	Token    Token
	Response kmsg.Response
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
	StepStart    StepKind = "start"
	StepRecovery StepKind = "recovery"
)

// Step is a protocol step, for people and witnesses.
type Step struct {
	Kind      StepKind
	Partition kafka.TopicPartition
	Epoch     kafka.Epoch
	Peer      kafka.BrokerID // follow: the leader; append as follower: the leader
	From, To  kafka.Offset
	Detail    string
}

// Manager holds every replica of one broker incarnation.
type Manager struct{}

// Open recovers every replica on the disk. It may sync directly.
func Open(cfg config.Config, fs disk.FS, now time.Duration) (*Manager, error) { panic("not built") }

// CleanShutdownEpoch is the broker epoch that a valid clean-shutdown marker carried when the manager was opened (the marker is
// deleted then), or kafka.NoBrokerEpoch: what the broker tells the controller as its previous broker epoch (KIP-966).
func (m *Manager) CleanShutdownEpoch() kafka.BrokerEpoch { panic("not built") }

// SetBrokerEpoch tells the epoch of this incarnation's registration; before it nothing is fetched.
func (m *Manager) SetBrokerEpoch(e kafka.BrokerEpoch) { panic("not built") }

// ApplyMetadata follows the metadata: changed lists the partitions that may have changed since the last call, in order.
func (m *Manager) ApplyMetadata(now time.Duration, img *metadata.Image, changed []kafka.TopicPartition) {
	panic("not built")
}

// Produce, Fetch: a client's or follower's request; the answer comes in Output, at once or later.
func (m *Manager) Produce(now time.Duration, req *kmsg.ProduceRequest, tok Token) { panic("not built") }

// Fetch serves consumers (ReplicaState.ID and ReplicaID -1) and followers.
func (m *Manager) Fetch(now time.Duration, req *kmsg.FetchRequest, tok Token) { panic("not built") }

// ListOffsets answers key 2, guarded as in KIP-207.
func (m *Manager) ListOffsets(now time.Duration, req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	panic("not built")
}

// OffsetForLeaderEpoch answers key 23.
func (m *Manager) OffsetForLeaderEpoch(now time.Duration, req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	panic("not built")
}

// FetchResponse takes a leader's answer to the outstanding fetch; FetchFailed says that none will come.
func (m *Manager) FetchResponse(now time.Duration, from kafka.BrokerID, resp *kmsg.FetchResponse) {
	panic("not built")
}

// FetchFailed says that the outstanding fetch to a leader is lost (timeout, reset): retry after replica.fetch.backoff.ms.
func (m *Manager) FetchFailed(now time.Duration, from kafka.BrokerID) { panic("not built") }

// AlterPartitionResponse takes the controller's answer; AlterPartitionFailed says that none will come.
func (m *Manager) AlterPartitionResponse(now time.Duration, resp *kmsg.AlterPartitionResponse) {
	panic("not built")
}

// AlterPartitionFailed says that the outstanding AlterPartition is lost: its outcome is unknown, it must be tried again.
func (m *Manager) AlterPartitionFailed(now time.Duration) { panic("not built") }

// Flushed reports a finished flush.
func (m *Manager) Flushed(now time.Duration, id disk.FlushID, err error) { panic("not built") }

// Tick does what has become due; Deadline is when Tick should next be called.
func (m *Manager) Tick(now time.Duration) { panic("not built") }

// Deadline is the earliest time at which Tick has something to do.
func (m *Manager) Deadline() time.Duration { panic("not built") }

// Ready returns what the manager wants done and forgets it.
func (m *Manager) Ready() Output { panic("not built") }

// BeginShutdown asks for a clean end: everything is flushed, the checkpoints and the clean-shutdown marker (with the broker
// epoch) are written, through Output.Flushes. Done reports that they were.
func (m *Manager) BeginShutdown(now time.Duration) { panic("not built") }

// Done reports that a shutdown begun has been flushed whole.
func (m *Manager) Done() bool { panic("not built") }

// EachReplica visits every replica in order of partition.
func (m *Manager) EachReplica(fn func(*Partition)) { panic("not built") }

// Close closes the logs' files.
func (m *Manager) Close() error { panic("not built") }
