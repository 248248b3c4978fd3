package replica

import (
	"slices"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// leaderState is the leader's part of a partition.
type leaderState struct {
	epochStart     kafka.Offset
	partitionEpoch int32
	replicas       []kafka.BrokerID
	minISR         int              // effective: see effectiveMinISR
	isr            []kafka.BrokerID // committed
	pending        []kafka.BrokerID // proposed to the controller, nil if nothing is
	doubtful       []kafka.BrokerID // whom a copy of an earlier proposal may still let in: see inDoubt
	maximal        []kafka.BrokerID // isr ∪ pending ∪ doubtful
	remotes        []remote         // every assigned replica but the leader
	proposal       proposal
}

// remote is what a leader knows of a follower.
type remote struct {
	id            kafka.BrokerID
	leo           kafka.Offset // -1 before its first fetch in this epoch
	start         kafka.Offset // its log start offset, likewise
	brokerEpoch   kafka.BrokerEpoch
	lastCaughtUp  time.Duration // when it was last known to have had everything that the leader had
	lastFetch     time.Duration
	leaderEndThen kafka.Offset // the leader's LEO at lastFetch
	hwSent        kafka.Offset // in the last response
}

// becomeLeader starts an epoch as leader. What followers said in an earlier epoch is forgotten: in between another leader may have
// made them truncate.
func (m *Manager) becomeLeader(now time.Duration, p *Partition, reg metadata.Partition) {
	m.leaveRole(p)
	p.role, p.epoch, p.leader = leading, reg.LeaderEpoch, m.cfg.NodeID
	p.epochStart = p.log.End()
	p.log.AssignEpoch(p.epoch, p.epochStart)
	m.step(Step{Kind: StepElection, Partition: p.tp, Epoch: p.epoch, Peer: p.leader, From: p.hw, To: p.epochStart})
	m.adoptISR(now, p, reg)
	m.maybeFlush(p)
}

// adoptISR takes the committed ISR and replicas of a registration in the leader's own epoch.
func (m *Manager) adoptISR(now time.Duration, p *Partition, reg metadata.Partition) {
	p.partitionEpoch = reg.PartitionEpoch
	p.isr = slices.Clone(reg.ISR)
	m.setReplicas(now, p, reg.Replicas)
	m.withdraw(p)
	p.version++
	m.reevaluateHW(now, p)
}

// setReplicas keeps the state of followers that stay, drops that of those that are no longer assigned, and starts afresh with new ones.
func (m *Manager) setReplicas(now time.Duration, p *Partition, replicas []kafka.BrokerID) {
	if p.remotes != nil && slices.Equal(p.replicas, replicas) {
		return
	}
	p.replicas = slices.Clone(replicas)
	old := p.remotes
	p.remotes = make([]remote, 0, len(replicas))
	for _, id := range replicas {
		if id == m.cfg.NodeID {
			continue
		}
		if i := slices.IndexFunc(old, func(r remote) bool { return r.id == id }); i >= 0 {
			p.remotes = append(p.remotes, old[i])
			continue
		}
		r := remote{id: id, leo: -1, start: -1, brokerEpoch: kafka.NoBrokerEpoch, lastCaughtUp: longAgo, lastFetch: longAgo, leaderEndThen: -1, hwSent: -1}
		if slices.Contains(p.isr, id) {
			r.lastCaughtUp, r.lastFetch = now, now
			if m.cfg.Bug.Bites(bug.ISRPresumedComplete, p.epochStart > p.hw) {
				r.leo = p.epochStart
			}
		}
		p.remotes = append(p.remotes, r)
	}
}

func (p *Partition) remote(id kafka.BrokerID) *remote {
	for i := range p.remotes {
		if p.remotes[i].id == id {
			return &p.remotes[i]
		}
	}
	return nil
}

// credit takes down what an admitted, not diverging fetch says of a follower: it has everything below its fetch offset. Then the
// ISR and the high watermark are looked at again.
func (m *Manager) credit(now time.Duration, p *Partition, r *remote, offset kafka.Offset, epoch kafka.BrokerEpoch) {
	end := p.log.End()
	switch {
	case offset >= end:
		r.lastCaughtUp = max(r.lastCaughtUp, now)
	case offset >= r.leaderEndThen && r.leaderEndThen >= 0:
		r.lastCaughtUp = max(r.lastCaughtUp, r.lastFetch)
	}
	moved := r.leo != offset || r.brokerEpoch != epoch
	r.leo, r.brokerEpoch, r.lastFetch, r.leaderEndThen = offset, epoch, now, max(end, r.leaderEndThen)
	m.maybeExpandISR(now, p, r)
	if moved {
		m.advanceHW(now, p)
	}
}

// eligible reports whether the controller would take a follower into the ISR, as far as this broker's metadata tells.
func (m *Manager) eligible(r *remote) bool {
	b, ok := m.registration(r.id)
	right := eligible(ok, b.Fenced, b.Stopping, r.brokerEpoch, b.Epoch)
	if m.cfg.Bug.Bites(bug.IneligibleJoins, eligible(ok, false, false, r.brokerEpoch, b.Epoch) != right) {
		return true
	}
	return right
}

func (m *Manager) caughtUp(now time.Duration, p *Partition, r *remote) bool {
	return caughtUp(r.leo, p.log.End(), now-r.lastCaughtUp, m.cfg.ReplicaLagTimeMax, m.cfg.ReplicaLagMaxMessages)
}

// advanceHW moves a leader's high watermark as far as the rules allow, and answers who waited for it. It is called after
// everything that can change the outcome: an append and a follower's fetch, and by reevaluateHW.
func (m *Manager) advanceHW(now time.Duration, p *Partition) {
	m.moveHW(p, m.nextHW(now, p, m.cfg.Bug))
}

func (m *Manager) moveHW(p *Partition, hw kafka.Offset) {
	if hw == p.hw {
		return
	}
	m.setHW(p, hw, "")
	m.completeProduces(p)
	m.wakeFetches(p)
}

// reevaluateHW looks at the high watermark again when no log end has moved, but who counts may have changed: the ISR, a registration,
// min.insync.replicas, or by the passing of time who keeps up (KAFKA-13091).
func (m *Manager) reevaluateHW(now time.Duration, p *Partition) {
	hw := m.nextHW(now, p, m.cfg.Bug)
	if !m.cfg.Bug.Bites(bug.HWNotReevaluated, hw != p.hw) {
		m.moveHW(p, hw)
	}
}

// nextHW is the high watermark as it should be: that of a leader may have moved on to the smallest log end of all that count.
func (m *Manager) nextHW(now time.Duration, p *Partition, on *bug.Switch) kafka.Offset {
	if p.role != leading {
		return p.hw
	}
	smallest := p.log.End()
	for i := range p.remotes {
		r := &p.remotes[i]
		if r.leo >= smallest {
			continue
		}
		counts := countsForHW(slices.Contains(p.maximal, r.id), m.caughtUp(now, p, r), m.eligible(r))
		if on.Bites(bug.HWOverCommittedISR, counts && !slices.Contains(p.isr, r.id)) {
			counts = false
		}
		if counts {
			smallest = r.leo
		}
	}
	hw := leaderHW(p.hw, smallest)
	may := hwMayAdvance(len(p.isr), p.minISR, !m.cfg.EligibleLeaderReplicas)
	if hw == p.hw || may || on.Bites(bug.MinISROnlyBeforeAppend, true) {
		return hw
	}
	return p.hw
}
