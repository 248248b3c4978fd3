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
	logs := make([]stepLog, len(c.names))
	for i := range c.h.Steps {
		s := &c.h.Steps[i]
		if s.Partition == (history.Partition{}) {
			for p := range logs {
				logs[p].steps = append(logs[p].steps, s)
			}
			continue
		}
		p, ok := c.index[s.Partition]
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

// source is where a record was seen: on which broker, by which journal index.
type source struct {
	broker history.BrokerID
	index  int64
}

func (c *logCheck) sourceOf(a *anomaly) source {
	if a.send >= 0 && c.h.Ops[a.send].Outcome == history.OK {
		op := &c.h.Ops[a.send]
		return source{op.Broker, op.ReturnIndex}
	}
	if a.op >= 0 {
		op := &c.h.Ops[a.op]
		return source{op.Broker, op.ReturnIndex}
	}
	if a.send >= 0 {
		op := &c.h.Ops[a.send]
		return source{op.Broker, max(op.InvokeIndex, op.ReturnIndex)}
	}
	return source{history.NoBroker, never}
}

// epochAt is the leader epoch in which a broker had the offset at an index: of the append that brought it, else of its last election.
func (l *stepLog) epochAt(src source, o history.Offset) history.Epoch {
	epoch, elected := history.Epoch(-1), history.Epoch(-1)
	for _, s := range l.steps {
		if s.Index > src.index {
			break
		}
		if s.Broker != src.broker {
			continue
		}
		switch {
		case s.Kind == history.StepAppend && s.From <= o && o < s.To:
			epoch = s.Epoch
		case s.Kind == history.StepElection:
			elected = s.Epoch
		}
	}
	if epoch < 0 {
		return elected
	}
	return epoch
}

// origin follows a record that a broker copied back to the one that appended it for a producer.
func (l *stepLog) origin(src source, o history.Offset) source {
	for range 8 {
		var brought *history.Step
		for _, s := range l.steps {
			if s.Index > src.index {
				break
			}
			if s.Kind == history.StepAppend && s.Broker == src.broker && s.From <= o && o < s.To {
				brought = s
			}
		}
		if brought == nil || brought.Peer == history.NoBroker || brought.Peer == src.broker {
			return src
		}
		src = source{brought.Peer, brought.Index}
	}
	return src
}

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
	if by == nil {
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
		if s := l.deposing(l.epochAt(src, a.offset), a.offset); s != nil {
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

// walk follows one record through the steps of its partition: who held it, what touched its offset, who lost it.
type walk struct {
	src     source
	epoch   history.Epoch
	offset  history.Offset
	brokers []history.BrokerID // every broker that has to do with the partition, ascending
	held    map[history.BrokerID]bool
	follows map[history.BrokerID]*history.Step
	ends    map[history.BrokerID]history.Offset // log ends as far as known
	isr     []history.BrokerID

	heldThen []history.BrokerID
	isrThen  []history.BrokerID
	removals []Removal
	steps    []history.Step
	deposed  deposed
	kinds    []string // for the signature
	lostAt   int64    // index of the last removal
	born     bool     // the record was appended
}

// follow walks the steps up to the index until.
func (l *stepLog) follow(src source, o history.Offset, brokers []history.BrokerID, until int64) *walk {
	from := l.origin(src, o)
	w := &walk{src: from, epoch: l.epochAt(from, o), offset: o, brokers: brokers, held: map[history.BrokerID]bool{},
		follows: map[history.BrokerID]*history.Step{}, ends: map[history.BrokerID]history.Offset{}}
	w.deposed = l.deposedBy(w, src)
	then := false
	for _, s := range l.steps {
		if s.Index > until {
			break
		}
		if !then && s.Index > src.index {
			then = true
			w.noteThen()
		}
		w.step(s)
	}
	if !then {
		w.noteThen()
	}
	for _, b := range w.brokers {
		gone := slices.ContainsFunc(w.removals, func(r Removal) bool { return r.Broker == b })
		if w.born && !w.held[b] && !gone {
			r := Removal{Broker: b, How: "never had it", Time: -1, From: history.UnknownOffset, To: history.UnknownOffset, Leader: history.NoBroker, Epoch: -1}
			if f := w.follows[b]; f != nil {
				r.Leader, r.Epoch = f.Peer, f.Epoch
			}
			w.removals = append(w.removals, r)
		}
	}
	w.cutSteps()
	return w
}

func (w *walk) noteThen() {
	for _, b := range w.brokers {
		if w.held[b] {
			w.heldThen = append(w.heldThen, b)
		}
	}
	w.isrThen = w.isr
}

// touch records that a kind of step touched the offset; each kind counts once, in order of its first.
func (w *walk) touch(kind string) {
	if w.born && !slices.Contains(w.kinds, kind) {
		w.kinds = append(w.kinds, kind)
	}
}

func (w *walk) step(s *history.Step) {
	b, o := s.Broker, w.offset
	tell := false
	switch s.Kind {
	case history.StepAppend:
		w.ends[b] = s.To
		if s.From <= o && o < s.To {
			w.append(s)
			tell = w.held[b]
		}
	case history.StepTruncate:
		tell = true
		w.ends[b] = s.To
		if s.To <= o && o < s.From {
			w.touch("truncation")
			w.remove(s, "truncated", s.From)
		}
	case history.StepRecovery:
		tell = true
		if s.To <= o && o < s.From {
			w.touch("restart")
			w.remove(s, "recovery", s.From)
		}
		w.ends[b] = s.To
	case history.StepStart:
		tell = true
		if s.Partition != (history.Partition{}) {
			if s.To <= o && w.held[b] {
				w.touch("restart")
				w.remove(s, "recovery", w.ends[b])
			}
			w.ends[b] = s.To
		}
	case history.StepDown:
		tell = true
		if w.held[b] {
			w.touch("restart")
		}
	case history.StepElection:
		tell = true
		if logEnd(s) <= o && s.Epoch > w.epoch {
			w.touch("election")
		}
	case history.StepFollow:
		w.follows[b] = s
	case history.StepISR:
		tell = true
		if w.isr != nil && w.riskier(s.ISR) {
			w.touch("ISR change")
		}
		w.isr = s.ISR
	case history.StepHW:
		if s.From <= o && o < s.To {
			w.touch("HW move")
		}
	}
	if tell && (w.born || s.Index >= w.deposed.from) && len(w.steps) < maxWitnessSteps {
		w.steps = append(w.steps, *s)
	}
}

// append decides whether the record that a broker appended at the offset is the one followed: the source's append in its epoch is, and
// a copy from a broker that holds it.
func (w *walk) append(s *history.Step) {
	switch {
	case s.Broker == w.src.broker && s.Epoch == w.epoch && s.Index <= w.src.index:
		w.born = true
		w.held[s.Broker] = true
	case slices.Contains(w.brokers, s.Peer) && s.Peer != s.Broker:
		w.held[s.Broker] = w.held[s.Peer]
		w.born = w.born || w.held[s.Broker]
	default:
		w.held[s.Broker] = false
	}
}

// riskier reports whether an ISR takes in a broker that does not hold the record, or leaves out one that does.
func (w *walk) riskier(isr []history.BrokerID) bool {
	for _, b := range isr {
		if !slices.Contains(w.isr, b) && !w.held[b] {
			return true
		}
	}
	for _, b := range w.isr {
		if !slices.Contains(isr, b) && w.held[b] {
			return true
		}
	}
	return false
}

func (w *walk) remove(s *history.Step, how string, from history.Offset) {
	if !w.held[s.Broker] {
		return
	}
	w.held[s.Broker] = false
	w.lostAt = s.Index
	r := Removal{Broker: s.Broker, How: how, Time: int64(s.Time), From: from, To: s.To, Leader: history.NoBroker, Epoch: s.Epoch}
	if how == "truncated" {
		if f := w.follows[s.Broker]; f != nil {
			r.Leader = f.Peer
		}
		if slices.Contains(w.brokers, s.Peer) && s.Peer != s.Broker {
			r.Leader = s.Peer
		}
	}
	w.removals = append(w.removals, r)
}

// cutSteps drops the steps after the last replica lost the record.
func (w *walk) cutSteps() {
	if w.lostAt == 0 {
		return
	}
	for i := range w.steps {
		if w.steps[i].Index > w.lostAt {
			w.steps = w.steps[:i]
			return
		}
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
		if d := &c.h.Dumps[i]; d.Partition == c.names[p] {
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
	for _, g := range c.groups(fold(c.anomalies), c.causeOf(logs)) {
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

func (c *logCheck) finding(g *group, l *stepLog, brokers []history.BrokerID) Finding {
	a := &g.first
	severity := c.contract.Severity(a.class)
	if a.apart {
		severity = Violation
	}
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
	w := l.follow(src, a.offset, brokers, until)
	witness := Witness{Value: a.value, Offset: a.offset, Producer: -1, Acked: -1, AckedBy: history.NoBroker, AckEpoch: w.epoch,
		HeldBy: w.heldThen, ISR: w.isrThen, RemovedBy: w.removals, Replaced: a.other, Steps: w.steps}
	if a.send >= 0 {
		op := &c.h.Ops[a.send]
		witness.Producer = op.Process
		if op.Outcome == history.OK {
			witness.Acked, witness.AckedBy = int64(op.Return), op.Broker
			if witness.AckEpoch < 0 {
				witness.AckEpoch = op.Epoch
			}
		}
	}
	if a.send >= 0 && told(&c.h.Ops[a.send]) {
		witness.Steps = withAck(witness.Steps, &c.h.Ops[a.send], witness.AckEpoch)
	}
	if witness.ISR == nil {
		witness.ISR = c.observedISR(a.part, src.index)
	}
	f := Finding{Class: a.class, Severity: severity, Partition: c.names[a.part], Offset: a.offset, Value: a.value,
		Count: g.count, Ops: sortOps(g.ops), Witness: witness, Signature: signature(a.class, w.kinds)}
	f.Text = c.text(a, &f, w.deposed)
	return f
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
			if s.Partitions[j].Partition == c.names[p] {
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
