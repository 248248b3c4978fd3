package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark/history"
)

// maxWitnessSteps bounds the steps that a witness carries.
const maxWitnessSteps = 200

// stepLog is what brokers reported on one partition, with what they reported of themselves as a whole.
type stepLog struct {
	steps     []*history.Step
	elections []*history.Step
	cuts      []*history.Step // truncations and recoveries that shortened a log
}

// stepLogs sorts the steps by partition. It runs only when there is something to tell.
func (c *logCheck) stepLogs() []stepLog {
	logs := make([]stepLog, len(c.parts))
	for i := range c.h.Steps {
		s := &c.h.Steps[i]
		if s.Partition == (history.Partition{}) {
			for p := range logs {
				logs[p].steps = append(logs[p].steps, s)
			}
			continue
		}
		p, ok := c.numbers.index[s.Partition]
		if !ok {
			continue
		}
		l := &logs[p]
		l.steps = append(l.steps, s)
		switch {
		case s.Kind == history.StepElection:
			l.elections = append(l.elections, s)
		case (s.Kind == history.StepTruncate || s.Kind == history.StepRecovery) && s.To < s.From:
			l.cuts = append(l.cuts, s)
		}
	}
	return logs
}

// logEnd is where a broker's log ended when it was elected.
func logEnd(s *history.Step) history.Offset { return s.To }

// deposing is the first election after an epoch that brought a leader whose log ended at or below the offset, nil if there was none.
func (l *stepLog) deposing(after history.Epoch, o history.Offset) *history.Step {
	for _, s := range l.elections {
		if s.Epoch > after && logEnd(s) <= o {
			return s
		}
	}
	return nil
}

// deposed is the election of a leader without a record that was acknowledged or read.
type deposed struct {
	by      *history.Step    // nil if there was none
	from    int64            // index of the first step that tells of it: the controller's, if it is known; never if there was none
	unclean bool             // from outside ISR and ELR
	early   bool             // before the acknowledgement or the read
	broker  history.BrokerID // who acknowledged it or gave it out
	unaware bool             // and had not heard of the election by then
}

// deposedBy finds the election that took a record's leader away.
func (l *stepLog) deposedBy(w *walk, src source) deposed {
	by := l.deposing(w.epoch, w.offset)
	if by == nil || w.elsewhere != nil {
		return deposed{from: never}
	}
	d := deposed{by: by, from: by.Index, early: by.Index < src.index, broker: src.broker}
	d.unaware = d.early && src.broker != history.NoBroker && src.broker != by.Broker
	for _, s := range l.steps {
		switch {
		case s.Kind == history.StepISR && s.Epoch == by.Epoch: // the leader may hear of it before the one who tells
			d.from = min(d.from, s.Index)
			d.unclean = d.unclean || strings.Contains(s.Detail, history.UncleanElection)
		case s.Kind == history.StepFollow && s.Broker == src.broker && s.Epoch >= by.Epoch && s.Index < src.index:
			d.unaware = false
		}
	}
	return d
}

// neverAppended is the cause of the losses of what no replica appended.
const neverAppended = -1

// causeOf names the step that took a lost record away: the election of a leader without it, else the cut that removed it. Equal causes
// make one finding. Only the first few hundred of a partition are looked up; more would be the same story.
func (c *logCheck) causeOf(logs []stepLog) func(*anomaly) int64 {
	looked, last := map[int32]int{}, map[int32]int64{}
	return func(a *anomaly) int64 {
		if a.class != LostWrite && a.class != UncommittedRead || a.offset < 0 {
			return 0
		}
		if looked[a.part]++; looked[a.part] > 256 {
			return last[a.part]
		}
		l := &logs[a.part]
		src := c.sourceOf(a)
		cause := int64(0)
		if birth, elsewhere := c.birth(a, l, src); elsewhere != nil {
			cause = neverAppended
		} else if s := l.deposing(l.epochOf(birth, src), a.offset); s != nil {
			cause = s.Index
		} else {
			for _, s := range l.cuts {
				if s.Index > src.index && s.To <= a.offset && a.offset < s.From {
					cause = s.Index
					break
				}
			}
		}
		last[a.part] = cause
		return cause
	}
}

// brokersOf lists the brokers that hold or held a partition, as far as the history shows.
func (c *logCheck) brokersOf(p int32, l *stepLog) []history.BrokerID {
	set := map[history.BrokerID]bool{}
	for _, s := range l.steps {
		switch s.Kind {
		case history.StepISR:
			for _, b := range s.ISR {
				set[b] = true
			}
		case history.StepAppend, history.StepElection, history.StepFollow:
			set[s.Broker] = true
		}
	}
	for i := range c.h.Dumps {
		if d := &c.h.Dumps[i]; d.Partition == c.numbers.names[p] {
			set[d.Broker] = true
		}
	}
	out := make([]history.BrokerID, 0, len(set))
	for b := range set {
		out = append(out, b)
	}
	slices.Sort(out)
	return out
}

// findings turns the anomalies into findings, each cause once, with their witnesses.
func (c *logCheck) findings() []Finding {
	if len(c.anomalies) == 0 {
		return nil
	}
	logs := c.stepLogs()
	brokers := make([][]history.BrokerID, len(logs))
	var out []Finding
	rest := map[Class]int{}
	for _, g := range c.groups(c.fold(c.anomalies), c.causeOf(logs)) {
		if at, ok := rest[g.first.class]; ok && len(out) >= maxFindings {
			out[at].Count += g.count
			continue
		}
		p := g.first.part
		if brokers[p] == nil {
			brokers[p] = c.brokersOf(p, &logs[p])
		}
		rest[g.first.class] = len(out)
		out = append(out, c.finding(g, &logs[p], brokers[p]))
	}
	return out
}

