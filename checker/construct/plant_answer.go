package construct

import (
	"slices"

	"tidemark/history"
)

// answerPlanters change what one client was told.
var answerPlanters = []Planter{
	{"corrupted value", "one consumer reads it", nil, func(s *scene) *Planted {
		return s.misread(func(*history.Op, int32) string { return nobody })
	}},
	{"phantom", "it was read before it was sent", nil, func(s *scene) *Planted {
		var value string
		poll := s.op(s.pick(func(op *history.Op) bool {
			n := len(op.Records)
			if op.Kind != history.Poll || op.Outcome != history.OK || op.Final || n == 0 {
				return false
			}
			p, o := op.Partition.Index, op.Records[n-1].Offset+1
			if o >= s.end(p) {
				return false
			}
			k, sent := s.sends[s.Logs[p][o].Value]
			value = s.Logs[p][o].Value
			return sent && s.h.Ops[k].InvokeIndex > op.ReturnIndex
		}))
		if poll == nil {
			return nil
		}
		r := &poll.Records[len(poll.Records)-1]
		r.Value = value
		return s.planted(poll.Partition.Index, r.Offset, value, poll)
	}},
	{"read of a failed write", "one consumer reads it", nil, func(s *scene) *Planted {
		return s.misread(func(poll *history.Op, p int32) string {
			if op := s.refused(p, poll.ReturnIndex); op != nil {
				return op.Value
			}
			return ""
		})
	}},
	{"read of uncommitted data", "an unknown write that is not in the log", nil, func(s *scene) *Planted {
		return s.misread(func(poll *history.Op, p int32) string {
			if op := s.absent(p, poll.ReturnIndex); op != nil {
				return op.Value
			}
			return ""
		})
	}},
	{"consumer goes back", "the answer begins before the offset asked for", nil, func(s *scene) *Planted {
		op := s.op(s.pick(func(op *history.Op) bool { return load(op) && len(op.Records) > 0 && s.follows(op) == nil }))
		if op == nil {
			return nil
		}
		op.Position = op.Records[0].Offset + 1
		return s.planted(op.Partition.Index, op.Records[0].Offset, "", op)
	}},
	{"consumer goes back", "two records of an answer change places", nil, func(s *scene) *Planted {
		op := s.poll(2)
		if op == nil {
			return nil
		}
		i := s.rng.IntN(len(op.Records) - 1)
		op.Records[i], op.Records[i+1] = op.Records[i+1], op.Records[i]
		return s.planted(op.Partition.Index, op.Records[i+1].Offset, "", op)
	}},
	{"consumer goes back", "the next answer begins before the end of the last", nil, func(s *scene) *Planted {
		op, after := s.pair(1, 1)
		if op == nil {
			return nil
		}
		last := op.Records[len(op.Records)-1]
		after.Position = last.Offset
		after.Records = slices.Insert(after.Records, 0, last)
		return s.planted(op.Partition.Index, last.Offset, "", after)
	}},
	{"consumer skips", "a record is missing inside an answer", nil, func(s *scene) *Planted {
		op := s.poll(3)
		if op == nil {
			return nil
		}
		i := 1 + s.rng.IntN(len(op.Records)-2)
		o := op.Records[i].Offset
		op.Records = slices.Delete(op.Records, i, i+1)
		return s.planted(op.Partition.Index, o, "", op)
	}},
	{"consumer skips", "a record is missing between two answers", nil, func(s *scene) *Planted {
		op, after := s.pair(1, 2)
		if op == nil {
			return nil
		}
		o := after.Records[0].Offset
		after.Records = after.Records[1:]
		after.Position = o + 1
		return s.planted(op.Partition.Index, o, "", after)
	}},
	{"stale read", "a leader that was deposed long ago tells an old end", lagging, func(s *scene) *Planted {
		op := s.op(s.pick(func(op *history.Op) bool {
			if op.Kind != history.Poll || op.Outcome == history.OK || op.Final || op.Epoch < 1 {
				return false
			}
			p := op.Partition.Index
			if op.Position < s.start[p] || op.Position < s.toldIn(p, op.Epoch-1) || op.Position >= s.end(p) {
				return false
			}
			k, sent := s.sends[s.Logs[p][op.Position].Value]
			return sent && s.h.Ops[k].Outcome == history.OK && s.h.Ops[k].Return+ReadBound < op.Invoke
		}))
		if op == nil {
			return nil
		}
		op.Outcome, op.Error = history.OK, ""
		op.HW, op.LogStart, op.Epoch = op.Position, s.start[op.Partition.Index], op.Epoch-1
		op.Broker = s.leader(op.Partition.Index, op.Epoch)
		return s.planted(op.Partition.Index, op.Position, "", op)
	}},
	{"seen by some consumers only", "one moves to the end, over what it has not read", adrift, func(s *scene) *Planted {
		op, after := s.failedBetween(func(after *history.Op) bool {
			return s.othersRead(after) != nil
		})
		if op == nil {
			return nil
		}
		first := *s.othersRead(after)
		end := after.Records[len(after.Records)-1].Offset + 1
		s.seek(op, end)
		after.Position, after.Records = end, nil
		return s.planted(op.Partition.Index, first.Offset, first.Value, after)
	}},
	{"end offset goes back", "ListOffsets tells an end from before", listing, func(s *scene) *Planted {
		op := s.op(s.pick(func(op *history.Op) bool {
			return op.Kind == history.ListOffsets && op.Position == history.Latest && op.Outcome == history.OK && s.told(op) > 0
		}))
		if op == nil {
			return nil
		}
		op.Offset = history.Offset(s.rng.Int64N(int64(s.told(op))))
		return s.planted(op.Partition.Index, op.Offset, "", op)
	}},
	{"acknowledged without an offset", "one write", exact, func(s *scene) *Planted {
		op := s.ack(anyOp)
		if op == nil {
			return nil
		}
		op.Offset = history.UnknownOffset
		return s.planted(op.Partition.Index, history.UnknownOffset, op.Value, op)
	}},
}

