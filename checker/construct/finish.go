package construct

import (
	"fmt"

	"tidemark/history"
)

// finish ends a history as a run ends: every fault undone, what is under way done or left open, late records landed, replicas level, a
// marker on every partition, final reads, dumps.
func (g *Generator) finish() {
	g.mark("heal")
	if g.trouble.down >= 0 {
		g.bringBack()
	}
	g.drain()
	for len(g.late) > 0 {
		g.tick()
		g.land(len(g.late) - 1)
	}
	g.mark("settle")
	for _, p := range g.partitions {
		g.level(p)
	}
	g.observe()
	g.markers()
	g.mark("final")
	for _, p := range g.partitions {
		g.final(p)
	}
	for b := range brokers {
		for _, p := range g.partitions {
			g.tick()
			g.sink.Dump(p.dump(b))
		}
	}
	g.mark("end")
}

// drain completes what is under way; one request in four of those that may have any outcome stays open, as that of a client that was stopped.
func (g *Generator) drain() {
	for _, c := range g.producers {
		if unknown := c.fate != acknowledged && c.fate != refused; c.op != none && unknown && g.rng.IntN(4) == 0 {
			c.op = none
		}
		for c.op != none {
			g.tick()
			g.produce(c)
			if c.op != none {
				g.level(c.part)
			}
		}
	}
	if g.trimmer.op != none && g.trimmer.fate > refused && g.rng.IntN(4) == 0 {
		g.trimmer.op = none
		g.trimmer.process += g.clients()
	}
	for g.trimmer.op != none {
		g.tick()
		g.trimRecords()
	}
	for _, c := range g.consumers {
		for c.op != none {
			g.tick()
			g.consume(c)
		}
	}
}

// level has every replica catch up and learn the high watermark.
func (g *Generator) level(p *partition) {
	for range 2 {
		for b := range brokers {
			if b != p.leader && b != g.trouble.down {
				g.tick()
				g.fetch(p, b, p.end())
			}
		}
	}
}

// markers writes one more record to each partition and reads it back.
func (g *Generator) markers() {
	c := &producer{process: g.trimmer.process, op: none}
	for i, p := range g.partitions {
		g.tick()
		g.send(c, p, acknowledged, fmt.Sprintf("m-%d-%d", i, c.sent), true)
		c.offset = g.append(p, c.value)
		g.level(p)
		offset := c.offset
		g.tick()
		g.sent(c, history.Op{Outcome: history.OK, Offset: offset, Broker: id(p.leader)})
		g.read(p, history.Op{Process: c.process, Position: offset})
		c.process += g.clients()
	}
}

// read is a poll that succeeds, of all that there is from its position on, or of as much as one answer holds.
func (g *Generator) read(p *partition, op history.Op) history.Offset {
	const most = 500
	op.Kind, op.Partition, op.Broker, op.Epoch = history.Poll, p.name, id(p.leader), p.epoch
	g.tick()
	n := g.sink.Invoke(op)
	op.Outcome, op.Offset, op.HW, op.LogStart = history.OK, history.UnknownOffset, p.committed(), p.start
	op.Records = p.records(op.Position, p.committed(), most)
	g.tick()
	g.sink.Complete(n, op)
	return op.Records[len(op.Records)-1].Offset + 1
}

// final reads a partition from its log start to its high watermark.
func (g *Generator) final(p *partition) {
	for at := p.start; at < p.committed(); {
		at = g.read(p, history.Op{Process: g.clients() - 1, Final: true, Position: at})
	}
}

// dump is what a replica holds; its high watermark may lag one behind, as nothing tells it of the last move.
func (p *partition) dump(b int) history.Dump {
	d := history.Dump{Broker: id(b), Partition: p.name, LEO: p.leo[b], HW: p.hw[b], Start: p.start, Records: make([]history.DumpRecord, 0, p.leo[b]-p.start)}
	for o := p.start; o < p.leo[b]; o++ {
		if e := &p.log[o]; e.Value != "" {
			d.Records = append(d.Records, history.DumpRecord{Offset: o, Epoch: e.Epoch, Value: e.Value})
		}
	}
	return d
}
