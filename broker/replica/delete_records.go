package replica

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
)

// DeleteRecords (key 21, KIP-107): the leader moves its log start offset, followers hear of it in the answers to their fetches and tell in the
// next ones that they have followed. The request is answered once every live replica has, or after its timeout.

// delayedDelete is a DeleteRecords: all partitions are answered together, once each is settled.
type delayedDelete struct {
	delayed
	resp  *kmsg.DeleteRecordsResponse
	waits []deleteWait
	open  int
}

// deleteWait is one partition's part that waits for the low watermark.
type deleteWait struct {
	d        *delayedDelete
	p        *Partition
	required kafka.Offset
	answer   *kmsg.DeleteRecordsResponseTopicPartition
	settled  bool
}

// DeleteRecords answers key 21.
func (m *Manager) DeleteRecords(now time.Duration, req *kmsg.DeleteRecordsRequest, tok Token) {
	m.now = now
	d := &delayedDelete{resp: &kmsg.DeleteRecordsResponse{Version: req.Version}}
	d.resp.Topics = make([]kmsg.DeleteRecordsResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t, rt := &req.Topics[i], &d.resp.Topics[i]
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(t.Partitions))
		for k := range t.Partitions {
			r, out := &t.Partitions[k], &rt.Partitions[k]
			out.Default()
			out.Partition, out.LowWatermark = r.Partition, -1
			p, code := m.leaderFor(kafka.TopicPartition{Topic: t.Topic, Index: r.Partition}, kafka.NoEpoch)
			to := kafka.Offset(r.Offset)
			if code == kafka.None {
				to, code = m.deleteBelow(p, to)
			}
			if out.ErrorCode = int16(code); code == kafka.None {
				out.LowWatermark = int64(m.lowWatermark(p))
				d.waits = append(d.waits, deleteWait{d: d, p: p, required: to, answer: out})
			}
		}
	}
	if req.TimeoutMillis <= 0 || m.purgatory.full() {
		for i := range d.waits {
			if w := &d.waits[i]; m.lowWatermark(w.p) < w.required {
				w.settle(kafka.RequestTimedOut)
			}
		}
		m.reply(tok, d.resp)
		return
	}
	d.tok, d.deadline, d.remove = tok, now+millis(req.TimeoutMillis), d
	d.open = len(d.waits)
	if d.open == 0 {
		m.reply(tok, d.resp)
		return
	}
	m.purgatory.add(&d.delayed)
	for i := range d.waits {
		w := &d.waits[i]
		w.p.deletes = append(w.p.deletes, w)
	}
	for i := range d.waits {
		m.completeDeletes(d.waits[i].p)
	}
}

// deleteBelow moves a leader's log start offset; to is the offset that was meant.
func (m *Manager) deleteBelow(p *Partition, asked kafka.Offset) (to kafka.Offset, code kafka.Code) {
	to, ok := deletionPoint(asked, p.hw)
	if !ok {
		return to, kafka.OffsetOutOfRange
	}
	return to, m.moveStart(p, to, "records deleted")
}

// moveStart moves a log start offset forward and saves it.
func (m *Manager) moveStart(p *Partition, to kafka.Offset, why string) kafka.Code {
	from := p.log.Start()
	moved, err := p.log.MoveStart(to)
	if err != nil {
		return kafka.OffsetOutOfRange
	}
	if moved {
		p.version++
		m.step(Step{Kind: StepTrim, Partition: p.tp, Epoch: p.epoch, Peer: p.leader, From: from, To: p.log.Start(), Detail: why})
		m.checkpointStarts()
		m.maybeFlush(p)
	}
	return kafka.None
}

// lowWatermark is the smallest log start offset of the live replicas, as far as their leader knows (Kafka's lowWatermarkIfLeader).
func (m *Manager) lowWatermark(p *Partition) kafka.Offset {
	low := p.log.Start()
	for i := range p.remotes {
		r := &p.remotes[i]
		if b, known := m.registration(r.id); known && !b.Fenced {
			low = min(low, r.start)
		}
	}
	return low
}

// completeDeletes settles the parts that the low watermark has reached.
func (m *Manager) completeDeletes(p *Partition) {
	if len(p.deletes) == 0 {
		return
	}
	low := m.lowWatermark(p)
	waits := p.deletes
	p.deletes = nil
	for _, w := range waits {
		if low < w.required {
			p.deletes = append(p.deletes, w)
			continue
		}
		w.answer.LowWatermark = int64(low)
		m.settleDelete(w, kafka.None)
	}
}

// failDeletes answers what waits at a leader whose epoch is over.
func (m *Manager) failDeletes(p *Partition) {
	waits := p.deletes
	p.deletes = nil
	for _, w := range waits {
		m.settleDelete(w, kafka.NotLeaderOrFollower)
	}
}

// expireDelete answers what has not been settled with REQUEST_TIMED_OUT: the leader's log begins later already, and the others will follow.
func (m *Manager) expireDelete(d *delayedDelete) {
	for i := range d.waits {
		w := &d.waits[i]
		if !w.settled {
			w.p.deletes = slices.DeleteFunc(w.p.deletes, func(o *deleteWait) bool { return o == w })
			m.settleDelete(w, kafka.RequestTimedOut)
		}
	}
}

func (w *deleteWait) settle(code kafka.Code) {
	w.settled = true
	w.answer.ErrorCode = int16(code)
	if code != kafka.None {
		w.answer.LowWatermark = -1
	}
}

func (m *Manager) settleDelete(w *deleteWait, code kafka.Code) {
	w.settle(code)
	if w.d.open--; w.d.open == 0 {
		m.purgatory.remove(&w.d.delayed)
		m.reply(w.d.tok, w.d.resp)
	}
}
