package checker

import (
	"fmt"
	"math/rand/v2"
	"time"

	"tidemark/history"
)

// generator makes valid histories at the clients' level: writers and readers over a perfect log, with overlapping operations, unknown
// outcomes that did or did not take effect (also after the client gave up), failed ones, leader changes, and the reads and dumps at the end.
type generator struct {
	rng                     *rand.Rand
	partitions, writers     int
	readers, steps, brokers int
	index                   int64
	now                     time.Duration
	h                       *history.History
	logs                    [][]string
}

type client struct {
	op       int // position of the operation under way, -1 if none
	applied  bool
	position []history.Offset
	process  int32
}

func newGenerator(seed uint64, steps int) *generator {
	rng := rand.New(rand.NewPCG(seed, 17))
	return &generator{rng: rng, partitions: 1 + rng.IntN(3), writers: 1 + rng.IntN(6), readers: 1 + rng.IntN(3), steps: steps, brokers: 3}
}

func testRun(parts int) history.Run {
	return history.Run{Format: 1, World: "sim", Brokers: 3, Topic: "orders", Parts: parts, Factor: 3, MinISR: 2, Acks: -1, ELR: true,
		Plan: "at 1s kill broker 1 for 1s\n"}
}

func (g *generator) tick() int64 {
	g.index++
	g.now += time.Duration(1+g.rng.IntN(1000)) * time.Microsecond
	return g.index
}

func (g *generator) name(p int) history.Partition {
	return history.Partition{Topic: "orders", Index: int32(p)}
}

// generate makes one history.
func (g *generator) generate() *history.History {
	g.h = &history.History{}
	g.logs = make([][]string, g.partitions)
	clients := make([]*client, g.writers+g.readers)
	for i := range clients {
		clients[i] = &client{op: -1, process: int32(i), position: make([]history.Offset, g.partitions)}
	}
	for p := range g.partitions {
		g.h.Steps = append(g.h.Steps,
			history.Step{Index: g.tick(), Time: g.now, Kind: history.StepISR, Broker: 1, Partition: g.name(p), ISR: []history.BrokerID{1, 2, 3}},
			history.Step{Index: g.tick(), Time: g.now, Kind: history.StepElection, Broker: 1, Partition: g.name(p)})
	}
	g.mark("load", false)
	for step := range g.steps {
		if step == g.steps/4 {
			g.fault()
		}
		c := clients[g.rng.IntN(len(clients))]
		if int(c.process) < g.writers {
			g.write(c)
		} else {
			g.read(c)
		}
	}
	for _, c := range clients {
		for c.op >= 0 && g.rng.IntN(4) > 0 {
			if int(c.process) < g.writers {
				g.write(c)
			} else {
				g.read(c)
			}
		}
	}
	for p := range g.partitions {
		c := clients[0]
		c.op = -1
		g.send(c, p, true)
		g.apply(c)
		g.complete(c, history.OK)
	}
	g.mark("settle", false)
	g.mark("final", false)
	for p := range g.partitions {
		g.final(p)
	}
	g.mark("end", false)
	return g.h
}

func (g *generator) mark(name string, failed bool) {
	g.h.Marks = append(g.h.Marks, history.Mark{Index: g.tick(), Time: g.now, Name: name, Failed: failed})
}

func (g *generator) fault() {
	for _, phase := range []history.FaultPhase{history.FaultRequested, history.FaultApplied, history.FaultObserved, history.FaultUndone, history.FaultVerified} {
		g.h.Faults = append(g.h.Faults, history.FaultEvent{Index: g.tick(), Time: g.now, Phase: phase, Kind: "kill", Line: "at 1s kill broker 1"})
	}
	for p := range g.partitions {
		g.h.Steps = append(g.h.Steps,
			history.Step{Index: g.tick(), Time: g.now, Kind: history.StepISR, Broker: 2, Partition: g.name(p), ISR: []history.BrokerID{2, 3}},
			history.Step{Index: g.tick(), Time: g.now, Kind: history.StepElection, Broker: 2, Partition: g.name(p), Epoch: 1,
				From: history.Offset(len(g.logs[p])), To: history.Offset(len(g.logs[p]))})
	}
}

