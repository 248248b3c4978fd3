package workloads

import (
	"fmt"
	"strconv"
	"time"

	"tidemark/history"
)

// producer sends unique values, one record an operation, to partitions drawn from its stream.
type producer struct {
	a       *Append
	index   int
	process int32
	client  *client
	router  *router
	request *producing
	sent    int
	text    []byte
}

// runProducer is the life of producer number index.
func (a *Append) runProducer(index int, process int32, until time.Duration) {
	p := &producer{a: a, index: index, process: process}
	p.client = newClient(a.Env, a.Cluster, fmt.Sprintf("producer-%d", index), a.Timeout)
	defer p.client.close()
	p.router = newRouter(p.client, a.Topic, a.Parts, a.Env.Rand("producer metadata", index))
	p.request = newProducing(a.Topic, a.Timeout)
	partitions := a.Env.Rand("producer partition", index)
	due := newPace(a.Env, a.Env.Rand("producer pace", index), a.gap())
	for due.wait(until) {
		part := int32(partitions.IntN(a.Parts))
		to, ok := p.router.find(part, min(until, a.Env.Now()+a.Timeout)) // a partition without a leader must not hold up the others
		if !ok {
			continue
		}
		p.send(part, to)
	}
}

// send is one operation.
func (p *producer) send(part int32, to route) {
	op := history.Op{Process: p.process, Kind: history.Send, Acks: p.a.Acks, Broker: to.leader, Epoch: to.epoch,
		Partition: history.Partition{Topic: p.a.Topic, Index: part}, Value: p.value(), Position: history.UnknownOffset}
	id := p.a.Record.Invoke(op)
	p.request.send(p.client, p.a.Acks, &op)
	p.a.Record.Complete(id, op)
	if op.Outcome != history.OK && op.Error != AcksNone {
		p.router.forget(part)
	}
	if op.Outcome == history.Info {
		p.process = p.a.process(p.index) // its last operation may still be under way
	}
}

// value is a value that no other send has: the process and how many this producer sent before.
func (p *producer) value() string {
	p.text = append(p.text[:0], 'p')
	p.text = strconv.AppendInt(p.text, int64(p.process), 10)
	p.text = append(p.text, '-')
	p.text = strconv.AppendInt(p.text, int64(p.sent), 10)
	p.sent++
	return string(p.text)
}
