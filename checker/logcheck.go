package checker

import (
	"cmp"
	"slices"

	"tidemark/history"
)

// logCheck judges a history by offsets: every record that anybody saw, got acknowledged or holds is compared with the log as it stands at
// the end. One pass over the operations, one over each dump, O(n log n) where something is out of order, O(n) where not. One pass sorts the
// operations by partition; from there on each partition is checked by itself, several at the same time.
type logCheck struct {
	premises
	numbers   numbering
	parts     []*partCheck // by partition number
	anomalies []anomaly    // of all partitions, one partition's after another's
	undecided int64        // acknowledged writes that nothing at the end tells about
}

// premises are what the checks of all partitions read and none writes.
type premises struct {
	run      history.Run
	h        *history.History
	contract Contract
	settled  bool
	dense    bool // brokers remove no old records unasked: a log begins at 0, or where DeleteRecords had it begin, and has no holes
}

// partCheck is the check of one partition. It writes nothing but its own, so what it finds does not depend on when it runs.
type partCheck struct {
	*premises
	part   int32
	sent   []write // its sends, in order of invocation
	found  []int32 // of each send: 1 + its slot in the log, 0 if it is not there
	polls  []int32 // positions of its polls in the history, in order of invocation
	finals []int32 // of those that are final reads and succeeded
	seeks  []int32 // and of its seeks, and of the ListOffsets that were told where it begins
	lists  []int32 // and of the ListOffsets that were told where it ends
	// deletes are the positions of its DeleteRecords, and removable is the offset below which somebody asked for records to be removed, or
	// retention may remove them.
	deletes   []int32
	removable history.Offset
	asked     []asking
	early     *history.Op // the first answer that told a log start that nobody had asked for by then
	dumps     []*history.Dump
	log       finalLog
	sends     *valueIndex

	reached   []reached // answers that came to the high watermark, for checkStale
	anomalies []anomaly
	notes     []anomaly  // one for each class that is counted, not told one by one
	loose     []sighting // observations at offsets that the final log says nothing about
	below     []sighting // and at offsets from which records were removed
	undecided int64
	copies    map[nth]*copies // by the send that a value is known by, once somebody asks
}

// anomaly is one thing that is wrong, before what it implies is folded under it.
type anomaly struct {
	class  Class
	part   int32
	offset history.Offset
	value  string
	other  string // what stands at the offset at the end, or the other value
	send   int32  // position of the value's send, -1 if none
	op     int32  // position of the operation that saw it, -1 if none
	apart  bool   // two values that replicas hold at the end
	both   bool   // two values that answers showed, where nobody read the log at the end
	once   bool   // the value was sent once, so that no retry can have put it where it is
	below  bool   // it stood below a log start that nobody asked for
	detail string

	upto    history.Offset // of a high watermark or log end that went back to offset: from where
	more    int            // how many of the class this one stands for, where they were counted as they were found; 0 is one
	implied []implied      // what follows from it, by fold
}

func newLogCheck(run history.Run, h *history.History, contract Contract) *logCheck {
	return &logCheck{premises: premises{run: run, h: h, contract: contract, settled: settled(h), dense: !run.Retains()}}
}

// settled reports whether the cluster came to rest before the final reads: settling began, did not fail, and was followed by another phase. A
// journal that was cut before shows nothing of the kind.
func settled(h *history.History) bool {
	begun, after := false, false
	for i := range h.Marks {
		switch m := &h.Marks[i]; {
		case m.Name != "settle":
			after = after || begun
		case m.Failed:
			return false
		default:
			begun = true
		}
	}
	return after
}

func (c *partCheck) report(a anomaly) { c.anomalies = append(c.anomalies, a) }

// note counts an anomaly of a class that may come once an operation; the first is told.
func (c *partCheck) note(a anomaly) {
	for i := range c.notes {
		if c.notes[i].class == a.class {
			c.notes[i].more++
			return
		}
	}
	a.more = 1
	c.notes = append(c.notes, a)
}

