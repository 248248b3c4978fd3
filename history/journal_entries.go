package history

import (
	"math"
	"slices"
	"time"
)

// How each kind of line becomes an entry again; journal.go says what the keys mean, journal_lines.go writes them.

const (
	minInt64 = math.MinInt64
	maxInt64 = math.MaxInt64
)

func (j *journalReader) time() time.Duration { return time.Duration(j.int(0, maxInt64)) }
func (j *journalReader) index() int64        { return j.int(0, maxInt64) }
func (j *journalReader) offset() Offset      { return Offset(j.int(minInt64, maxInt64)) }
func (j *journalReader) epoch() Epoch        { return Epoch(j.int32()) }
func (j *journalReader) broker() BrokerID    { return BrokerID(j.int32()) }
func (j *journalReader) int32() int32        { return int32(j.int(math.MinInt32, math.MaxInt32)) }

func (j *journalReader) readInvoke() {
	op := Op{ID: 0, InvokeIndex: -1}
	for j.more('}') {
		switch key := j.key(); string(key) {
		case "i":
			op.InvokeIndex = j.index()
		case "at":
			op.Invoke = j.time()
		case "id":
			op.ID = j.index()
		case "p":
			op.Process = j.int32()
		case "f":
			op.Kind = OpKind(j.oneOf(kindNames[:]))
		case "b":
			op.Broker = j.broker()
		case "e":
			op.Epoch = j.epoch()
		case "topic":
			op.Partition.Topic = j.word()
		case "part":
			op.Partition.Index = j.int32()
		case "acks":
			op.Acks = int16(j.int(math.MinInt16, math.MaxInt16))
		case "v":
			op.Value = j.keep(j.bytes())
		case "pos":
			op.Position = j.offset()
		case "final":
			op.Final = j.bool()
		case "marker":
			op.Marker = j.bool()
		default:
			j.unknown(key, "i at id p f b e topic part acks v pos final marker")
		}
	}
	op.clearOutcome()
	j.stamp(op.InvokeIndex, op.Invoke)
	if other, busy := j.busy[op.Process]; j.err == nil && busy {
		j.fail("process %d invokes operation %d, expected the end of its operation %d first", op.Process, op.ID, other)
	}
	if expected := int64(len(j.h.Ops)); j.err == nil && op.ID != expected {
		j.fail("operation %d invoked, expected %d", op.ID, expected)
	}
	if j.err == nil {
		j.busy[op.Process] = op.ID
		j.h.Ops = push(j.h.Ops, op)
	}
}

func (j *journalReader) readReturn() {
	done := Op{ReturnIndex: -1}
	for j.more('}') {
		switch key := j.key(); string(key) {
		case "i":
			done.ReturnIndex = j.index()
		case "at":
			done.Return = j.time()
		case "id":
			done.ID = j.index()
		case "as":
			done.Outcome = Outcome(j.oneOf(outcomeNames[:]))
		case "b":
			done.Broker = j.broker()
		case "off":
			done.Offset = j.offset()
		case "hw":
			done.HW = j.offset()
		case "start":
			done.LogStart = j.offset()
		case "err":
			done.Error = j.word()
		case "recs":
			done.Records = j.readRecords(done.ID)
		default:
			j.unknown(key, "i at id as b off hw start err recs")
		}
	}
	j.stamp(done.ReturnIndex, done.Return)
	if j.err != nil {
		return
	}
	if done.Outcome == Pending {
		j.fail("completion without outcome, expected as: ok, fail or info")
		return
	}
	if done.ID >= int64(len(j.h.Ops)) || j.h.Ops[done.ID].Outcome != Pending {
		j.fail("completion of operation %d, expected one that is under way", done.ID)
		return
	}
	op := &j.h.Ops[done.ID]
	op.Outcome, op.Return, op.ReturnIndex, op.Broker = done.Outcome, done.Return, done.ReturnIndex, done.Broker
	op.Offset, op.HW, op.LogStart, op.Records, op.Error = done.Offset, done.HW, done.LogStart, done.Records, done.Error
	delete(j.busy, op.Process)
	if op.Kind == Send && op.Outcome == OK {
		j.of(op.Partition).sentTo(op.Offset, op.Value)
	}
}

// readRecords reads what an operation returned.
func (j *journalReader) readRecords(id int64) []Record {
	var partition Partition
	if id < int64(len(j.h.Ops)) {
		partition = j.h.Ops[id].Partition
	}
	log := j.of(partition)
	j.scratch = j.scratch[:0]
	for j.open('['); j.more(']'); {
		o := j.offset()
		j.expect(',')
		j.scratch = append(j.scratch, Record{o, j.value(log, o, j.bytes())})
	}
	return j.keepRecords(j.scratch)
}

func (j *journalReader) readFault() {
	e := FaultEvent{Index: -1}
	for j.more('}') {
		switch key := j.key(); string(key) {
		case "i":
			e.Index = j.index()
		case "at":
			e.Time = j.time()
		case "n":
			e.Fault = int(j.int(minInt64, maxInt64))
		case "phase":
			e.Phase = FaultPhase(j.word())
		case "kind":
			e.Kind = j.word()
		case "line":
			e.Line = j.word()
		case "on":
			e.Targets = j.brokers()
		case "detail":
			e.Detail = j.string()
		default:
			j.unknown(key, "i at n phase kind line on detail")
		}
	}
	j.stamp(e.Index, e.Time)
	j.h.Faults = append(j.h.Faults, e)
}

