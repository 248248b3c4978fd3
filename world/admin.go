package world

import (
	"time"

	"tidemark/history"
)

// CanReassign is the ability to move a partition to other brokers.
const CanReassign Ability = "reassign"

// Admin is what an administrator does to a cluster that works, by Kafka's own requests.
type Admin interface {
	// Reassign moves a partition to other replicas, the preferred leader first (AlterPartitionReassignments, KIP-455). It returns when the
	// controller has taken it up; the new replicas still have to catch up then.
	Reassign(p history.Partition, to []history.BrokerID, timeout time.Duration) error
}
