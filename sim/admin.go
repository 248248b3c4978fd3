package sim

import (
	"time"

	"tidemark/history"
	"tidemark/workloads"
)

// Reassign moves a partition to other replicas, by the admin request of a client.
func (w *World) Reassign(p history.Partition, to []history.BrokerID, timeout time.Duration) error {
	return workloads.Reassign(w, admin{w}, "reassign", p, to, timeout)
}