// check checks every partition and puts together what was found.
func (c *logCheck) check() {
	c.split()
	inParallel(len(c.parts), func(p int) { c.parts[p].check() })
	for n, p := range c.parts {
		c.anomalies = append(c.anomalies, p.anomalies...)
		if !c.deleted(int32(n)) {
			c.undecided += p.undecided // else it went with its topic: what was acknowledged there was deleted, not lost
		}
	}
	c.checkObserved()
}

// deleted reports whether a partition went with its topic: nobody read it at the end.
func (c *logCheck) deleted(part int32) bool {
	topic, ok := history.Incarnated(c.numbers.names[part].Topic)
	return ok && topic == c.run.Recreated && len(c.parts[part].finals) == 0
}

// check runs every part in the order in which one needs the other's result.
func (c *partCheck) check() {
	c.indexSends()
	c.askTrims()
	c.readFinal()
	c.readDumps()
	c.readRemoved()
	c.resolveSlots()
	c.checkAcks()
	c.decideByDumps()
	c.checkPolls()
	c.checkRemoved()
	c.checkEarly()
	c.checkOrder()
	c.checkStale()
	c.checkLoose()
	c.checkUnseen()
	c.tellCorrupted()
	c.anomalies = append(c.anomalies, c.notes...)
}

// unknownInLog counts the sends of unknown outcome that stand in the log at the end.
func (c *logCheck) unknownInLog() int64 {
	n := int64(0)
	for _, p := range c.parts {
		for i := range p.sent {
			if w := &p.sent[i]; w.outcome != history.OK && w.outcome != history.Fail && p.found[i] > 0 && !p.log.slots[p.found[i]-1].lapsed {
				n++
			}
		}
	}
	return n
}

// indexSends enters every send in the value index.
func (c *partCheck) indexSends() {
	c.sends = newValueIndex(c.sent)
	for i := range c.sent {
		c.sends.add(nth(i))
	}
}

// readFinal builds the partition's log from the final reads.
func (c *partCheck) readFinal() {
	records := 0
	for _, i := range c.finals {
		records += len(c.h.Ops[i].Records)
	}
	c.log.slots = make([]slot, 0, records)
	for _, i := range c.finals {
		c.log.addFinal(&c.h.Ops[i], c.settled)
	}
	c.log.sortFinal(c.apart("two final reads differ"))
}

// readDumps compares what each replica holds. After settling everything below the log's end is committed on every replica. Without settling
// only what a replica knew to be below its high watermark is, and only if the contract keeps such records: after a loss that is allowed, a
// replica that nobody brought back may believe anything.
func (c *partCheck) readDumps() {
	l := &c.log
	bounds := make([]history.Offset, len(c.dumps))
	for i, d := range c.dumps {
		l.start = min(l.start, d.Start)
		switch {
		case l.ended:
			bounds[i] = max(min(d.HW, d.LEO), l.end)
		case c.contract.CommittedReads:
			bounds[i] = min(d.HW, d.LEO)
		default:
			continue
		}
		l.addDump(d, bounds[i], c.dense, c.differs(d))
	}
	alone := l.settleFresh(c.apart("two replicas differ"))
	for i, d := range c.dumps {
		if c.dense && len(alone) > 0 {
			holes(alone, d, bounds[i], c.differs(d))
		}
		c.unsent(d, bounds[i])
	}
}

// unsent tells of a replica's records that are not known to be committed, but that nobody sent.
func (c *partCheck) unsent(d *history.Dump, bound history.Offset) {
	for r := len(d.Records) - 1; r >= 0 && d.Records[r].Offset >= bound; r-- {
		if rec := &d.Records[r]; c.sends.find(rec.Value) < 0 {
			c.report(anomaly{class: Phantom, part: c.part, offset: rec.Offset, value: rec.Value, send: -1, op: -1,
				detail: "broker " + itoa(int64(d.Broker)) + " holds it"})
		}
	}
}

func (c *partCheck) differs(d *history.Dump) func(history.Offset, string, string) {
	return c.apart("replica " + itoa(int64(d.Broker)) + " differs")
}

// sender is the position of a value's send in the history, -1 if nobody sent it.
func (c *partCheck) sender(value string) int32 { return c.position(c.sends.find(value)) }

// position is where a send stands in the history, -1 for none.
func (c *partCheck) position(i nth) int32 {
	if i < 0 {
		return -1
	}
	return c.sent[i].op
}

