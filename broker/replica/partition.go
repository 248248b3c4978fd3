package replica

import (
	"slices"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// role is what a replica does at present.
type role uint8

// The roles. Offline: no leader is known, or the metadata has not been heard yet.
const (
	offline role = iota
	leading
	following
)

// Partition is one replica: this broker's part in one partition.
type Partition struct {
	tp      kafka.TopicPartition
	topicID kafka.TopicID
	dir     string
	removed bool
	found   bool // on the disk, when this incarnation of the broker began
	log     *log.Log
	version uint64

	role   role
	epoch  kafka.Epoch
	leader kafka.BrokerID
	hw     kafka.Offset

	leaderState
	followerState
	flushState

	produces []*produceWait  // acks=all appends that wait for the high watermark, by required offset
	fetches  []*delayedFetch // that wait for data here
	deletes  []*deleteWait   // DeleteRecords that wait for the followers' log starts
}

// flushState is what a replica knows of its own flushes.
type flushState struct {
	flushing      disk.FlushID // of the log's flush under way, 0 if there is none
	savedStart    kafka.Offset // the largest log start offset that the checkpoint file may hold for this replica
	savedRecovery kafka.Offset // the largest recovery point that the checkpoint file may hold for this replica
	gate          disk.FlushID // nothing may be appended until this flush is done: see truncated
}

// Name is the partition's name.
func (p *Partition) Name() kafka.TopicPartition { return p.tp }

// Removed reports whether the broker has given the replica up: its log is closed.
func (p *Partition) Removed() bool { return p.removed }

// TopicID is the id of its topic.
func (p *Partition) TopicID() kafka.TopicID { return p.topicID }

// Leads reports whether this broker believes to be the leader.
func (p *Partition) Leads() bool { return p.role == leading }

// Epoch is the leader epoch that this replica knows, kafka.NoEpoch before it heard of any.
func (p *Partition) Epoch() kafka.Epoch { return p.epoch }

// EpochStart is, on a leader, where its epoch began.
func (p *Partition) EpochStart() kafka.Offset { return p.epochStart }

// HW is the high watermark that this replica knows.
func (p *Partition) HW() kafka.Offset { return p.hw }

// ISR is, on a leader, the committed in-sync replicas; MaximalISR adds the pending and doubtful ones. Not to be changed.
func (p *Partition) ISR() []kafka.BrokerID { return p.isr }

// MaximalISR is, on a leader, the committed, pending and doubtful members of the ISR. Not to be changed.
func (p *Partition) MaximalISR() []kafka.BrokerID { return p.maximal }

// Log is the replica's log. Not to be changed by others.
func (p *Partition) Log() *log.Log { return p.log }

// Version grows with every change of anything above: a checker looks again only when it moved.
func (p *Partition) Version() uint64 { return p.version }

// setHW moves the high watermark and reports the step.
func (m *Manager) setHW(p *Partition, hw kafka.Offset, why string) {
	if hw == p.hw {
		return
	}
	m.step(Step{Kind: StepHW, Partition: p.tp, Epoch: p.epoch, Peer: p.leader, From: p.hw, To: hw, Detail: why})
	p.hw = hw
	p.version++
	m.hwMoved = true
}

// without returns set without the members of drop.
func without(set, drop []kafka.BrokerID) []kafka.BrokerID {
	return slices.DeleteFunc(slices.Clone(set), func(b kafka.BrokerID) bool { return slices.Contains(drop, b) })
}
