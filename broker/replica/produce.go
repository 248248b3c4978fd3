package replica

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// Produce takes a client's request; the answer comes in Output, at once or later.
func (m *Manager) Produce(now time.Duration, req *kmsg.ProduceRequest, tok Token) {
	m.now = now
	resp := &kmsg.ProduceResponse{Version: req.Version}
	resp.Topics = make([]kmsg.ProduceResponseTopic, len(req.Topics))
	var d *delayedProduce
	total, failed := 0, false
	for i := range req.Topics {
		total += len(req.Topics[i].Partitions)
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := &resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(t.Partitions))
		name, code := m.topicName(req.Version >= 13, t.Topic, t.TopicID)
		for k := range t.Partitions {
			answer := &rt.Partitions[k]
			answer.Default()
			answer.Partition = t.Partitions[k].Partition
			answer.BaseOffset = -1
			if code != kafka.None {
				answer.ErrorCode, failed = int16(code), true
				continue
			}
			tp := kafka.TopicPartition{Topic: name, Index: answer.Partition}
			p, end, code := m.append(now, tp, t.TopicID, req.Version >= 13, req.Acks, t.Partitions[k].Records, answer)
			answer.ErrorCode = int16(code)
			failed = failed || code != kafka.None
			if code != kafka.None || req.Acks != acksAll {
				continue
			}
			done, code := m.acked(p, p.epoch, end)
			if done {
				answer.ErrorCode = int16(code)
				continue
			}
			if d == nil {
				d = &delayedProduce{resp: resp, waits: make([]produceWait, 0, total)}
				d.tok, d.deadline, d.produce = tok, now+millis(req.TimeoutMillis), d
			}
			d.waits = append(d.waits, produceWait{d: d, p: p, epoch: p.epoch, required: end, answer: answer})
		}
	}
	switch {
	case req.Acks == 0:
		m.out.Replies = append(m.out.Replies, Reply{Token: tok, Close: failed})
	case d == nil:
		m.reply(tok, resp)
	default:
		d.open = len(d.waits)
		m.purgatory.add(&d.delayed)
		for i := range d.waits {
			w := &d.waits[i]
			w.p.await(w)
		}
	}
}

// append writes one partition's batches to the leader's log and fills in the answer's offsets.
func (m *Manager) append(now time.Duration, tp kafka.TopicPartition, id kafka.TopicID, byID bool, acks int16, records []byte, answer *kmsg.ProduceResponseTopicPartition) (*Partition, kafka.Offset, kafka.Code) {
	if !acksValid(acks) {
		return nil, 0, kafka.InvalidRequiredAcks
	}
	p, code := m.lookUp(tp)
	if code != kafka.None {
		return nil, 0, code
	}
	if byID && p.topicID != id {
		return nil, 0, kafka.InconsistentTopicID
	}
	if code := admitAppend(acks, p.role == leading && p.gate == 0, len(p.isr), p.minISR); code != kafka.None {
		if m.cfg.Bug.Bites(bug.StateBeforeAppend, code == kafka.NotEnoughReplicas && p.log.Anticipate(records, false)) {
			p.log.Anticipate(records, true)
		}
		return nil, 0, code
	}
	if acks == acksAll && m.purgatory.full() {
		return nil, 0, kafka.RequestTimedOut
	}
	before := p.log.End()
	first, end, err := p.log.Append(records, p.epoch)
	if err != nil {
		m.appendFailed(p, err)
		return nil, 0, appendCode(err)
	}
	answer.BaseOffset, answer.LogStartOffset = int64(first), int64(p.log.Start())
	if p.log.End() == before { // sent again: it is answered as the original is, not before that is committed
		if m.cfg.Bug.Bites(bug.CopyAckedAtOnce, acks == acksAll && end > p.hw) {
			end = p.hw
		}
		return p, end, kafka.None
	}
	p.version++
	m.step(Step{Kind: StepAppend, Partition: p.tp, Epoch: p.epoch, Peer: p.leader, From: before, To: end})
	m.maybeFlush(p)
	m.advanceHW(now, p)
	m.wakeFetches(p)
	return p, end, kafka.None
}

// appendCode is the error code for batches that the log refused.
func appendCode(err error) kafka.Code {
	var bad *log.InvalidBatch
	if errors.As(err, &bad) {
		return bad.Code
	}
	return kafka.StorageError
}

// topicName resolves a request's topic: by name, or by id where the version carries ids (KIP-516).
func (m *Manager) topicName(byID bool, name string, id kafka.TopicID) (string, kafka.Code) {
	if !byID {
		return name, kafka.None
	}
	if m.img != nil {
		if name, ok := m.img.Names[id]; ok {
			return name, kafka.None
		}
	}
	return "", kafka.UnknownTopicID
}

// millis is a request's time in milliseconds; a negative one is none.
func millis(ms int32) time.Duration { return time.Duration(max(ms, 0)) * time.Millisecond }