// idle asks for polls that fail, any of which may be made an answer that tells of no record.
func idle(cfg *Config) { cfg.Lost = 0.2 }

// adrift asks for a consumer that often fails twice in a row, beside another.
func adrift(cfg *Config) { cfg.Lost, cfg.Partitions, cfg.Consumers = 0.4, 1, max(cfg.Consumers, 2) }

// listing asks for consumers that often ask where the log ends.
func listing(cfg *Config) { cfg.Lists = 0.2 }

// lagging asks for consumers that are far behind, besides.
func lagging(cfg *Config) { cfg.Lost, cfg.Consumers, cfg.Partitions, cfg.Gaps = 0.2, 4, 4, 0 }

// exact asks for acknowledgements that all carry an offset.
func exact(cfg *Config) { cfg.NoOffset = 0 }

func load(op *history.Op) bool {
	return op.Kind == history.Poll && op.Outcome == history.OK && !op.Final
}

// misread has one answer of the load hold another value at one offset. The finding is about that value, or about the one that belongs there
// if nobody sent it.
func (s *scene) misread(value func(poll *history.Op, part int32) string) *Planted {
	for range 64 {
		op := s.poll(1)
		if op == nil {
			return nil
		}
		r := &op.Records[s.rng.IntN(len(op.Records))]
		v := value(op, op.Partition.Index)
		if v == "" {
			continue
		}
		about := v
		if v == nobody {
			about = r.Value
		}
		r.Value = v
		return s.planted(op.Partition.Index, r.Offset, about, op)
	}
	return nil
}

// pair picks two answers of a consumer, one after the other, with so many records each at least.
func (s *scene) pair(first, second int) (op, after *history.Op) {
	op = s.op(s.pick(func(op *history.Op) bool {
		if !load(op) || len(op.Records) < first {
			return false
		}
		after = s.successor(op)
		return after != nil && len(after.Records) >= second && after.Records[0].Offset == after.Position
	}))
	return op, after
}

// follows is the answer that a consumer got before, of the same partition, nil if it got none.
func (s *scene) follows(op *history.Op) *history.Op {
	polls := s.polls[stream{op.Process, op.Partition.Index}]
	if i := slices.IndexFunc(polls, func(k int) bool { return s.h.Ops[k].ID == op.ID }); i > 0 {
		return &s.h.Ops[polls[i-1]]
	}
	return nil
}

