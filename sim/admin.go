package sim

import (
	"time"

	"tidemark/broker/kafka"
	"tidemark/history"
	"tidemark/workloads"
)

// Reassign moves a partition to other replicas, by the admin request of a client.
func (w *World) Reassign(p history.Partition, to []history.BrokerID, timeout time.Duration) error {
	return workloads.Reassign(w, admin{w}, "reassign", p, to, timeout)
}

// Recreate deletes a topic and creates it again, by the admin requests of a client.
func (w *World) Recreate(topic string, timeout time.Duration) (string, error) {
	return workloads.Recreate(w, admin{w}, "recreate", topic, w.opt.Configs[0].DefaultReplicationFactor, timeout)
}

// name is a partition as the history names it: by its incarnation, if it is of the topic that the run recreates.
func (w *World) name(tp kafka.TopicPartition, id kafka.TopicID) history.Partition {
	p := partitionOf(tp)
	if w.opt.Recreated != "" && w.opt.Recreated == tp.Topic {
		p.Topic = history.Incarnation(tp.Topic, id)
	}
	return p
}