func (c *partCheck) apart(detail string) func(history.Offset, string, string) {
	return func(o history.Offset, one, other string) {
		c.report(anomaly{class: TwoValues, part: c.part, offset: o, value: one, other: other,
			send: c.sender(one), op: -1, apart: true, detail: detail})
	}
}

// resolveSlots finds the send of every record in the log: nobody's is a phantom, a failed one's an aborted write, one met before a duplicate.
//
// Most records stand where they were acknowledged, so the acknowledgements go first and save the look-up of the value.
func (c *partCheck) resolveSlots() {
	if len(c.sends.again) == 0 {
		for i := range c.sent {
			w := &c.sent[i]
			if w.outcome == history.OK && w.offset >= 0 {
				if s := c.log.at(w.offset); s != nil && s.value == w.value {
					s.send = nth(i)
				}
			}
		}
	}
	occurs := map[nth]int32{} // of values sent more than once
	slots := c.log.slots
	for i := range slots {
		s := &slots[i]
		if s.send < 0 {
			s.send = c.sends.find(s.value)
		}
		if s.send < 0 {
			s.told = true
			c.report(anomaly{class: Phantom, part: c.part, offset: s.offset, value: s.value, send: -1, op: -1})
			continue
		}
		sent, again := c.sends.again[s.send]
		w := &c.sent[s.send]
		if w.outcome == history.Fail {
			s.told = true
			c.report(anomaly{class: AbortedRead, part: c.part, offset: s.offset, value: s.value, send: w.op, op: -1})
		} else if c.found[s.send] != 0 {
			occurs[s.send]++
			if !again || occurs[s.send] > sent {
				once := !c.mayRepeat(&c.h.Ops[w.op])
				s.told = once
				first := slots[c.found[s.send]-1].offset
				c.report(anomaly{class: Duplicate, part: c.part, offset: s.offset, value: s.value, send: w.op, op: -1, once: once,
					detail: "it also stands at offset " + itoa(int64(first))})
			}
			continue
		}
		if c.found[s.send] == 0 {
			c.found[s.send] = int32(i) + 1
		}
	}
}

// mayRepeat reports whether a retry may have put a send's value into the log more than once.
func (p *premises) mayRepeat(op *history.Op) bool {
	return p.contract.repeats() && p.run.Retries(op.Process)
}

// repeatable is mayRepeat, nil if no producer retries.
func (p *premises) repeatable() func(*history.Op) bool {
	if !p.contract.repeats() {
		return nil
	}
	return p.mayRepeat
}

// repeatedAfter reports whether a retry put a value into the log once more that was not acknowledged by that index.
func (c *logCheck) repeatedAfter(index int64) bool {
	return slices.ContainsFunc(c.anomalies, func(a anomaly) bool {
		if a.class != Duplicate || a.once {
			return false
		}
		op := &c.h.Ops[a.send]
		return op.Outcome == history.Pending && index != never || op.ReturnIndex > index
	})
}

