package checker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/history"
)

// story turns a history written for people into one. Each line takes a second, and is one of
//
//	p1 send a: at 0                     acknowledged at offset 0; also "acknowledged", without an offset, "failed" and "unknown"
//	p1 send a                           sent; "p1: at 0" tells the outcome later, so that operations overlap
//	c1 poll 0: a@0 b@1 hw 2 start 0     an answer to a poll from offset 0; hw and start (the log start) where they were told
//	c1 poll 0: failed                   also "out of range" and "corrupt"
//	c1 seek 7                           the consumer moves its position
//	c1 list end: at 2                   ListOffsets tells where the log ends; also "list start"
//	t1 delete 5: start 5                DeleteRecords below an offset, and the log start that it told; also "failed" and "unknown"
//	broker 1 leads in epoch 3, hw 9     as the observer saw it
//	broker 1 goes down
//	broker 1 is killed
//	broker 1 starts: hw 9 end 10        its replica, with what the disk kept; "broker 1 cuts 10 to 8" truncates it
//	broker 1 exited by itself with code 2
//	wait 30s
//	settled                             every fault undone, clients drained, markers read back
//	not settled: why
//	final read: a@0 b@1 hw 2            from the log start to the end
//	final read: failed
//	end of answers: a@0                 what all answers together showed, where nobody read the log at the end
//	broker 1 holds a@0 b@1 hw 2         its log at the end; b@1/3 is of leader epoch 3, and end is where the log ends if not behind the last record
//	broker 1 could not be read
//
// Processes are numbered as they are met. Broker 1 leads in epoch 0 unless "on broker 2 in epoch 3" follows what was asked. A line "partition 1"
// goes over to partition orders/1.
type story struct {
	run       history.Run
	h         *history.History
	now       time.Duration
	index     int64
	part      history.Partition
	processes map[string]int32
	open      map[string]int
}

func newStory(run history.Run) *story {
	return &story{run: run, h: &history.History{}, part: history.Partition{Topic: "orders"}, processes: map[string]int32{}, open: map[string]int{}}
}

func (s *story) tick() int64 {
	s.index++
	return s.index
}

// tell takes in a line.
func (s *story) tell(line string) error {
	s.now += time.Second
	what, rest, _ := strings.Cut(line, " ")
	switch {
	case what == "wait":
		d, err := time.ParseDuration(rest)
		s.now += d
		return err
	case what == "partition":
		n, err := strconv.Atoi(rest)
		s.part.Index = int32(n)
		return err
	case line == "settled":
		s.mark("heal", "")
		s.mark("settle", "")
		s.mark("final", "")
	case what == "not":
		s.mark("settle", strings.TrimPrefix(line, "not settled: "))
	case what == "broker":
		return s.broker(rest)
	case what == "final", what == "end":
		_, answer, _ := strings.Cut(line, ": ")
		op := s.invoke(what, history.Poll)
		op.Final, op.Epoch = true, -1
		if what == "end" {
			op.Process = -1
		}
		return s.answer(op, answer)
	default:
		return s.operation(what, rest)
	}
	return nil
}

func (s *story) mark(name, failed string) {
	s.h.Marks = append(s.h.Marks, history.Mark{Index: s.tick(), Time: s.now, Name: name, Failed: failed != "", Detail: failed})
}

// invoke begins an operation.
func (s *story) invoke(who string, kind history.OpKind) *history.Op {
	p, known := s.processes[who]
	if !known {
		p = int32(len(s.processes))
		s.processes[who] = p
	}
	s.open[who] = len(s.h.Ops)
	s.h.Ops = append(s.h.Ops, history.Op{ID: int64(len(s.h.Ops)), Process: p, Kind: kind, Acks: s.run.Acks, Broker: 1, Partition: s.part, Invoke: s.now,
		InvokeIndex: s.tick(), ReturnIndex: -1, Offset: history.UnknownOffset, HW: -1, LogStart: -1})
	return &s.h.Ops[len(s.h.Ops)-1]
}

