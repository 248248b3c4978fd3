package replica

import (
	"slices"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
)

// firstFollowerVersion is the version of Fetch from which consumers know that they may be sent to a follower (KIP-392).
const firstFollowerVersion = 11

// candidate is a replica that a consumer may read from, as its leader knows it.
type candidate struct {
	id   kafka.BrokerID
	rack string
	leo  kafka.Offset
}

// preferredReplica is the replica that a leader sends a consumer to, kafka.NoBroker to read here (Kafka's ReplicaManager.findPreferredReadReplica).
// It may be any of the ISR that is alive and has the offset, the leader among them.
func (m *Manager) preferredReplica(op *fetchOp, t *fetchTarget) kafka.BrokerID {
	p := t.p
	if m.cfg.ReplicaSelector != config.RackAware || op.follower != kafka.NoBroker || op.rack == "" || p.role != leading {
		return kafka.NoBroker
	}
	leader := candidate{id: m.cfg.NodeID, rack: m.cfg.Rack, leo: p.log.End()}
	var followers []candidate
	for i := range p.remotes {
		r := &p.remotes[i]
		if b, ok := m.registration(r.id); ok && !b.Fenced && r.leo >= t.offset && slices.Contains(p.isr, r.id) {
			followers = append(followers, candidate{r.id, b.Rack, r.leo})
		}
	}
	if chosen := inRack(op.rack, leader, followers); chosen != leader.id {
		return chosen
	}
	return kafka.NoBroker
}

// inRack chooses a replica in a consumer's rack: the leader if it is there, else the follower that has the most, else the leader (Kafka's
// RackAwareReplicaSelector).
func inRack(rack string, leader candidate, followers []candidate) kafka.BrokerID {
	if leader.rack == rack {
		return leader.id
	}
	best := leader
	for _, f := range followers {
		if f.rack == rack && (best.id == leader.id || f.leo > best.leo) {
			best = f
		}
	}
	return best.id
}
