package harness

import (
	"slices"
	"time"

	"tidemark/broker"
	"tidemark/broker/controller"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/replica"
	"tidemark/checker"
	"tidemark/history"
)

// watcher feeds the checker's invariants after every event of a simulated run: it looks at the one broker that the event touched, and
// there only at what changed.
type watcher struct {
	inv       *checker.Invariants
	node      func(history.BrokerID) *broker.Node
	minISR    int
	recreated string            // the topic whose incarnations are told apart
	present   history.Partition // that topic's, of its present incarnation; zero while there is none
	index     int64             // of the newest metadata that any node has applied: what is known to be committed
	brokers   []watched
}

// watched is one broker as it was last looked at.
type watched struct {
	id       history.BrokerID
	node     *broker.Node // nil while it is down
	quorum   controller.QuorumState
	begun    bool // quorum was told
	replicas []*watchedReplica
}

// watchedReplica is one replica of one incarnation as it was last looked at.
type watchedReplica struct {
	replica   *replica.Partition
	partition history.Partition
	version   uint64
	isrEpoch  int32 // the partition epoch, on a leader
	view      checker.ReplicaView
}

func newWatcher(inv *checker.Invariants, run history.Run) *watcher {
	w := &watcher{inv: inv, minISR: run.MinISR, recreated: run.Recreated}
	for _, id := range BrokerIDs(run) {
		w.brokers = append(w.brokers, watched{id: id})
	}
	return w
}

// afterEvent looks at the broker that an event touched.
func (w *watcher) afterEvent(now time.Duration, id history.BrokerID) {
	i := slices.IndexFunc(w.brokers, func(b watched) bool { return b.id == id })
	if i < 0 {
		return
	}
	b, n := &w.brokers[i], w.node(id)
	if n != b.node {
		w.incarnationEnded(now, b)
		b.node, b.quorum, b.begun = n, controller.QuorumState{}, false
	}
	if n == nil {
		return
	}
	b.lookAtQuorum(now, w.inv)
	w.forget(now, b)
	if img := n.Image(); img.Index > w.index {
		w.index = img.Index
		w.metadata(now, n)
	}
	at := 0
	n.EachReplica(func(p *replica.Partition) {
		if at == len(b.replicas) || b.replicas[at].replica != p {
			b.add(at, p, w.name(p.Name(), p.TopicID()))
		}
		w.look(now, n, b.replicas[at])
		at++
	})
}

// lookAtQuorum tells the broker's part in the controller quorum if it changed.
func (b *watched) lookAtQuorum(now time.Duration, inv *checker.Invariants) {
	q, was := b.node.Quorum(), &b.quorum
	if b.begun && q.Term == was.Term && q.Leads == was.Leads && q.Told == was.Told && q.Last == was.Last && q.Index == was.Index {
		return
	}
	inv.Quorum(now, checker.QuorumView{
		Member: b.id, Disk: q.Member, Term: q.Term, Last: q.Last, Leads: q.Leads, Changing: q.Changing, Began: !b.begun,
		Told:    checker.QuorumPromise{Term: q.Told.Term, Vote: history.BrokerID(q.Told.Vote), Acked: q.Told.Acked},
		Applied: q.Applied, Index: q.Index, From: was.Index,
	})
	*was, b.begun = q, true
}

// incarnationEnded tells that a broker's replicas are down.
func (w *watcher) incarnationEnded(now time.Duration, b *watched) {
	for _, r := range b.replicas {
		w.gone(now, r)
	}
	b.replicas = nil
}

// gone tells that a replica is down.
func (w *watcher) gone(now time.Duration, r *watchedReplica) {
	r.view.Running, r.view.Leads, r.view.Entry = false, false, nil
	w.inv.Replica(now, r.partition, r.view)
}

// forget tells that replicas are down which the broker has removed: their logs are closed.
func (w *watcher) forget(now time.Duration, b *watched) {
	b.replicas = slices.DeleteFunc(b.replicas, func(r *watchedReplica) bool {
		if r.replica.Removed() {
			w.gone(now, r)
		}
		return r.replica.Removed()
	})
}

