package replica

import (
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// Partition is one replica: this broker's part in one partition.
type Partition struct{}

// Name is the partition's name.
func (p *Partition) Name() kafka.TopicPartition { panic("not built") }

// Leads reports whether this broker believes to be the leader.
func (p *Partition) Leads() bool { panic("not built") }

// Epoch is the leader epoch that this replica knows.
func (p *Partition) Epoch() kafka.Epoch { panic("not built") }

// EpochStart is, on a leader, where its epoch began.
func (p *Partition) EpochStart() kafka.Offset { panic("not built") }

// HW is the high watermark that this replica knows.
func (p *Partition) HW() kafka.Offset { panic("not built") }

// ISR is, on a leader, the committed in-sync replicas; MaximalISR adds the pending ones. Not to be changed.
func (p *Partition) ISR() []kafka.BrokerID { panic("not built") }

// MaximalISR is, on a leader, the committed and pending members of the ISR. Not to be changed.
func (p *Partition) MaximalISR() []kafka.BrokerID { panic("not built") }

// Log is the replica's log. Not to be changed by others.
func (p *Partition) Log() *log.Log { panic("not built") }

// Version grows with every change of anything above: a checker looks again only when it moved.
func (p *Partition) Version() uint64 { panic("not built") }
