package construct

import (
	"fmt"

	"tidemark/history"
)

// none is the operation of a client that waits for nothing.
const none = -1

// fate is what becomes of a send, drawn when it is invoked.
type fate int

const (
	acknowledged fate = iota
	refused           // definitely failed, and not in the log
	vanished          // unknown, and never in the log
	landed            // unknown, in the log before the producer gives up
	afterwards        // unknown, in the log after the producer gave up
)

// producer sends one value at a time. After an unknown outcome it goes on under another process number.
type producer struct {
	process int32
	sent    int
	op      int64 // under way, or none
	part    *partition
	value   string
	fate    fate
	offset  history.Offset // of the last copy in the log, UnknownOffset before
	cut     bool           // a copy was cut from the log by an election
}

// late is a record that the network still holds.
type late struct {
	part  *partition
	value string
}

func (g *Generator) clients() int32 { return int32(g.cfg.Producers + g.cfg.Consumers + 2) }

// produce takes a producer one step on: it sends, its record takes effect, it hears of it or not.
func (g *Generator) produce(c *producer) {
	switch {
	case c.op == none:
		g.send(c, g.partitions[g.rng.IntN(len(g.partitions))], g.fate(), fmt.Sprintf("p%d-%d", c.process, c.sent), false)
	case c.fate == refused:
		g.sent(c, history.Op{Outcome: history.Fail, Offset: history.UnknownOffset, Broker: id(c.part.leader), Error: "NOT_ENOUGH_REPLICAS"})
	case c.fate == vanished:
		g.giveUp(c, "timed out")
	case c.fate == afterwards:
		g.late = append(g.late, late{c.part, c.value})
		g.giveUp(c, "connection lost")
	case c.cut:
		g.giveUp(c, "NOT_LEADER_OR_FOLLOWER")
	case c.offset < 0:
		c.offset = g.append(c.part, c.value)
	case c.fate == landed:
		g.giveUp(c, "REQUEST_TIMED_OUT")
	case g.cfg.Retries && g.rng.IntN(40) == 0:
		c.offset = g.append(c.part, c.value)
	case c.part.committed() > c.offset:
		offset := c.offset
		if g.chance(g.cfg.NoOffset) {
			offset = history.UnknownOffset
		}
		if g.cfg.Retries && g.rng.IntN(100) == 0 {
			g.late = append(g.late, late{c.part, c.value})
		}
		g.sent(c, history.Op{Outcome: history.OK, Offset: offset, Broker: id(c.part.leader)})
	}
}

func (g *Generator) fate() fate {
	switch n := g.rng.Float64(); {
	case n < g.cfg.Failed:
		return refused
	case n < g.cfg.Failed+g.cfg.Unknown:
		return vanished + fate(g.rng.IntN(3))
	}
	return acknowledged
}

func (g *Generator) send(c *producer, p *partition, f fate, value string, marker bool) {
	c.part, c.fate, c.value, c.offset, c.cut = p, f, value, history.UnknownOffset, false
	c.sent++
	g.invoked++
	c.op = g.sink.Invoke(history.Op{Process: c.process, Kind: history.Send, Acks: -1, Marker: marker, Broker: id(p.leader), Epoch: p.epoch,
		Partition: p.name, Value: value, Position: history.UnknownOffset})
}

func (g *Generator) sent(c *producer, done history.Op) {
	done.HW, done.LogStart = history.UnknownOffset, history.UnknownOffset
	g.sink.Complete(c.op, done)
	c.op = none
}

func (g *Generator) giveUp(c *producer, why string) {
	g.sent(c, history.Op{Outcome: history.Info, Offset: history.UnknownOffset, Broker: id(c.part.leader), Error: why})
	c.process += g.clients()
}

// truncated tells a producer that a log was cut.
func (c *producer) truncated(end history.Offset) { c.cut = c.cut || c.offset >= end }

// land has a late record take effect.
func (g *Generator) land(i int) {
	l := g.late[i]
	last := len(g.late) - 1
	g.late[i] = g.late[last]
	g.late = g.late[:last]
	g.append(l.part, l.value)
}

// consumer polls one partition at a time from where it is.
type consumer struct {
	process  int32
	position []history.Offset
	op       int64 // under way, or none
	part     *partition
	broker   int
	served   bool
	asks     history.Offset // of a ListOffsets: for which end
	epoch    history.Epoch  // that the request was made in
	lists    bool           // it is one
	answer   history.Op
	out      bool // the position is out of range
}

const answerRecords = 40