func (j *journalReader) readState() {
	s := ClusterState{Index: -1}
	for j.more('}') {
		switch key := j.key(); string(key) {
		case "i":
			s.Index = j.index()
		case "at":
			s.Time = j.time()
		case "ctl":
			s.Controller = j.broker()
		case "parts":
			for j.open('['); j.element(); {
				s.Partitions = append(s.Partitions, j.partitionState())
			}
		default:
			j.unknown(key, "i at ctl parts")
		}
	}
	j.stampLate(s.Index, s.Time)
	j.h.States = append(j.h.States, s)
}

func (j *journalReader) partitionState() (p PartitionState) {
	for j.open('{'); j.more('}'); {
		switch key := j.key(); string(key) {
		case "topic":
			p.Partition.Topic = j.word()
		case "part":
			p.Partition.Index = j.int32()
		case "leader":
			p.Leader = j.broker()
		case "e":
			p.Epoch = j.epoch()
		case "pe":
			p.PartitionEpoch = j.int32()
		case "isr":
			p.ISR = j.brokers()
		case "elr":
			p.ELR = j.brokers()
		case "reps":
			for j.open('['); j.element(); {
				p.Replicas = append(p.Replicas, j.replicaState())
			}
		default:
			j.unknown(key, "topic part leader e pe isr elr reps")
		}
	}
	return p
}

func (j *journalReader) replicaState() (r ReplicaState) {
	for j.open('{'); j.more('}'); {
		switch key := j.key(); string(key) {
		case "b":
			r.Broker = j.broker()
		case "up":
			r.Up = j.bool()
		case "leads":
			r.Leads = j.bool()
		case "e":
			r.Epoch = j.epoch()
		case "leo":
			r.LEO = j.offset()
		case "hw":
			r.HW = j.offset()
		case "start":
			r.Start = j.offset()
		default:
			j.unknown(key, "b up leads e leo hw start")
		}
	}
	return r
}

func (j *journalReader) readStep() {
	s := Step{Index: -1}
	for j.more('}') {
		switch key := j.key(); string(key) {
		case "i":
			s.Index = j.index()
		case "at":
			s.Time = j.time()
		case "kind":
			s.Kind = StepKind(j.word())
		case "b":
			s.Broker = j.broker()
		case "topic":
			s.Partition.Topic = j.word()
		case "part":
			s.Partition.Index = j.int32()
		case "e":
			s.Epoch = j.epoch()
		case "peer":
			s.Peer = j.broker()
		case "from":
			s.From = j.offset()
		case "to":
			s.To = j.offset()
		case "isr":
			s.ISR = j.brokers()
		case "detail":
			s.Detail = j.word()
		default:
			j.unknown(key, "i at kind b topic part e peer from to isr detail")
		}
	}
	j.stampLate(s.Index, s.Time)
	j.h.Steps = push(j.h.Steps, s)
}

func (j *journalReader) readDump() {
	d := Dump{Index: -1}
	for j.more('}') {
		switch key := j.key(); string(key) {
		case "i":
			d.Index = j.index()
		case "at":
			d.Time = j.time()
		case "b":
			d.Broker = j.broker()
		case "topic":
			d.Partition.Topic = j.word()
		case "part":
			d.Partition.Index = j.int32()
		case "leo":
			d.LEO = j.offset()
		case "hw":
			d.HW = j.offset()
		case "start":
			d.Start = j.offset()
		case "recs":
			d.Records = j.readDumpRecords(d.Partition)
		case "err":
			d.Err = j.string()
		default:
			j.unknown(key, "i at b topic part leo hw start recs err")
		}
	}
	j.stamp(d.Index, d.Time)
	j.h.Dumps = append(j.h.Dumps, d)
}

// readDumpRecords reads a replica's log.
func (j *journalReader) readDumpRecords(partition Partition) []DumpRecord {
	log := j.of(partition)
	j.dumped = j.dumped[:0]
	for j.open('['); j.more(']'); {
		r := DumpRecord{Offset: j.offset()}
		j.expect(',')
		r.Epoch = j.epoch()
		j.expect(',')
		r.Value = j.value(log, r.Offset, j.bytes())
		j.dumped = push(j.dumped, r)
	}
	if len(j.dumped) == 0 {
		return nil
	}
	return slices.Clone(j.dumped)
}

func (j *journalReader) readMark() {
	m := Mark{Index: -1}
	for j.more('}') {
		switch key := j.key(); string(key) {
		case "i":
			m.Index = j.index()
		case "at":
			m.Time = j.time()
		case "name":
			m.Name = j.word()
		case "failed":
			m.Failed = j.bool()
		case "detail":
			m.Detail = j.string()
		default:
			j.unknown(key, "i at name failed detail")
		}
	}
	j.stamp(m.Index, m.Time)
	j.h.Marks = append(j.h.Marks, m)
}

// elementsMax bounds the partitions, replicas and brokers that one line lists: each can take a hundred times its text in memory.
// A thousand partitions with 31 replicas each fit.
const elementsMax = 1 << 16

// element passes over to the next element of a list of those.
func (j *journalReader) element() bool {
	if !j.more(']') {
		return false
	}
	if j.many++; j.many > elementsMax {
		j.fail("more than %d partitions, replicas and brokers", elementsMax)
	}
	return j.err == nil
}

// brokers reads a list of brokers.
func (j *journalReader) brokers() (list []BrokerID) {
	for j.open('['); j.element(); {
		list = append(list, j.broker())
	}
	return list
}

// oneOf reads one of a few names and returns its place among them.
func (j *journalReader) oneOf(names []string) int {
	name := j.text()
	if i := slices.Index(names, string(name)); i >= 0 {
		return i
	}
	j.fail("found %q, expected one of %v", short(name), names)
	return 0
}
