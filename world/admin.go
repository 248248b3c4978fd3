package world

import (
	"time"

	"tidemark/history"
)

// The abilities of an administrator: to move a partition to other brokers, to delete a topic and create it again.
const (
	CanReassign Ability = "reassign"
	CanRecreate Ability = "recreate"
)

// Admin is what an administrator does to a cluster that works, by Kafka's own requests.
type Admin interface {
	// Reassign moves a partition to other replicas, the preferred leader first (AlterPartitionReassignments, KIP-455). It returns when the
	// controller has taken it up; the new replicas still have to catch up then.
	Reassign(p history.Partition, to []history.BrokerID, timeout time.Duration) error
	// Recreate deletes a topic and creates it again, with as many partitions and replicas; it creates one that is not there. It returns the new
	// incarnation's name (history.Incarnation).
	Recreate(topic string, timeout time.Duration) (incarnation string, err error)
}