// consume takes a consumer one step on: it asks, a broker answers, it hears of it or not. An answer shows the log as it was at a moment
// between; that of a leader that does not know that it was deposed shows its own high watermark, and nobody else's records.
func (g *Generator) consume(c *consumer) {
	switch {
	case c.op == none:
		if g.chance(g.cfg.Restarts) {
			g.restart(c)
		}
		c.part = g.partitions[g.rng.IntN(len(g.partitions))]
		if c.lists = g.chance(g.cfg.Lists); c.lists {
			g.list(c)
			return
		}
		if end := c.part.committed(); g.chance(g.cfg.Seeks) && end >= c.part.told && c.position[c.part.name.Index] == end {
			g.seek(c, end) // a leader tells its end when it knows that it is (KIP-207)
			return
		}
		g.poll(c)
	case !c.served && c.lists:
		g.serveList(c)
	case !c.served:
		g.serve(c)
	default:
		if c.answer.Outcome == history.OK {
			if n := len(c.answer.Records); n > 0 {
				c.position[c.part.name.Index] = c.answer.Records[n-1].Offset + 1
			}
		}
		g.sink.Complete(c.op, c.answer)
		c.op = none
		if c.out {
			c.out = false
			g.restart(c)
			c.position[c.part.name.Index] = c.part.start
		}
	}
}

// restart goes on as another process, from positions that are behind.
func (g *Generator) restart(c *consumer) {
	c.process += g.clients()
	for p, at := range c.position {
		c.position[p] = history.Offset(g.rng.Int64N(int64(at) + 1))
	}
}

// seek moves the position to the end that the leader tells. From there alone nothing is passed over.
func (g *Generator) seek(c *consumer, to history.Offset) {
	g.invoked++
	op := history.Op{Process: c.process, Kind: history.Seek, Broker: id(c.part.leader), Epoch: c.part.epoch, Partition: c.part.name, Position: to}
	done := history.Op{Outcome: history.OK, Broker: op.Broker, Offset: history.UnknownOffset, HW: history.UnknownOffset, LogStart: history.UnknownOffset}
	n := g.sink.Invoke(op)
	g.tick()
	g.sink.Complete(n, done)
}

func (g *Generator) poll(c *consumer) {
	p := c.part
	epoch := p.epoch
	c.broker, c.served = p.leader, false
	if p.deposed >= 0 && g.now < p.deposedUntil && g.rng.IntN(2) == 0 {
		c.broker, epoch = p.deposed, p.deposedEpoch
	}
	g.invoked++
	c.op = g.sink.Invoke(history.Op{Process: c.process, Kind: history.Poll, Broker: id(c.broker), Epoch: epoch, Partition: p.name,
		Position: c.position[p.name.Index]})
}

// list asks where the log ends, or begins.
func (g *Generator) list(c *consumer) {
	p := c.part
	c.broker, c.epoch, c.served, c.asks = p.leader, p.epoch, false, history.Latest
	if g.rng.IntN(4) == 0 {
		c.asks = history.Earliest
	}
	g.invoked++
	c.op = g.sink.Invoke(history.Op{Process: c.process, Kind: history.ListOffsets, Broker: id(c.broker), Epoch: c.epoch, Partition: p.name, Position: c.asks})
}

// serveList makes the answer. A leader tells the end only when it knows that it is (KIP-207), and to who asks in its epoch.
func (g *Generator) serveList(c *consumer) {
	p := c.part
	c.served = true
	c.answer = history.Op{Outcome: history.Fail, Broker: id(c.broker), Offset: history.UnknownOffset, HW: history.UnknownOffset, LogStart: history.UnknownOffset}
	switch {
	case c.broker != p.leader || c.epoch != p.epoch:
		c.answer.Error = "NOT_LEADER_OR_FOLLOWER"
	case c.asks == history.Earliest:
		c.answer.Outcome, c.answer.Offset = history.OK, p.start
	case p.committed() < p.told:
		c.answer.Error = "OFFSET_NOT_AVAILABLE"
	default:
		c.answer.Outcome, c.answer.Offset = history.OK, p.committed()
	}
}

// serve makes the answer. Where the broker that was asked no longer answers there is none.
func (g *Generator) serve(c *consumer) {
	p := c.part
	c.served = true
	c.answer = history.Op{Outcome: history.Fail, Broker: id(c.broker), Offset: history.UnknownOffset, HW: history.UnknownOffset, LogStart: history.UnknownOffset}
	at := c.position[p.name.Index]
	switch {
	case c.broker != p.leader && c.broker != p.deposed:
		c.answer.Error = "NOT_LEADER_OR_FOLLOWER"
	case g.chance(g.cfg.Lost):
		c.answer.Error = "timed out"
		if g.rng.IntN(4) == 0 {
			c.answer.Outcome = history.Info
		}
	case at < p.start:
		c.answer.Error, c.out = "OFFSET_OUT_OF_RANGE", true
	default:
		c.answer.Outcome, c.answer.HW, c.answer.LogStart = history.OK, p.hw[c.broker], p.start
		c.answer.Records = p.records(at, p.hw[c.broker], 1+g.rng.IntN(answerRecords))
	}
}

// records are those of the log from an offset to below another, so many at most.
func (p *partition) records(from, to history.Offset, most int) []history.Record {
	if to <= from {
		return nil
	}
	out := make([]history.Record, 0, min(most, int(to-from)))
	for o := from; o < to && len(out) < most; o++ {
		if e := &p.log[o]; e.Value != "" {
			out = append(out, history.Record{Offset: o, Value: e.Value})
		}
	}
	return out
}
