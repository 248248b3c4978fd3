package controller

import (
	"slices"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// The safety decisions, each as one predicate. Sources: Kafka's ReplicationControlManager and ClusterControlManager (KIP-497,
// KIP-841, KIP-903, KIP-966).

// active: the broker may lead and may join an ISR. A fenced one does not answer; one in controlled shutdown soon will not
// (KIP-841).
func active(img *metadata.Image, b kafka.BrokerID) bool {
	r, ok := img.Brokers[b]
	return ok && !r.Fenced && !r.Stopping
}

// currentIncarnation: the request comes from the incarnation that is registered, not from one before it.
func currentIncarnation(img *metadata.Image, b kafka.BrokerID, epoch kafka.BrokerEpoch) bool {
	r, ok := img.Brokers[b]
	return ok && r.Epoch == epoch
}

// senderAhead: the leader knows a later state of the partition than this controller, so this is not the active one (any more).
func senderAhead(p metadata.Partition, leaderEpoch kafka.Epoch, partitionEpoch int32) bool {
	return leaderEpoch > p.LeaderEpoch || partitionEpoch > p.PartitionEpoch
}

// leaderFenced: the request was made in an earlier leader epoch.
func leaderFenced(p metadata.Partition, leaderEpoch kafka.Epoch) bool {
	return leaderEpoch < p.LeaderEpoch
}

// updateStale: the request was made on an earlier state of the partition (compare and set).
func updateStale(p metadata.Partition, partitionEpoch int32) bool {
	return partitionEpoch < p.PartitionEpoch
}

// validISR: not empty, no broker twice, within the replicas, with the leader among them.
func validISR(p metadata.Partition, isr []member) bool {
	for i, m := range isr {
		if !kafka.Contains(p.Replicas, m.id) || slices.ContainsFunc(isr[:i], func(o member) bool { return o.id == m.id }) {
			return false
		}
	}
	return slices.ContainsFunc(isr, func(m member) bool { return m.id == p.Leader })
}

// member is a broker that a leader wants in the ISR, with the broker epoch in which it was seen caught up.
type member struct {
	id    kafka.BrokerID
	epoch kafka.BrokerEpoch // NoBrokerEpoch if the leader does not know it
}

// eligible: the broker may be in the ISR. It is active, and the incarnation that caught up is the one that is registered: a
// later one may have lost what the earlier had (KIP-903). A leader may not know the epoch of a member that it inherited and
// has not heard from; it must know that of one that joins.
func eligible(img *metadata.Image, p metadata.Partition, m member) bool {
	if !active(img, m.id) {
		return false
	}
	if m.epoch == kafka.NoBrokerEpoch {
		return kafka.Contains(p.ISR, m.id)
	}
	return m.epoch == img.Brokers[m.id].Epoch
}

// registrationTaken: another incarnation holds the id and its session is alive, fenced or not: a registration that a dead incarnation sent, and
// that the network kept, must not take the place of the one that has just come up (Kafka 4's BrokerHeartbeatTracker.hasValidSession).
// One that is shutting down gives way (KAFKA-19047).
func registrationTaken(old metadata.Broker, incarnation [16]byte, sessionAlive bool) bool {
	return old.Incarnation != incarnation && sessionAlive && !old.Stopping
}

// shutDownCleanly: the broker that registers proves by the epoch of its last registration that this one ended with everything
// on its disk (KIP-966).
func shutDownCleanly(old metadata.Broker, previous kafka.BrokerEpoch) bool {
	return previous == old.Epoch
}

// caughtUp: the broker has applied the metadata up to its own registration, so it knows what it is to do.
func caughtUp(metadataOffset int64, epoch kafka.BrokerEpoch) bool {
	return metadataOffset >= int64(epoch)
}

// reassigned: a reassignment is complete when every replica that is to stay is in the ISR (KAFKA-15665).
func reassigned(replicas, adding, removing, isr []kafka.BrokerID) bool {
	return len(adding)+len(removing) > 0 && subset(without(replicas, removing...), isr)
}

// begun: a reassignment is under way, and one replica at least that is to stay is in the ISR.
func begun(replicas, adding, removing, isr []kafka.BrokerID) bool {
	stay := without(replicas, removing...)
	return len(adding)+len(removing) > 0 && len(without(stay, isr...)) < len(stay)
}

// effectiveMinISR is min.insync.replicas, no more than there are replicas.
func effectiveMinISR(minISR int, replicas []kafka.BrokerID) int { return min(minISR, len(replicas)) }

// without is the set less some members, in its order.
func without(set []kafka.BrokerID, gone ...kafka.BrokerID) []kafka.BrokerID {
	var out []kafka.BrokerID
	for _, b := range set {
		if !kafka.Contains(gone, b) {
			out = append(out, b)
		}
	}
	return out
}

// subset reports whether every member of a is in b.
func subset(a, b []kafka.BrokerID) bool { return len(without(a, b...)) == 0 }