func (g *generator) invoke(c *client, op history.Op) {
	op.ID, op.Process = int64(len(g.h.Ops)), c.process
	op.InvokeIndex, op.Invoke, op.ReturnIndex = g.tick(), g.now, -1
	op.HW, op.LogStart = -1, -1
	c.op, c.applied = len(g.h.Ops), false
	g.h.Ops = append(g.h.Ops, op)
}

func (g *generator) send(c *client, p int, marker bool) {
	g.invoke(c, history.Op{Kind: history.Send, Acks: -1, Partition: g.name(p), Marker: marker, Broker: 1, Offset: history.UnknownOffset,
		Value: fmt.Sprintf("p%d-%d", c.process, len(g.h.Ops))})
}

func (g *generator) apply(c *client) {
	op := &g.h.Ops[c.op]
	op.Offset = history.Offset(len(g.logs[op.Partition.Index]))
	g.logs[op.Partition.Index] = append(g.logs[op.Partition.Index], op.Value)
	c.applied = true
}

func (g *generator) complete(c *client, outcome history.Outcome) {
	op := &g.h.Ops[c.op]
	op.Outcome, op.ReturnIndex, op.Return = outcome, g.tick(), g.now
	if op.Kind == history.Send && outcome != history.OK {
		op.Offset = history.UnknownOffset
	}
	c.op = -1
}

// write takes a writer one step on: it sends, its record takes effect, it hears of it or not.
func (g *generator) write(c *client) {
	switch {
	case c.op < 0:
		g.send(c, g.rng.IntN(g.partitions), false)
	case !c.applied:
		switch g.rng.IntN(12) {
		case 0:
			g.complete(c, history.Fail)
		case 1:
			g.complete(c, history.Info) // never takes effect
		case 2: // takes effect after the client gave up
			op := *c
			g.complete(c, history.Info)
			g.apply(&op)
			g.h.Ops[op.op].Offset = history.UnknownOffset
		default:
			g.apply(c)
		}
	case g.rng.IntN(10) == 0:
		g.complete(c, history.Info)
	case g.rng.IntN(40) == 0:
		g.complete(c, history.OK)
		g.h.Ops[len(g.h.Ops)-1].Acks = -1
	default:
		g.complete(c, history.OK)
	}
}

// read takes a reader one step on; what it is served may be stale: any prefix of the log.
func (g *generator) read(c *client) {
	if c.op < 0 {
		p := g.rng.IntN(g.partitions)
		g.invoke(c, history.Op{Kind: history.Poll, Partition: g.name(p), Broker: 1, Epoch: -1, Position: c.position[p], Offset: history.UnknownOffset})
		return
	}
	op := &g.h.Ops[c.op]
	if g.rng.IntN(15) == 0 {
		g.complete(c, history.Info)
		return
	}
	log := g.logs[op.Partition.Index]
	hw := len(log)
	if g.rng.IntN(3) == 0 {
		hw -= g.rng.IntN(3)
	}
	op.HW, op.LogStart = history.Offset(hw), 0
	for o := op.Position; int(o) < hw && len(op.Records) < 8; o++ {
		op.Records = append(op.Records, history.Record{Offset: o, Value: log[o]})
	}
	c.position[op.Partition.Index] = op.Position + history.Offset(len(op.Records))
	g.complete(c, history.OK)
}

// final reads a partition in answers of a few records each, and dumps every replica.
func (g *generator) final(p int) {
	log := g.logs[p]
	for o := 0; ; {
		c := &client{process: 100}
		g.invoke(c, history.Op{Kind: history.Poll, Final: true, Partition: g.name(p), Position: history.Offset(o), Offset: history.UnknownOffset})
		op := &g.h.Ops[c.op]
		for ; o < len(log) && len(op.Records) < 50; o++ {
			op.Records = append(op.Records, history.Record{Offset: history.Offset(o), Value: log[o]})
		}
		op.HW, op.LogStart = history.Offset(len(log)), 0
		g.complete(c, history.OK)
		if o == len(log) {
			break
		}
	}
	for b := range g.brokers {
		d := history.Dump{Index: g.tick(), Time: g.now, Broker: history.BrokerID(b + 1), Partition: g.name(p),
			LEO: history.Offset(len(log)), HW: history.Offset(len(log) - g.rng.IntN(2))}
		for o, v := range log {
			d.Records = append(d.Records, history.DumpRecord{Offset: history.Offset(o), Value: v})
		}
		g.h.Dumps = append(g.h.Dumps, d)
	}
}
