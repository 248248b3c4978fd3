package replica

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/refused"
)

// pendingMax bounds how many requests may wait; beyond it they are answered with what there is.
const pendingMax = 10_000

// delayed is a request that waits for something to happen, or for its deadline.
type delayed struct {
	tok      Token
	deadline time.Duration
	seq      uint64 // of arrival: equal deadlines expire in order
	at       int    // in the heap
	produce  *delayedProduce
	fetch    *delayedFetch
	remove   *delayedDelete
}

// delayedProduce is an acks=all produce: all partitions are answered together, once each is settled.
type delayedProduce struct {
	delayed
	resp  *kmsg.ProduceResponse
	waits []produceWait
	open  int
}

// produceWait is one partition's append that waits for the high watermark.
type produceWait struct {
	d        *delayedProduce
	p        *Partition
	epoch    kafka.Epoch
	required kafka.Offset // the high watermark must reach this
	answer   *kmsg.ProduceResponseTopicPartition
	settled  bool
}

// delayedFetch is a fetch that waits for fetch.min.bytes or fetch.max.wait.ms.
type delayedFetch struct {
	delayed
	op fetchOp
}

// purgatory is every request that waits, by deadline: a binary heap.
type purgatory struct {
	heap []*delayed
	seq  uint64
}

func (q *purgatory) full() bool { return len(q.heap) >= pendingMax }

func (q *purgatory) deadline() time.Duration {
	if len(q.heap) == 0 {
		return forever
	}
	return q.heap[0].deadline
}

func (q *purgatory) less(i, k int) bool {
	a, b := q.heap[i], q.heap[k]
	return a.deadline < b.deadline || a.deadline == b.deadline && a.seq < b.seq
}

func (q *purgatory) swap(i, k int) {
	q.heap[i], q.heap[k] = q.heap[k], q.heap[i]
	q.heap[i].at, q.heap[k].at = i, k
}

func (q *purgatory) add(d *delayed) {
	q.seq++
	d.seq, d.at = q.seq, len(q.heap)
	q.heap = append(q.heap, d)
	q.up(d.at)
}

func (q *purgatory) remove(d *delayed) {
	i, last := d.at, len(q.heap)-1
	q.swap(i, last)
	q.heap[last] = nil
	q.heap = q.heap[:last]
	if i < last {
		q.up(i)
		q.down(i)
	}
}

func (q *purgatory) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

func (q *purgatory) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if child+1 < len(q.heap) && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return
		}
		q.swap(i, child)
		i = child
	}
}

// await adds an append to those that wait for a partition's high watermark, by required offset: of a batch that was sent again it is that
// of the original.
func (p *Partition) await(w *produceWait) {
	i := len(p.produces)
	for i > 0 && p.produces[i-1].required > w.required {
		i--
	}
	p.produces = slices.Insert(p.produces, i, w)
}

// expire answers every request whose time is up.
func (m *Manager) expire(now time.Duration) {
	for m.purgatory.deadline() <= now {
		d := m.purgatory.heap[0]
		switch {
		case d.fetch != nil:
			m.finishFetch(d.fetch)
		case d.remove != nil:
			m.expireDelete(d.remove)
		default:
			m.expireProduce(d.produce)
		}
	}
}

// expireProduce answers what has not been settled with REQUEST_TIMED_OUT: the records are in the log and may yet be committed.
func (m *Manager) expireProduce(d *delayedProduce) {
	for i := range d.waits {
		w := &d.waits[i]
		if !w.settled {
			w.p.produces = slices.DeleteFunc(w.p.produces, func(o *produceWait) bool { return o == w })
			m.settle(w, kafka.RequestTimedOut)
		}
	}
}

// settle gives one partition its outcome; with the last one the request is answered.
func (m *Manager) settle(w *produceWait, code kafka.Code) {
	w.settled = true
	w.answer.ErrorCode = int16(code)
	if code != kafka.None {
		w.answer.BaseOffset = -1
	}
	if w.d.open--; w.d.open == 0 {
		m.purgatory.remove(&w.d.delayed)
		m.reply(w.d.tok, w.d.resp)
	}
}

// acked says whether an append is to be answered now, and how.
func (m *Manager) acked(p *Partition, epoch kafka.Epoch, required kafka.Offset) (bool, kafka.Code) {
	done, code := ack(p.role == leading && p.epoch == epoch, p.hw, required, len(p.isr), p.minISR)
	switch {
	case code == kafka.NotLeaderOrFollower && p.hw >= required:
		m.cfg.Refused.Note(refused.AckOfEarlier, refused.Told, m.about(p, m.cfg.NodeID))
	case code == kafka.NotEnoughReplicasAfterAppend:
		m.cfg.Refused.Note(refused.AckBelowMinISR, refused.Told, m.about(p, m.cfg.NodeID))
	}
	switch {
	case m.cfg.Bug.Bites(bug.AckBeforeReplication, !done),
		m.cfg.Bug.Bites(bug.MinISROnlyBeforeAppend, code == kafka.NotEnoughReplicasAfterAppend),
		m.cfg.Bug.Bites(bug.PurgatorySurvivesDemotion, code == kafka.NotLeaderOrFollower && p.hw >= required):
		return true, kafka.None
	case m.cfg.Bug.Bites(bug.PurgatorySurvivesDemotion, code == kafka.NotLeaderOrFollower):
		return false, kafka.None
	}
	return done, code
}

// completeProduces settles the appends that the high watermark has reached.
func (m *Manager) completeProduces(p *Partition) {
	n := 0
	for _, w := range p.produces {
		done, code := m.acked(p, w.epoch, w.required)
		if !done {
			break
		}
		m.settle(w, code)
		n++
	}
	p.produces = slices.Delete(p.produces, 0, n)
}

// failProduces answers every append of an epoch that is over.
func (m *Manager) failProduces(p *Partition) {
	waits, code := p.produces, kafka.NotLeaderOrFollower
	if m.cfg.Bug.Bites(bug.PurgatorySurvivesDemotion, len(waits) > 0) {
		return
	}
	if m.cfg.Bug.Bites(bug.DefiniteAfterAppend, len(waits) > 0) {
		code = kafka.NotEnoughReplicas
	}
	p.produces = nil
	for _, w := range waits {
		m.settle(w, code)
	}
}

// wakeFetches looks again at the fetches that wait for a partition: its log or high watermark moved, or its role changed.
func (m *Manager) wakeFetches(p *Partition) {
	if len(p.fetches) == 0 {
		return
	}
	for _, d := range slices.Clone(p.fetches) {
		if m.fetchSatisfied(d, p) {
			m.finishFetch(d)
		}
	}
}

// finishFetch answers a waiting fetch with what there is now.
func (m *Manager) finishFetch(d *delayedFetch) {
	m.dropFetch(d)
	resp, got := m.read(&d.op)
	m.give(d.tok, &d.op, resp, got)
}

func (m *Manager) dropFetch(d *delayedFetch) {
	m.purgatory.remove(&d.delayed)
	for i := range d.op.targets {
		if p := d.op.targets[i].p; p != nil {
			p.fetches = slices.DeleteFunc(p.fetches, func(o *delayedFetch) bool { return o == d })
		}
	}
}