// severity is what an anomaly means: see Rule.Unless.
func (c *logCheck) severity(a *anomaly) Severity {
	if a.apart || a.once {
		return Violation
	}
	return c.contract.Severity(a.class)
}

func (c *logCheck) finding(g *group, l *stepLog, brokers []history.BrokerID) Finding {
	a := &g.first
	severity := c.severity(a)
	src := c.sourceOf(a)
	until := int64(never)
	switch a.class {
	case LostWrite, UncommittedRead, TwoValues:
	default:
		if src.index != never {
			until = src.index
		}
		if a.op >= 0 {
			until = max(until, c.h.Ops[a.op].ReturnIndex)
		}
	}
	birth, elsewhere := c.birth(a, l, src)
	w := l.follow(src, a.offset, brokers, until, birth, elsewhere)
	witness := Witness{Value: a.value, Offset: a.offset, Producer: -1, Acked: -1, AckedBy: history.NoBroker, AckEpoch: w.epoch,
		Instead: c.instead(a, w), OtherAck: c.otherAck(a), HeldBy: w.heldThen, ISR: w.isrThen, RemovedBy: w.removals, Replaced: a.other, Steps: w.steps}
	if a.class == Corrupted && a.op >= 0 {
		witness.Replaced = "" // one answer alone showed it
	}
	if a.send >= 0 {
		op := &c.h.Ops[a.send]
		witness.Producer = op.Process
		if op.Outcome == history.OK {
			witness.Acked, witness.AckedBy = int64(op.Return), op.Broker
			witness.AckEpoch, witness.Deposed = l.leadership(src, op)
		}
	}
	if a.send >= 0 && told(&c.h.Ops[a.send]) {
		witness.Steps = withAck(witness.Steps, &c.h.Ops[a.send], witness.AckEpoch)
	}
	if in := witness.Instead; in != nil {
		witness.Steps[0].Detail = cmp.Or(in.Value, "another record") // the first is its append
		if other := c.acknowledgedToo(a); other != nil {
			epoch, _ := l.leadership(source{broker: other.Broker, index: other.ReturnIndex}, other)
			witness.Steps = withAck(witness.Steps, other, epoch)
		}
	}
	if witness.ISR == nil {
		witness.ISR = c.observedISR(a.part, src.index)
	}
	f := Finding{Class: a.class, Severity: severity, Partition: c.numbers.names[a.part], Offset: a.offset, Value: a.value,
		Count: g.count, Ops: sortOps(c.showing(g)), Witness: witness, Signature: signature(a.class, w.kinds)}
	f.Text = c.text(a, &f, w.deposed)
	for i := range g.implied {
		f.Implied = append(f.Implied, c.follows(&g.implied[i]))
	}
	return f
}

// showing is the operations that prove a group of anomalies; where it has none, the first answer that holds the record.
func (c *logCheck) showing(g *group) []int64 {
	if len(g.ops) > 0 || g.first.offset < 0 {
		return g.ops
	}
	shown := history.Record{Offset: g.first.offset, Value: g.first.value}
	for _, i := range c.parts[g.first.part].polls {
		if op := &c.h.Ops[i]; slices.Contains(op.Records, shown) {
			return []int64{op.ID}
		}
	}
	return nil
}

// follows tells what is implied, in words of its own without the protocol's steps, which stand with its cause.
func (c *logCheck) follows(m *implied) Implied {
	a := &m.first
	f := Finding{Class: a.class, Partition: c.numbers.names[a.part], Offset: a.offset, Value: a.value, Count: m.count,
		Witness: Witness{Value: a.value, Offset: a.offset, Acked: -1, AckedBy: history.NoBroker, AckEpoch: -1, Replaced: a.other}}
	if a.class == LostWrite || a.class == AckOffsetMismatch {
		f.Witness.Acked, f.Witness.AckedBy = int64(c.h.Ops[a.send].Return), c.h.Ops[a.send].Broker
	}
	return Implied{Class: a.class, Offset: a.offset, Value: a.value, Count: m.count, Ops: sortOps(m.ops), Text: c.text(a, &f, deposed{})}
}

// StepAck is the kind of the step by which a witness tells an acknowledgement in its place among the protocol's steps: Broker gave it in
// Epoch for the record at From, and Time is when it reached the producer.
const StepAck history.StepKind = "acknowledged"

// withAck puts a send's acknowledgement in its place among the steps.
func withAck(steps []history.Step, op *history.Op, epoch history.Epoch) []history.Step {
	ack := history.Step{Index: op.ReturnIndex, Time: op.Return, Kind: StepAck, Broker: op.Broker, Partition: op.Partition, Epoch: epoch,
		Peer: history.NoBroker, From: op.Offset, To: op.Offset + 1, Detail: fmt.Sprintf("%s of process %d", op.Value, op.Process)}
	at, _ := slices.BinarySearchFunc(steps, ack.Index, func(s history.Step, index int64) int { return cmp.Compare(s.Index, index) })
	return slices.Insert(steps, at, ack)
}

// observedISR is the ISR that the observer saw last before an index, for worlds whose brokers report no steps.
func (c *logCheck) observedISR(p int32, index int64) []history.BrokerID {
	var isr []history.BrokerID
	for i := range c.h.States {
		s := &c.h.States[i]
		if s.Index > index {
			break
		}
		for j := range s.Partitions {
			if s.Partitions[j].Partition == c.numbers.names[p] {
				isr = s.Partitions[j].ISR
			}
		}
	}
	return isr
}

func signature(class Class, kinds []string) string {
	s := string(class)
	for i, k := range kinds {
		if i == 0 {
			s += ": " + k
		} else {
			s += ", " + k
		}
	}
	return s
}
