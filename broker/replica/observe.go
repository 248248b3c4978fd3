package replica

import (
	"time"

	"tidemark/broker/kafka"
)

// Remote is what a leader knows of a follower. Times are the broker's own; negative ones mean never.
type Remote struct {
	ID           kafka.BrokerID
	LEO          kafka.Offset // -1 before its first fetch in this epoch
	BrokerEpoch  kafka.BrokerEpoch
	LastFetch    time.Duration
	LastCaughtUp time.Duration
}

// Remotes lists, on a leader, its followers; else nil.
func (p *Partition) Remotes() []Remote {
	if p.role != leading {
		return nil
	}
	out := make([]Remote, len(p.remotes))
	for i, r := range p.remotes {
		out[i] = Remote{r.id, r.leo, r.brokerEpoch, r.lastFetch, r.lastCaughtUp}
	}
	return out
}

// PartitionEpoch is, on a leader, that of the ISR which it knows to be committed.
func (p *Partition) PartitionEpoch() int32 { return p.partitionEpoch }

// DueHW is the high watermark that a replica should have by what it knew at its broker's last input: a leader's own rules give it.
func (m *Manager) DueHW(p *Partition) kafka.Offset { return m.nextHW(m.now, p, nil) }

// Leader is the leader that this replica knows, kafka.NoBroker if none.
func (p *Partition) Leader() kafka.BrokerID {
	if p.role == offline {
		return kafka.NoBroker
	}
	return p.leader
}