// failedBetween picks a poll that failed, as the one before it did, between two answers to its consumer's polls of the partition, the first of
// which holds something; after is the second.
func (s *scene) failedBetween(ok func(after *history.Op) bool) (op, after *history.Op) {
	op = s.op(s.pick(func(op *history.Op) bool {
		last := s.last(op)
		if !failed(op) || last == nil || !failed(last) || last.Partition != op.Partition {
			return false
		}
		polls := s.polls[stream{op.Process, op.Partition.Index}]
		i := slices.IndexFunc(polls, func(k int) bool { return s.h.Ops[k].ID > op.ID })
		if i < 1 {
			return false
		}
		var before *history.Op
		before, after = &s.h.Ops[polls[i-1]], &s.h.Ops[polls[i]]
		return len(before.Records) > 0 && after.Position == op.Position && op.Position > before.Records[len(before.Records)-1].Offset && ok(after)
	}))
	return op, after
}

func failed(op *history.Op) bool {
	return op.Kind == history.Poll && op.Outcome == history.Fail && !op.Final
}

// last is what a process did before, nil if it did nothing.
func (s *scene) last(op *history.Op) *history.Op {
	for i := op.ID - 1; i >= 0; i-- {
		if s.h.Ops[i].Process == op.Process {
			return &s.h.Ops[i]
		}
	}
	return nil
}

// seek makes a poll that failed a seek to the end that a leader tells, for the position was out of range.
func (s *scene) seek(op *history.Op, to history.Offset) {
	s.last(op).Error = "OFFSET_OUT_OF_RANGE"
	op.Kind, op.Outcome, op.Position, op.Error = history.Seek, history.OK, to, ""
	op.Offset, op.HW, op.LogStart = history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
}

// othersRead is the first record of an answer that another consumer read too, before the final reads; nil if there is none.
func (s *scene) othersRead(answer *history.Op) *history.Record {
	for i := range answer.Records {
		for by, polls := range s.polls {
			if by.process != answer.Process && by.part == answer.Partition.Index && slices.ContainsFunc(polls, func(k int) bool {
				return !s.h.Ops[k].Final && slices.Contains(s.h.Ops[k].Records, answer.Records[i])
			}) {
				return &answer.Records[i]
			}
		}
	}
	return nil
}

// hw is the high watermark that an operation was told, or the end of the log, which is the same; UnknownOffset if none was.
func hw(op *history.Op) history.Offset {
	switch {
	case op.Outcome != history.OK:
		return history.UnknownOffset
	case op.Kind == history.Poll:
		return op.HW
	case op.Kind == history.ListOffsets && op.Position == history.Latest:
		return op.Offset
	}
	return history.UnknownOffset
}

// told is the highest high watermark that anybody was told before a consumer asked for the log's end, of the epoch or one before it.
func (s *scene) told(list *history.Op) history.Offset {
	told := history.Offset(0)
	for i := range s.h.Ops {
		if op := &s.h.Ops[i]; op.Partition == list.Partition && op.Epoch <= list.Epoch && op.ReturnIndex < list.InvokeIndex {
			told = max(told, hw(op))
		}
	}
	return told
}

// toldIn is the highest high watermark that anybody was told of a leader's epoch.
func (s *scene) toldIn(p int32, epoch history.Epoch) history.Offset {
	told := history.Offset(0)
	for i := range s.h.Ops {
		if op := &s.h.Ops[i]; op.Partition.Index == p && op.Epoch == epoch {
			told = max(told, hw(op))
		}
	}
	for i := range s.h.States {
		for j := range s.h.States[i].Partitions {
			if ps := &s.h.States[i].Partitions[j]; ps.Partition.Index == p && ps.Epoch == epoch {
				for r := range ps.Replicas {
					told = max(told, ps.Replicas[r].HW)
				}
			}
		}
	}
	return told
}

// leader is the leader of an epoch.
func (s *scene) leader(p int32, epoch history.Epoch) history.BrokerID {
	for i := range s.h.Steps {
		if st := &s.h.Steps[i]; st.Kind == history.StepElection && st.Partition.Index == p && st.Epoch == epoch {
			return st.Broker
		}
	}
	return history.NoBroker
}
