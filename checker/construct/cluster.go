package construct

import (
	"fmt"

	"tidemark/history"
)

// trouble is what faults do: one broker at a time is away, killed or cut off, and comes back.
type trouble struct {
	down    int // the broker that is away, -1 if none
	cutOff  bool
	faults  int
	trims   int
	noted   int // invocations at the last observation
	applied history.FaultEvent
}

// create tells the first brokers, ISRs and leaders.
func (g *Generator) create() {
	for b := range brokers {
		g.sink.Step(history.Step{Kind: history.StepStart, Broker: id(b), Epoch: -1, Peer: history.NoBroker, From: history.UnknownOffset,
			To: history.UnknownOffset, Detail: "incarnation 1"})
	}
	for _, p := range g.partitions {
		g.tick()
		g.isrChange(p, "create")
		g.lead(p)
	}
}

// lead tells of a partition's leader and of those that follow it.
func (g *Generator) lead(p *partition) {
	g.step(p, history.StepElection, p.leader, p.leader, p.hw[p.leader], p.leo[p.leader])
	for b := range brokers {
		if b != p.leader && b != g.trouble.down {
			g.follow(p, b)
		}
	}
}

// follow tells that a broker follows the leader, and what it cuts from its log for that.
func (g *Generator) follow(p *partition, b int) {
	from := max(p.leo[b], p.cut[b])
	g.step(p, history.StepFollow, b, p.leader, p.hw[b], from)
	if p.cut[b] > 0 {
		g.step(p, history.StepTruncate, b, p.leader, from, p.leo[b])
		p.cut[b] = 0
	}
}

// disturb does what is due: a broker goes away in the middle of each stretch of the load and is back at its end; log starts move; somebody
// looks at the cluster.
func (g *Generator) disturb() {
	t := &g.trouble
	if n := t.faults; n < g.cfg.LeaderChanges && t.down < 0 && g.invoked >= g.cfg.Ops*(2*n+1)/(2*g.cfg.LeaderChanges+1) {
		g.takeAway(g.partitions[g.rng.IntN(len(g.partitions))].leader)
	} else if t.down >= 0 && g.invoked >= g.cfg.Ops*2*n/(2*g.cfg.LeaderChanges+1) {
		g.bringBack()
	}
	if t.trims < g.cfg.Trims && g.invoked >= g.cfg.Ops*(t.trims+1)/(g.cfg.Trims+1) {
		t.trims++
		g.trim(g.partitions[g.rng.IntN(len(g.partitions))])
	}
	if g.invoked-t.noted >= max(20, g.cfg.Ops/1000) {
		t.noted = g.invoked
		g.observe()
	}
}

func (g *Generator) fault(phase history.FaultPhase, detail string) {
	g.tick()
	e := g.trouble.applied
	e.Phase, e.Detail = phase, detail
	g.sink.Fault(e)
}

// takeAway kills a broker or cuts it off. Where it led, another member of the ISR does from now on; what that one lacks is gone.
func (g *Generator) takeAway(b int) {
	t := &g.trouble
	t.applied = history.FaultEvent{Fault: t.faults, Kind: "kill", Line: fmt.Sprintf("at %dms kill broker %d", g.now.Milliseconds(), b+1),
		Targets: []history.BrokerID{id(b)}}
	if t.cutOff = g.rng.IntN(2) == 0; t.cutOff {
		t.applied.Kind, t.applied.Line = "partition", fmt.Sprintf("at %dms partition broker %d | rest", g.now.Milliseconds(), b+1)
	}
	t.faults++
	g.fault(history.FaultRequested, "")
	g.fault(history.FaultApplied, "")
	if !t.cutOff {
		g.sink.Step(history.Step{Kind: history.StepDown, Broker: id(b), Epoch: -1, Peer: history.NoBroker, From: history.UnknownOffset,
			To: history.UnknownOffset, Detail: "killed"})
	}
	g.fault(history.FaultObserved, "the probe got no answer")
	t.down = b
	for _, p := range g.partitions {
		g.tick()
		if p.isr[b] = false; p.leader == b {
			g.elect(p)
		} else {
			g.isrChange(p, "fenced")
			g.commit(p)
		}
	}
}

func (g *Generator) elect(p *partition) {
	old, epoch := p.leader, p.epoch
	for !p.isr[p.leader] {
		p.leader = g.rng.IntN(brokers)
	}
	p.epoch++
	p.log = p.log[:p.leo[p.leader]]
	for b := range brokers {
		if p.leo[b] > p.end() {
			p.leo[b], p.cut[b] = p.end(), max(p.cut[b], p.leo[b])
		}
	}
	for _, c := range g.producers {
		if c.op != none && c.part == p {
			c.truncated(p.end())
		}
	}
	g.isrChange(p, "election")
	g.lead(p)
	if p.deposed = -1; g.trouble.cutOff {
		p.deposed, p.deposedEpoch, p.deposedUntil = old, epoch, g.now+ReadBound/2
	}
}

// bringBack undoes the fault: the broker is there again and follows.
func (g *Generator) bringBack() {
	t := &g.trouble
	b := t.down
	t.down = -1
	g.fault(history.FaultUndone, "")
	if !t.cutOff {
		g.sink.Step(history.Step{Kind: history.StepStart, Broker: id(b), Epoch: -1, Peer: history.NoBroker, From: history.UnknownOffset,
			To: history.UnknownOffset, Detail: "incarnation 2"})
	}
	for _, p := range g.partitions {
		g.tick()
		p.deposed = -1
		g.follow(p, b)
	}
	g.fault(history.FaultVerified, "the broker serves")
}

// observe takes down how everything stands.
func (g *Generator) observe() {
	s := history.ClusterState{Controller: 1, Partitions: make([]history.PartitionState, 0, len(g.partitions))}
	for _, p := range g.partitions {
		ps := history.PartitionState{Partition: p.name, Leader: id(p.leader), Epoch: p.epoch, PartitionEpoch: p.changes, ISR: p.list(),
			Replicas: make([]history.ReplicaState, 0, brokers)}
		for b := range brokers {
			ps.Replicas = append(ps.Replicas, history.ReplicaState{Broker: id(b), Up: b != g.trouble.down, Leads: b == p.leader, Epoch: p.epoch,
				LEO: max(p.leo[b], p.cut[b]), HW: p.hw[b], Start: p.start})
		}
		s.Partitions = append(s.Partitions, ps)
	}
	g.sink.State(s)
}
