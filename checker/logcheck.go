package checker

import (
	"slices"
	"strings"

	"tidemark/history"
)

// logCheck judges a history by offsets: every record that anybody saw, got acknowledged or holds is compared with the log as it stands at
// the end. One pass over the operations, one over each dump, O(n log n) where something is out of order, O(n) where not.
type logCheck struct {
	run      history.Run
	h        *history.History
	contract Contract
	settled  bool
	dense    bool // brokers remove no old records: a log begins at 0 and has no holes

	names []history.Partition
	index map[history.Partition]int32
	part  []int32 // partition number of each operation
	logs  []finalLog
	sends *valueIndex
	found []int32 // of each send: 1 + its slot in its partition's log, 0 if it is not there

	anomalies []anomaly
	loose     []sighting // observations at offsets that the final log says nothing about
	undecided int64      // acknowledged writes that nothing at the end tells about
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
	once   bool   // the value was sent once, so that no retry can have put it where it is
	detail string
}

func newLogCheck(run history.Run, h *history.History, contract Contract) *logCheck {
	c := &logCheck{run: run, h: h, contract: contract, dense: !trims(run), index: map[history.Partition]int32{}}
	c.settled = settled(h)
	return c
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

func (c *logCheck) report(a anomaly) { c.anomalies = append(c.anomalies, a) }

// check runs every part in the order in which one needs the other's result.
func (c *logCheck) check() {
	c.indexOps()
	c.readFinal()
	c.readDumps()
	c.resolveSlots()
	c.checkAcks()
	c.checkPolls()
	c.checkOrder()
	c.checkLoose()
	c.decideByDumps()
}

// unknownInLog counts the sends of unknown outcome that stand in the log at the end.
func (c *logCheck) unknownInLog() int64 {
	n := int64(0)
	for i := range c.h.Ops {
		op := &c.h.Ops[i]
		if op.Kind == history.Send && op.Outcome != history.OK && op.Outcome != history.Fail && c.found[i] > 0 {
			n++
		}
	}
	return n
}

func (c *logCheck) partition(p history.Partition) int32 {
	if i, ok := c.index[p]; ok {
		return i
	}
	i := int32(len(c.names))
	c.index[p] = i
	c.names = append(c.names, p)
	c.logs = append(c.logs, finalLog{read: never})
	return i
}

// indexOps numbers the partitions and enters every send in the value index.
func (c *logCheck) indexOps() {
	ops := c.h.Ops
	c.part = make([]int32, len(ops))
	sends := 0
	var records []int
	for i := range ops {
		op := &ops[i]
		p := c.partition(op.Partition)
		c.part[i] = p
		if int(p) == len(records) {
			records = append(records, 0)
		}
		if op.Kind == history.Send {
			sends++
		} else if op.Final && op.Outcome == history.OK {
			records[p] += len(op.Records)
		}
	}
	for p, n := range records {
		c.logs[p].slots = make([]slot, 0, n)
	}
	c.found = make([]int32, len(ops))
	c.sends = newValueIndex(ops, c.part, sends)
	for i := range ops {
		if ops[i].Kind == history.Send {
			c.sends.add(int32(i))
		}
	}
}

// readFinal builds each partition's log from the final reads.
func (c *logCheck) readFinal() {
	for i := range c.h.Ops {
		if op := &c.h.Ops[i]; op.Final && op.Kind == history.Poll && op.Outcome == history.OK {
			c.logs[c.part[i]].addFinal(op, c.settled)
		}
	}
	for p := range c.logs {
		c.logs[p].sortFinal(c.apart(int32(p), "two final reads differ"))
	}
}

// readDumps compares what each replica holds. After settling everything below the log's end is committed on every replica. Without settling
// only what a replica knew to be below its high watermark is, and only if the contract keeps such records: after a loss that is allowed, a
// replica that nobody brought back may believe anything.
func (c *logCheck) readDumps() {
	for i := range c.h.Dumps {
		d := &c.h.Dumps[i]
		if d.Err != "" {
			continue
		}
		p := c.partition(d.Partition)
		l := &c.logs[p]
		l.start = max(l.start, d.Start)
		bound := min(d.HW, d.LEO)
		switch {
		case l.ended:
			bound = max(bound, l.end)
		case !c.contract.CommittedReads:
			continue
		}
		l.addDump(d, bound, c.dense, c.apart(p, "replica "+itoa(int64(d.Broker))+" differs"))
	}
	for p := range c.logs {
		c.logs[p].settleFresh(c.apart(int32(p), "two replicas differ"))
	}
}

// trims reports whether the run's configuration lets brokers remove old records.
func trims(run history.Run) bool {
	for key := range run.Config {
		if strings.Contains(key, "retention") || strings.Contains(key, "cleanup") {
			return true
		}
	}
	return false
}

func (c *logCheck) apart(p int32, detail string) func(history.Offset, string, string) {
	return func(o history.Offset, one, other string) {
		c.report(anomaly{class: TwoValues, part: p, offset: o, value: one, other: other,
			send: c.sends.find(p, one), op: -1, apart: true, detail: detail})
	}
}

// resolveSlots finds the send of every record in the log: nobody's is a phantom, a failed one's an aborted write, one met before a duplicate.
//
// Most records stand where they were acknowledged, so the acknowledgements go first and save the look-up of the value.
func (c *logCheck) resolveSlots() {
	if len(c.sends.again) == 0 {
		for i := range c.h.Ops {
			op := &c.h.Ops[i]
			if op.Kind == history.Send && op.Outcome == history.OK && op.Offset >= 0 {
				if s := c.logs[c.part[i]].at(op.Offset); s != nil && s.value == op.Value {
					s.send = int32(i)
				}
			}
		}
	}
	occurs := map[int32]int32{} // of values sent more than once
	for p := range c.logs {
		slots := c.logs[p].slots
		for i := range slots {
			s := &slots[i]
			if s.send < 0 {
				s.send = c.sends.find(int32(p), s.value)
			}
			if s.send < 0 {
				s.told = true
				c.report(anomaly{class: Phantom, part: int32(p), offset: s.offset, value: s.value, send: -1, op: -1})
				continue
			}
			sent, again := c.sends.again[s.send]
			if c.h.Ops[s.send].Outcome == history.Fail {
				s.told = true
				c.report(anomaly{class: AbortedRead, part: int32(p), offset: s.offset, value: s.value, send: s.send, op: -1})
			} else if c.found[s.send] != 0 {
				occurs[s.send]++
				if !again || occurs[s.send] > sent {
					once := !c.mayRepeat(&c.h.Ops[s.send])
					s.told = once
					first := slots[c.found[s.send]-1].offset
					c.report(anomaly{class: Duplicate, part: int32(p), offset: s.offset, value: s.value, send: s.send, op: -1, once: once,
						detail: "it also stands at offset " + itoa(int64(first))})
				}
				continue
			}
			if c.found[s.send] == 0 {
				c.found[s.send] = int32(i) + 1
			}
		}
	}
}

// mayRepeat reports whether a retry may have put a send's value into the log more than once.
func (c *logCheck) mayRepeat(op *history.Op) bool {
	return c.contract.repeats() && c.run.Retries(op.Process)
}

// repeatable is mayRepeat, nil if no producer retries.
func (c *logCheck) repeatable() func(*history.Op) bool {
	if !c.contract.repeats() {
		return nil
	}
	return c.mayRepeat
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
func (c *logCheck) checkAcks() {
	for i := range c.h.Ops {
		op := &c.h.Ops[i]
		if op.Kind != history.Send || op.Outcome != history.OK || op.Acks == 0 {
			continue
		}
		p := c.part[i]
		l := &c.logs[p]
		first := c.sends.first(int32(i))
		_, again := c.sends.again[first]
		if f := c.found[first]; f > 0 {
			if s := &l.slots[f-1]; op.Offset >= 0 && s.offset != op.Offset && !again {
				if here := l.at(op.Offset); here == nil || here.value != op.Value {
					s.told = true
					c.report(anomaly{class: AckOffsetMismatch, part: p, offset: op.Offset, value: op.Value, send: int32(i), op: -1, once: !c.mayRepeat(op),
						other: valueOf(here), detail: "it stands at offset " + itoa(int64(s.offset))})
				}
			}
			continue
		}
		if !c.dense && op.Offset < l.start {
			continue
		}
		here := l.at(op.Offset)
		whole := op.Offset < 0 && l.ended && len(l.covered) == 1 && l.covered[0].from <= 0 // every offset was looked at
		if here != nil || op.ReturnIndex < l.read && (whole || op.Offset >= 0 && (l.covers(op.Offset) || c.dense && op.Offset < l.begins)) {
			c.report(anomaly{class: LostWrite, part: p, offset: op.Offset, value: op.Value, send: int32(i), op: -1, other: valueOf(here)})
			c.found[i] = lost
			continue
		}
		c.undecided++
		c.found[i] = undecided
		if op.Offset >= 0 {
			c.loose = append(c.loose, sighting{part: p, offset: op.Offset, value: op.Value, op: int32(i)})
		}
	}
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
func (c *logCheck) decideByDumps() {
	if c.undecided == 0 {
		return
	}
	dumped := make([]int, len(c.logs))
	held := map[int32]bool{}
	for i := range c.h.Dumps {
		d := &c.h.Dumps[i]
		if d.Err != "" {
			continue
		}
		p := c.partition(d.Partition)
		dumped[p]++
		for r := range d.Records {
			if s := c.sends.find(p, d.Records[r].Value); s >= 0 {
				held[s] = true
			}
		}
	}
	for i, f := range c.found {
		if f != undecided {
			continue
		}
		p, op := c.part[i], &c.h.Ops[i]
		if dumped[p] < max(1, c.run.Factor) || held[c.sends.first(int32(i))] || !c.dense && op.Offset < c.logs[p].start {
			continue
		}
		c.undecided--
		c.found[i] = lost
		c.report(anomaly{class: LostWrite, part: p, offset: op.Offset, value: op.Value, send: int32(i), op: -1, detail: "no replica holds it"})
	}
}

// sortOps orders operations' positions by ID and drops repetitions.
func sortOps(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}