// checkAcks asks of every acknowledged write whether it stands where it was acknowledged.
func (c *partCheck) checkAcks() {
	l := &c.log
	for n := range c.sent {
		i, w := nth(n), &c.sent[n]
		if !w.told {
			continue
		}
		if w.offset < 0 {
			c.note(anomaly{class: AckWithoutOffset, part: c.part, offset: history.UnknownOffset, value: w.value, send: w.op, op: -1})
		}
		first := c.sends.first(i)
		_, again := c.sends.again[first]
		var s *slot
		if f := c.found[first]; f > 0 && again {
			s = c.copyOf(w, first)
		} else if f > 0 {
			s = &l.slots[f-1]
		}
		if s != nil {
			if c.trimmed(s.offset) {
				c.note(anomaly{class: Trimmed, part: c.part, offset: s.offset, value: w.value, send: w.op, op: -1})
			}
			if w.offset >= 0 && s.offset != w.offset && !(c.trimmed(w.offset) && c.mayRepeat(&c.h.Ops[w.op])) {
				if here := l.at(w.offset); here == nil || here.value != w.value {
					s.told = true
					c.report(anomaly{class: AckOffsetMismatch, part: c.part, offset: w.offset, value: w.value, send: w.op, op: -1, once: !c.mayRepeat(&c.h.Ops[w.op]),
						other: valueOf(here), detail: "it stands at offset " + itoa(int64(s.offset))})
					c.checkTwice(w, here)
				}
			}
			continue
		}
		if c.trimmed(w.offset) {
			c.below = append(c.below, sighting{offset: w.offset, value: w.value, op: w.op, send: i})
			continue
		}
		here := l.at(w.offset)
		whole := w.offset < 0 && (l.whole() || l.wholeFrom(l.begins) && l.knownBelow(min(l.begins, c.removable)))
		if here != nil || w.returnIndex < l.read && (whole || w.offset >= 0 && (l.covers(w.offset) || c.vanished(w.offset))) {
			a := anomaly{class: LostWrite, part: c.part, offset: w.offset, value: w.value, send: w.op, op: -1, other: valueOf(here)}
			if a.below = w.offset >= 0 && c.vanished(w.offset); a.below {
				a.detail = c.overTrimmed()
			}
			c.report(a)
			c.found[i] = cmp.Or(max(c.found[i], 0), lost)
			c.checkTwice(w, here)
			continue
		}
		c.undecided++
		c.found[i] = cmp.Or(max(c.found[i], 0), undecided)
		if w.offset >= 0 {
			c.loose = append(c.loose, sighting{offset: w.offset, value: w.value, op: w.op, send: i})
		}
	}
	c.placeTrimmed()
}

// checkTwice tells of an offset that acknowledgements named for two values: a write's, which does not stand there, and that of the one which does.
func (c *partCheck) checkTwice(w *write, here *slot) {
	if here == nil || here.send < 0 {
		return
	}
	if stands := &c.sent[here.send]; stands.told && stands.offset == w.offset {
		c.report(anomaly{class: TwoValues, part: c.part, offset: w.offset, value: here.value, other: w.value, send: w.op, op: stands.op,
			detail: "both were told to clients"})
	}
}

// placeTrimmed looks at the acknowledgements without an offset in a log that was trimmed: one that came before a record was sent that stood below
// the log start is of a record that stood below it too.
func (c *partCheck) placeTrimmed() {
	if c.undecided == 0 || !c.trimmed(0) {
		return
	}
	last := int64(-1)
	for i := range c.sent {
		if w := &c.sent[i]; w.told && c.trimmed(w.offset) {
			last = max(last, w.invokeIndex)
		}
	}
	for i := range c.sent {
		if w := &c.sent[i]; c.found[i] == undecided && w.offset < 0 && w.returnIndex < last {
			c.removed(nth(i))
		}
	}
}

// removed takes an acknowledged write without a place for one that stood below the log start.
func (c *partCheck) removed(i nth) {
	w := &c.sent[i]
	c.undecided--
	c.found[i] = 0
	c.note(anomaly{class: Trimmed, part: c.part, offset: w.offset, value: w.value, send: w.op, op: -1})
}

// Marks in found for sends that are not in the log.
const (
	lost      = -1
	undecided = -2
)

func valueOf(s *slot) string {
	if s == nil {
		return ""
	}
	return s.value
}

// decideByDumps looks at what nothing else could tell: when every replica could be read and none holds an acknowledged write, anywhere, it is
// lost. What a replica holds above its high watermark may still become committed, so holding it anywhere decides nothing.
func (c *partCheck) decideByDumps() {
	if c.undecided == 0 || len(c.dumps) < max(1, c.run.Factor) {
		return
	}
	held := map[nth]bool{}
	for _, d := range c.dumps {
		for r := range d.Records {
			if s := c.sends.find(d.Records[r].Value); s >= 0 {
				held[s] = true
			}
		}
	}
	for n := range c.sent {
		i, w := nth(n), &c.sent[n]
		if c.found[i] != undecided || held[c.sends.first(i)] || w.offset < 0 && c.trimmed(0) {
			continue
		}
		c.undecided--
		c.found[i] = lost
		c.report(anomaly{class: LostWrite, part: c.part, offset: w.offset, value: w.value, send: w.op, op: -1, detail: "no replica holds it"})
	}
}

// sortOps orders operations' positions by ID and drops repetitions.
func sortOps(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}
