package construct

import "tidemark/history"

// trimmer asks for the oldest records of a partition to be removed, one request at a time.
type trimmer struct {
	process int32
	asked   int   // requests so far
	op      int64 // under way, or none
	part    *partition
	to      history.Offset
	fate    fate
	done    bool // the log start has moved
}

// trimRecords takes the trimmer a step on: it asks where it is due, its request takes effect, it hears of it or not. The log start moves below the
// high watermark of every replica, so that none has to be emptied for it.
func (g *Generator) trimRecords() {
	t := &g.trimmer
	switch {
	case t.op == none && t.asked < g.cfg.Deletes && g.invoked >= g.cfg.Ops*(t.asked+1)/(g.cfg.Deletes+1):
		g.askTrim(g.partitions[g.rng.IntN(len(g.partitions))])
	case t.op == none:
	case t.fate == refused:
		g.trimmed(history.Op{Outcome: history.Fail, LogStart: history.UnknownOffset, Error: "NOT_LEADER_OR_FOLLOWER"})
	case !t.done && t.fate != vanished:
		t.done = true
		t.part.start = max(t.part.start, t.to)
	case t.fate == acknowledged:
		g.trimmed(history.Op{Outcome: history.OK, LogStart: t.part.start})
	default:
		g.trimmed(history.Op{Outcome: history.Info, LogStart: history.UnknownOffset, Error: "timed out"})
		t.process += g.clients()
	}
}

func (g *Generator) askTrim(p *partition) {
	hw := min(p.hw[0], p.hw[1], p.hw[2])
	if hw <= p.start+1 {
		return
	}
	t := &g.trimmer
	t.asked++
	t.part, t.to, t.done = p, p.start+1+history.Offset(g.rng.Int64N(int64(hw-p.start-1))), false
	t.fate = [...]fate{acknowledged, acknowledged, acknowledged, refused, vanished, landed}[g.rng.IntN(6)]
	t.op = g.sink.Invoke(history.Op{Process: t.process, Kind: history.DeleteRecords, Broker: id(p.leader), Epoch: p.epoch, Partition: p.name, Position: t.to})
}

func (g *Generator) trimmed(done history.Op) {
	done.Broker, done.Offset, done.HW = id(g.trimmer.part.leader), history.UnknownOffset, history.UnknownOffset
	g.sink.Complete(g.trimmer.op, done)
	g.trimmer.op = none
}