func (s *story) complete(op *history.Op, outcome history.Outcome) {
	op.Outcome, op.Return, op.ReturnIndex = outcome, s.now+time.Second/2, s.tick()
}

func (s *story) operation(who, rest string) error {
	asked, told, completed := strings.Cut(rest, ": ")
	if strings.HasSuffix(who, ":") {
		at, known := s.open[strings.TrimSuffix(who, ":")]
		if !known {
			return fmt.Errorf("%s nothing is under way", who)
		}
		return s.outcome(&s.h.Ops[at], rest)
	}
	words := strings.Fields(asked)
	if len(words) < 2 {
		return fmt.Errorf("%q, expected an operation", rest)
	}
	kind, known := map[string]history.OpKind{"send": history.Send, "poll": history.Poll, "seek": history.Seek, "list": history.ListOffsets,
		"delete": history.DeleteRecords}[words[0]]
	if !known {
		return fmt.Errorf("%q, expected send, poll, seek, list or delete", words[0])
	}
	op := s.invoke(who, kind)
	if err := on(op, words[2:]); err != nil {
		return err
	}
	if kind == history.Send {
		op.Value = words[1]
	} else if kind == history.ListOffsets {
		op.Position = map[string]history.Offset{"end": history.Latest, "start": history.Earliest}[words[1]]
	} else if err := number(words[1], &op.Position); err != nil {
		return err
	}
	if kind == history.Seek {
		s.complete(op, history.OK)
		return nil
	}
	if !completed {
		return nil
	}
	return s.outcome(op, told)
}

