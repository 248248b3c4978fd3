package construct

import (
	"time"

	"tidemark/history"
)

// partition is the model of a partition: the leader's log, and how far each replica has it. A replica's log is a prefix of the leader's, as
// what a deposed leader had beyond it is cut at the election; that it reports so only when it is back is kept in cut.
type partition struct {
	name    history.Partition
	log     []Entry
	start   history.Offset
	leader  int // a broker's place, from 0
	epoch   history.Epoch
	changes int32 // the controller's partition epoch
	isr     [brokers]bool
	leo, hw [brokers]history.Offset
	cut     [brokers]history.Offset // log end before the cut, where it has not been reported; 0 if it has
	told    history.Offset          // highest that a leader's high watermark has been

	deposed      int // leader of the epoch before that does not know it yet and still answers, -1 if there is none
	deposedEpoch history.Epoch
	deposedUntil time.Duration // clients turn to it no longer
}

func id(broker int) history.BrokerID { return history.BrokerID(broker + 1) }

func (p *partition) end() history.Offset { return history.Offset(len(p.log)) }

// committed is the leader's high watermark: below it every record is on the whole ISR, and stays.
func (p *partition) committed() history.Offset { return p.hw[p.leader] }

// list is the ISR as the controller tells it, the leader first.
func (p *partition) list() []history.BrokerID {
	out := []history.BrokerID{id(p.leader)}
	for b := range brokers {
		if p.isr[b] && b != p.leader {
			out = append(out, id(b))
		}
	}
	return out
}

// step reports a protocol step of a broker on a partition.
func (g *Generator) step(p *partition, kind history.StepKind, broker, peer int, from, to history.Offset) {
	g.sink.Step(history.Step{Kind: kind, Broker: id(broker), Partition: p.name, Epoch: p.epoch, Peer: id(peer), From: from, To: to})
}

// append puts a record at the end of the leader's log.
func (g *Generator) append(p *partition, value string) history.Offset {
	from := p.end()
	if g.chance(g.cfg.Gaps) {
		p.log = append(p.log, Entry{Epoch: p.epoch})
	}
	o := p.end()
	p.log = append(p.log, Entry{value, p.epoch})
	p.leo[p.leader] = p.end()
	if g.cfg.Detail {
		g.step(p, history.StepAppend, p.leader, p.leader, from, p.end())
	}
	return o
}

// replicate has a follower fetch: what is new to it, and the leader's high watermark, which then moves; one that has caught up joins the ISR.
func (g *Generator) replicate(p *partition) {
	f := (p.leader + 1 + g.rng.IntN(brokers-1)) % brokers
	if f == g.trouble.down {
		return
	}
	to := p.end()
	if to-p.leo[f] > 1 && g.rng.IntN(3) == 0 {
		to -= history.Offset(g.rng.Int64N(int64(to - p.leo[f])))
	}
	g.fetch(p, f, to)
}

func (g *Generator) fetch(p *partition, f int, to history.Offset) {
	if to > p.leo[f] {
		if g.cfg.Detail {
			g.step(p, history.StepAppend, f, p.leader, p.leo[f], to)
		}
		p.leo[f] = to
	}
	g.moveHW(p, f, min(p.hw[p.leader], p.leo[f]))
	if !p.isr[f] && p.leo[f] == p.end() {
		p.isr[f] = true
		g.isrChange(p, "alter partition")
	}
	g.commit(p)
}

// commit moves the leader's high watermark to where the whole ISR has come.
func (g *Generator) commit(p *partition) {
	hw := p.end()
	for b := range brokers {
		if p.isr[b] {
			hw = min(hw, p.leo[b])
		}
	}
	g.moveHW(p, p.leader, hw)
}

func (g *Generator) moveHW(p *partition, b int, hw history.Offset) {
	if hw <= p.hw[b] {
		return
	}
	if g.cfg.Detail {
		g.step(p, history.StepHW, b, p.leader, p.hw[b], hw)
	}
	p.hw[b] = hw
	if b == p.leader {
		p.told = max(p.told, hw)
	}
}

func (g *Generator) isrChange(p *partition, why string) {
	p.changes++
	g.sink.Step(history.Step{Kind: history.StepISR, Broker: id(p.leader), Partition: p.name, Epoch: p.epoch, Peer: id(p.leader),
		From: history.UnknownOffset, To: history.UnknownOffset, ISR: p.list(), Detail: why})
}

// trim moves the log start forward, below the high watermark of every replica, as retention does.
func (g *Generator) trim(p *partition) {
	hw := min(p.hw[0], p.hw[1], p.hw[2])
	if hw > p.start+1 {
		p.start += 1 + history.Offset(g.rng.Int64N(int64(hw-p.start-1)))
	}
}
