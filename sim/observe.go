package sim

import (
	"slices"

	"tidemark/broker"
	"tidemark/broker/controller"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
	"tidemark/broker/replica"
	"tidemark/history"
)

// recordISR records committed ISR changes once, though every member of the quorum reports them: those of the first to apply them.
// Which are new shows in the partition epoch that they lead to.
func (w *World) recordISR(h *host, changes []controller.Step) {
	for i := range changes {
		c := &changes[i]
		p := w.name(c.Partition, c.TopicID)
		if last, ok := w.isr[p]; ok && c.PartitionEpoch <= last {
			continue
		}
		w.isr[p] = c.PartitionEpoch
		detail := c.Detail
		if c.Unclean {
			detail += ", " + history.UncleanElection
		}
		w.opt.Record(history.Step{
			Time: w.now, Kind: history.StepISR, Broker: h.id, Partition: p, Epoch: history.Epoch(c.Epoch),
			Peer: history.BrokerID(c.Leader), From: history.UnknownOffset, To: history.UnknownOffset, ISR: brokersOf(c.ISR), Detail: detail,
		})
	}
}

// metadata is that of the node that has applied the most of it; nil if there is none.
func (w *World) metadata() (img *metadata.Image) {
	for _, h := range w.hosts {
		if n, ok := h.node.(*broker.Node); ok && (img == nil || n.Image().Index > img.Index) {
			img = n.Image()
		}
	}
	return img
}

// Observe returns the cluster as it stands: the metadata of the node that has applied the most of it, and each replica as its
// own broker has it.
func (w *World) Observe() history.ClusterState {
	s := history.ClusterState{Controller: history.NoBroker}
	for _, h := range w.hosts {
		if n, ok := h.node.(*broker.Node); ok && h.state == hostUp && n.IsActiveController() {
			s.Controller = h.id
		}
	}
	img := w.metadata()
	w.look()
	if img == nil {
		return s
	}
	for _, name := range img.TopicNames() {
		for i := range img.Topics[name].Partitions {
			p := &img.Topics[name].Partitions[i]
			s.Partitions = append(s.Partitions, w.observe(w.name(kafka.TopicPartition{Topic: name, Index: int32(i)}, img.Topics[name].ID), p))
		}
	}
	slices.SortFunc(s.Partitions, func(a, b history.PartitionState) int { return a.Partition.Compare(b.Partition) })
	return s
}

// look updates what is known of every replica of every broker that runs: what an earlier incarnation had is not this one's.
func (w *World) look() {
	for _, h := range w.hosts {
		n, ok := h.node.(*broker.Node)
		if !ok || h.state != hostUp {
			continue
		}
		clear(h.last)
		n.EachReplica(func(p *replica.Partition) {
			h.last[w.name(p.Name(), p.TopicID())] = history.ReplicaState{
				Broker: h.id, Leads: p.Leads(), Epoch: history.Epoch(p.Epoch()), LEO: history.Offset(p.Log().End()),
				HW: history.Offset(p.HW()), Start: history.Offset(p.Log().Start()),
			}
		})
	}
}

func (w *World) observe(name history.Partition, p *metadata.Partition) history.PartitionState {
	s := history.PartitionState{
		Partition: name, Leader: history.BrokerID(p.Leader), Epoch: history.Epoch(p.LeaderEpoch), PartitionEpoch: p.PartitionEpoch,
		ISR: brokersOf(p.ISR), ELR: brokersOf(p.ELR),
	}
	for _, id := range p.Replicas {
		b := history.BrokerID(id)
		r := history.ReplicaState{Broker: b, Epoch: -1, LEO: history.UnknownOffset, HW: history.UnknownOffset, Start: history.UnknownOffset}
		if h, err := w.host(b); err == nil {
			if known, ok := h.last[name]; ok {
				r = known
			}
			r.Up = h.state == hostUp
		}
		s.Replicas = append(s.Replicas, r)
	}
	return s
}