// on reads "on broker 2 in epoch 3".
func on(op *history.Op, words []string) error {
	for i := 0; i+2 < len(words)+1 && i+1 < len(words); i++ {
		n, err := strconv.Atoi(words[i+1])
		switch words[i] {
		case "broker":
			op.Broker = history.BrokerID(n)
		case "epoch":
			op.Epoch = history.Epoch(n)
		default:
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func number(word string, to *history.Offset) error {
	n, err := strconv.ParseInt(word, 10, 64)
	*to = history.Offset(n)
	return err
}

func (s *story) outcome(op *history.Op, told string) error {
	switch at, acknowledged := strings.CutPrefix(told, "at "); {
	case told == "failed":
		op.Error = "MESSAGE_TOO_LARGE"
		s.complete(op, history.Fail)
	case told == "unknown":
		op.Error = "REQUEST_TIMED_OUT"
		s.complete(op, history.Info)
	case told == "acknowledged":
		s.complete(op, history.OK)
	case acknowledged:
		s.complete(op, history.OK)
		return number(at, &op.Offset)
	default:
		return s.answer(op, told)
	}
	return nil
}

// answer reads the records and offsets of an answer.
func (s *story) answer(op *history.Op, told string) error {
	if told == "failed" || told == "out of range" || told == "corrupt" {
		op.Error = strings.NewReplacer("out of range", "OFFSET_OUT_OF_RANGE",
			"corrupt", history.CorruptBatch+": batch at offset 0 with CRC 0badc0de, expected 5ca1ab1e").Replace(told)
		s.complete(op, history.Fail)
		return nil
	}
	s.complete(op, history.OK)
	records, offsets, err := contents(told)
	for _, r := range records {
		op.Records = append(op.Records, history.Record{Offset: r.Offset, Value: r.Value})
	}
	if hw, ok := offsets["hw"]; ok {
		op.HW = hw
	}
	if start, ok := offsets["start"]; ok {
		op.LogStart = start
		if op.Final {
			op.Position = start
		}
	}
	return err
}

// contents reads records, and offsets by name.
func contents(text string) (records []history.DumpRecord, offsets map[string]history.Offset, err error) {
	offsets = map[string]history.Offset{}
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		value, at, isRecord := strings.Cut(words[i], "@")
		if !isRecord {
			if i+1 == len(words) {
				return nil, nil, fmt.Errorf("%q, expected an offset behind it", words[i])
			}
			var o history.Offset
			if err := number(words[i+1], &o); err != nil {
				return nil, nil, err
			}
			offsets[words[i]] = o
			i++
			continue
		}
		r := history.DumpRecord{Value: value}
		at, epoch, _ := strings.Cut(at, "/")
		if err := number(at, &r.Offset); err != nil {
			return nil, nil, err
		}
		if epoch != "" {
			n, err := strconv.Atoi(epoch)
			if err != nil {
				return nil, nil, err
			}
			r.Epoch = history.Epoch(n)
		}
		records = append(records, r)
	}
	return records, offsets, nil
}

func (s *story) broker(rest string) error {
	id, what, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	b := history.BrokerID(n)
	held, holds := strings.CutPrefix(what, "holds")
	how, exits := strings.CutPrefix(what, history.ExitedByItself)
	lead, leads := strings.CutPrefix(what, "leads in ")
	starts, up := strings.CutPrefix(what, "starts: ")
	cut, cuts := strings.CutPrefix(what, "cuts ")
	switch {
	case what == "is killed":
		s.h.Steps = append(s.h.Steps, history.Step{Index: s.tick(), Time: s.now, Kind: history.StepDown, Broker: b, Epoch: -1, Peer: history.NoBroker, Detail: endedByKill})
	case up:
		_, offsets, err := contents(starts)
		if err != nil {
			return err
		}
		s.h.Steps = append(s.h.Steps, history.Step{Index: s.tick(), Time: s.now, Kind: history.StepStart, Broker: b, Partition: s.part, Epoch: -1, Peer: history.NoBroker,
			From: offsets["hw"], To: offsets["end"]})
	case cuts:
		step := history.Step{Index: s.tick(), Time: s.now, Kind: history.StepTruncate, Broker: b, Partition: s.part, Peer: history.NoBroker}
		if _, err := fmt.Sscanf(cut, "%d to %d", &step.From, &step.To); err != nil {
			return fmt.Errorf("%q, expected two offsets: %w", cut, err)
		}
		s.h.Steps = append(s.h.Steps, step)
	case what == "goes down":
		s.h.Steps = append(s.h.Steps, history.Step{Index: s.tick(), Time: s.now, Kind: history.StepDown, Broker: b, Epoch: -1, Peer: history.NoBroker})
	case exits:
		s.h.Steps = append(s.h.Steps, history.Step{Index: s.tick(), Time: s.now, Kind: history.StepDown, Broker: b, Epoch: -1, Peer: history.NoBroker,
			Detail: history.ExitedByItself + how})
	case what == "could not be read":
		s.h.Dumps = append(s.h.Dumps, history.Dump{Index: s.tick(), Time: s.now, Broker: b, Partition: s.part, Err: "input/output error"})
	case holds:
		records, offsets, err := contents(held)
		if err != nil {
			return err
		}
		d := history.Dump{Index: s.tick(), Time: s.now, Broker: b, Partition: s.part, Records: records, Start: offsets["start"], HW: offsets["hw"]}
		d.LEO = d.Start
		if len(records) > 0 {
			d.LEO = records[len(records)-1].Offset + 1
		}
		if end, ok := offsets["end"]; ok {
			d.LEO = end
		}
		s.h.Dumps = append(s.h.Dumps, d)
	case leads:
		_, offsets, err := contents(strings.ReplaceAll(lead, ",", ""))
		if err != nil {
			return err
		}
		p := history.PartitionState{Partition: s.part, Leader: b, Epoch: history.Epoch(offsets["epoch"]), Replicas: []history.ReplicaState{
			{Broker: b, Up: true, Leads: true, Epoch: history.Epoch(offsets["epoch"]), LEO: offsets["hw"], HW: offsets["hw"]}}}
		s.h.States = append(s.h.States, history.ClusterState{Index: s.tick(), Time: s.now, Controller: history.NoBroker, Partitions: []history.PartitionState{p}})
	default:
		return fmt.Errorf("broker %s %q, expected holds, leads in, goes down, is killed, starts:, cuts, exited by itself or could not be read", id, what)
	}
	return nil
}
