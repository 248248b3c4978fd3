package harness

import (
	"time"

	"tidemark/broker"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/replica"
	"tidemark/checker"
	"tidemark/history"
)

// watcher feeds the checker's invariants after every event of a simulated run: it looks at the one broker that the event touched, and
// there only at what changed.
type watcher struct {
	inv      *checker.Invariants
	node     func(history.BrokerID) *broker.Node
	minISR   int
	index    int64 // of the newest metadata that any node has applied: what is known to be committed
	versions map[replicaKey]uint64
	running  map[history.BrokerID]*broker.Node
	last     map[replicaKey]checker.ReplicaView
	order    map[history.BrokerID][]history.Partition // of each broker, in the order first seen
}

type replicaKey struct {
	broker    history.BrokerID
	partition history.Partition
}

func newWatcher(inv *checker.Invariants, minISR int) *watcher {
	return &watcher{
		inv: inv, minISR: minISR, versions: map[replicaKey]uint64{}, running: map[history.BrokerID]*broker.Node{},
		last: map[replicaKey]checker.ReplicaView{}, order: map[history.BrokerID][]history.Partition{},
	}
}

// afterEvent looks at the broker that an event touched.
func (w *watcher) afterEvent(now time.Duration, b history.BrokerID) {
	if b == history.NoBroker {
		return
	}
	n := w.node(b)
	if n != w.running[b] {
		w.incarnationEnded(now, b)
		w.running[b] = n
	}
	if n == nil {
		return
	}
	if img := n.Image(); img.Index > w.index {
		w.index = img.Index
		w.metadata(now, n)
	}
	n.EachReplica(func(p *replica.Partition) { w.replica(now, b, n, p) })
}

// incarnationEnded tells that a broker's replicas are down.
func (w *watcher) incarnationEnded(now time.Duration, b history.BrokerID) {
	for _, p := range w.order[b] {
		key := replicaKey{b, p}
		view := w.last[key]
		view.Running, view.Leads, view.Entry = false, false, nil
		w.last[key] = view
		w.versions[key] = 0
		w.inv.Replica(now, p, view)
	}
}

func (w *watcher) replica(now time.Duration, b history.BrokerID, n *broker.Node, p *replica.Partition) {
	name := p.Name()
	key := replicaKey{b, history.Partition{Topic: name.Topic, Index: name.Index}}
	seen, known := w.versions[key]
	if known && seen == p.Version()+1 {
		return
	}
	if !known {
		w.order[b] = append(w.order[b], key.partition)
	}
	w.versions[key] = p.Version() + 1
	l := p.Log()
	view := w.last[key]
	view.Broker, view.Incarnation, view.Running = b, int64(n.BrokerEpoch()), true
	view.Leads, view.Epoch, view.EpochStart = p.Leads(), history.Epoch(p.Epoch()), history.Offset(p.EpochStart())
	view.Start, view.LEO, view.HW = history.Offset(l.Start()), history.Offset(l.End()), history.Offset(p.HW())
	view.ISR, view.Maximal = brokers(view.ISR[:0], p.ISR()), brokers(view.Maximal[:0], p.MaximalISR())
	if view.Entry == nil {
		view.Entry = func(at history.Offset) (checker.Entry, bool) { return entry(p.Log(), at) }
	}
	w.last[key] = view
	w.inv.Replica(now, key.partition, view)
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
	for _, name := range img.TopicNames() {
		for i, p := range img.Topics[name].Partitions {
			w.inv.Partition(now, checker.PartitionView{
				Partition: history.Partition{Topic: name, Index: int32(i)}, Leader: history.BrokerID(p.Leader),
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
