package workloads

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/history"
)

// Bounds of one poll under load.
const (
	pollWait  = 100 * time.Millisecond // for the first record
	pollBytes = 64 << 10
)

// consumer reads every partition by position, one partition a poll, in turn.
type consumer struct {
	a         *Append
	process   int32
	client    *client
	router    *router
	request   *fetching
	near      *nearby
	positions []history.Offset
}

// runConsumer is the life of consumer number index.
func (a *Append) runConsumer(index int, process int32, until time.Duration) {
	c := &consumer{a: a, process: process, positions: make([]history.Offset, a.Parts)}
	c.client = newClient(a.Env, a.Cluster, fmt.Sprintf("consumer-%d", index), a.Timeout)
	defer c.client.close()
	c.router = newRouter(c.client, a.Topic, a.Parts, a.Env.Rand("consumer metadata", index))
	c.request = newFetching(a.Topic, min(pollWait, a.Timeout/2), pollBytes)
	if a.Nearby {
		c.near = newNearby(a.Env, a.Env.Rand("consumer rack", index), a.Cluster.Brokers(), index, a.Parts)
		c.request.from(c.near)
	}
	due := newPace(a.Env, a.Env.Rand("consumer pace", index), a.gap())
	for turn := index; due.wait(until); turn++ {
		part := int32(turn % a.Parts)
		to, ok := c.router.find(part, min(until, a.Env.Now()+a.Timeout)) // a partition without a leader must not hold up the others
		if !ok {
			continue
		}
		if turn%listEvery == listEvery-1 {
			c.list(part, to)
		} else {
			c.poll(part, to)
		}
	}
}

// listEvery is how many turns of a consumer there are to one in which it asks where the log ends instead: a prime number, so that the turn
// comes to every partition unless their count is a multiple of it.
const listEvery = 19

// list asks where the log ends, as those do who measure how far behind a consumer is.
func (c *consumer) list(part int32, to route) {
	if _, err := c.a.list(c.client, c.process, c.a.partition(int(part)), to, history.Latest); err != nil {
		c.router.forget(part)
	}
}

// poll is one operation, and a seek where the position is out of range and reset moves it. A follower's high watermark may lag behind
// the leader's, so it is not taken down; nor is that of an answer that nothing ties to the leader's epoch.
func (c *consumer) poll(part int32, to route) {
	at := c.near.place(part, to.leader)
	op := history.Op{Process: c.process, Kind: history.Poll, Broker: at, Epoch: to.epoch,
		Partition: history.Partition{Topic: c.a.Topic, Index: part}, Position: c.positions[part]}
	id := c.a.Record.Invoke(op)
	next, code := c.request.poll(c.client, &op)
	if at != to.leader || c.request.blind {
		op.HW = history.UnknownOffset
	}
	c.a.Record.Complete(id, op)
	switch {
	case op.Outcome == history.OK:
		c.positions[part] = next
		c.near.follow(part, c.request.preferred())
	case at != to.leader: // the leader may know better
		c.near.leave(part)
		c.router.forget(part)
	case code == kerr.OffsetOutOfRange.Code && c.reset(op.Partition, to):
	default: // a position out of range that is kept is one whose records must come back, or are there again
		c.router.forget(part)
	}
}

// reset moves a position that is out of range; false if it is kept.
func (c *consumer) reset(p history.Partition, to route) bool {
	at, err := c.a.reset(c.positions[p.Index], func(place history.Offset) (history.Offset, error) {
		return c.a.list(c.client, c.process, p, to, place)
	})
	if err != nil || at == c.positions[p.Index] {
		return false
	}
	c.seek(p, to, at)
	return true
}

// seek moves the position.
func (c *consumer) seek(p history.Partition, to route, position history.Offset) {
	op := history.Op{Process: c.process, Kind: history.Seek, Broker: to.leader, Epoch: to.epoch, Partition: p, Position: position}
	id := c.a.Record.Invoke(op)
	op.Outcome, op.Offset, op.HW, op.LogStart = history.OK, history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
	c.a.Record.Complete(id, op)
	c.positions[p.Index] = position
}