// add takes a replica that is new, or that stands in the place of another, into the list.
func (b *watched) add(at int, p *replica.Partition, name history.Partition) {
	r := &watchedReplica{replica: p, partition: name, version: p.Version() - 1}
	r.view.Broker, r.view.Running = b.id, true
	r.view.Entry = func(at history.Offset) (checker.Entry, bool) { return entry(p.Log(), at) }
	b.replicas = slices.DeleteFunc(b.replicas, func(o *watchedReplica) bool { return o.replica.Name() == p.Name() })
	b.replicas = slices.Insert(b.replicas, min(at, len(b.replicas)), r)
}

// name is a partition as the history names it.
func (w *watcher) name(tp kafka.TopicPartition, id kafka.TopicID) history.Partition {
	p := history.Partition{Topic: tp.Topic, Index: tp.Index}
	if w.recreated != "" && w.recreated == tp.Topic {
		p.Topic = history.Incarnation(tp.Topic, id)
	}
	return p
}

// look tells a replica's state if it changed.
func (w *watcher) look(now time.Duration, n *broker.Node, r *watchedReplica) {
	p, view := r.replica, &r.view
	if r.version == p.Version() && view.Incarnation == int64(n.BrokerEpoch()) {
		return
	}
	r.version = p.Version()
	l := p.Log()
	view.Incarnation = int64(n.BrokerEpoch())
	view.Leads, view.Epoch, view.EpochStart = p.Leads(), history.Epoch(p.Epoch()), history.Offset(p.EpochStart())
	view.Start, view.LEO, view.HW = history.Offset(l.Start()), history.Offset(l.End()), history.Offset(p.HW())
	view.DueHW = 0
	if e := p.PartitionEpoch(); e != r.isrEpoch {
		r.isrEpoch, view.DueHW = e, history.Offset(n.DueHW(p))
	}
	view.ISR, view.Maximal = follow(view.ISR, p.ISR()), follow(view.Maximal, p.MaximalISR())
	w.inv.Replica(now, r.partition, *view)
}

// follow is now as the checker has it: what was if they are the same, else a slice of its own.
func follow(was []history.BrokerID, now []kafka.BrokerID) []history.BrokerID {
	if slices.EqualFunc(was, now, func(a history.BrokerID, b kafka.BrokerID) bool { return int32(a) == int32(b) }) {
		return was
	}
	return brokers(nil, now)
}

// entry is the batch that holds an offset, as two replicas compare it.
func entry(l *log.Log, at history.Offset) (e checker.Entry, ok bool) {
	_ = l.EachBatch(kafka.Offset(at), func(b log.Batch) bool {
		e, ok = checker.Entry{Epoch: history.Epoch(b.Epoch), Digest: uint64(b.CRC)<<32 | uint64(uint32(b.Base))}, true
		return false
	})
	return e, ok
}

// metadata tells what the controller has committed, as the node that is furthest ahead has applied it.
func (w *watcher) metadata(now time.Duration, n *broker.Node) {
	img := n.Image()
	known := make(map[history.BrokerID]checker.BrokerView, len(img.Brokers))
	for _, id := range img.BrokerIDs() {
		r := img.Brokers[id]
		known[history.BrokerID(id)] = checker.BrokerView{Incarnation: int64(r.Epoch), Fenced: r.Fenced}
	}
	if w.recreated != "" {
		var present history.Partition
		if t := img.Topics[w.recreated]; t != nil {
			present = w.name(kafka.TopicPartition{Topic: w.recreated}, t.ID)
		}
		if present != w.present && w.present.Topic != "" {
			w.inv.Deleted(w.present)
		}
		w.present = present
	}
	for _, name := range img.TopicNames() {
		for i, p := range img.Topics[name].Partitions {
			w.inv.Partition(now, checker.PartitionView{
				Partition: w.name(kafka.TopicPartition{Topic: name, Index: int32(i)}, img.Topics[name].ID), Leader: history.BrokerID(p.Leader),
				Epoch: history.Epoch(p.LeaderEpoch), ISR: brokers(nil, p.ISR), ELR: brokers(nil, p.ELR),
				Replicas: brokers(nil, p.Replicas), MinISR: w.minISR, Known: known,
			})
		}
	}
}

func brokers(dst []history.BrokerID, ids []kafka.BrokerID) []history.BrokerID {
	for _, id := range ids {
		dst = append(dst, history.BrokerID(id))
	}
	return dst
}
