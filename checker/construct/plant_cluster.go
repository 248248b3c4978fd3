package construct

import (
	"cmp"
	"slices"

	"tidemark/history"
)

// clusterPlanters change what is about no single record: what an observer saw, whether the cluster came to rest, and in what state.
var clusterPlanters = []Planter{
	{"high watermark goes back", "an observer sees it", nil, func(s *scene) *Planted {
		for range 64 {
			i := s.rng.IntN(len(s.h.States))
			p := s.rng.IntN(len(s.Logs))
			now := &s.h.States[i].Partitions[p]
			r := slices.IndexFunc(now.Replicas, func(r history.ReplicaState) bool { return r.Leads })
			if i == 0 || now.Replicas[r].HW < 1 {
				continue
			}
			before := &s.h.States[i-1].Partitions[p]
			if before.Epoch != now.Epoch || before.Replicas[r].HW < 1 || s.struck(s.h.States[i-1].Index, s.h.States[i].Index) {
				continue
			}
			hw := history.Offset(s.rng.Int64N(int64(before.Replicas[r].HW)))
			now.Replicas[r].HW = hw
			return s.planted(int32(p), hw, "")
		}
		return nil
	}},
	{"high watermark goes back", "a consumer is told", idle, func(s *scene) *Planted {
		var hw history.Offset
		op := s.op(s.pick(func(op *history.Op) bool {
			if op.Kind != history.Poll || op.Outcome == history.OK || op.Final {
				return false
			}
			hw = s.toldBefore(op)
			return hw > 0
		}))
		if op == nil {
			return nil
		}
		op.Outcome, op.Error = history.OK, ""
		op.HW, op.LogStart = history.Offset(s.rng.Int64N(int64(hw))), s.start[op.Partition.Index]
		return s.planted(op.Partition.Index, op.HW, "", op)
	}},
	{"not settled", "the bound passed", nil, func(s *scene) *Planted {
		return s.failMark("settle")
	}},
	{"not settled", "a fault could not be undone", nil, func(s *scene) *Planted {
		return s.failMark("heal")
	}},
	{"replicas differ", "one log is shorter", nil, func(s *scene) *Planted {
		d := s.dump(3)
		if d == nil {
			return nil
		}
		n := 1 + s.rng.IntN(len(d.Records)-2)
		d.Records = d.Records[:n]
		d.LEO = d.Records[n-1].Offset + 1
		d.HW = d.LEO
		return s.planted(d.Partition.Index, d.LEO, "")
	}},
	{"replicas differ", "a record is of another epoch", nil, func(s *scene) *Planted {
		d := s.dump(1)
		if d == nil {
			return nil
		}
		r := &d.Records[s.rng.IntN(len(d.Records))]
		r.Epoch++
		return s.planted(d.Partition.Index, r.Offset, "")
	}},
	{"trimmed", "retention removed the first records", exact, func(s *scene) *Planted {
		op := s.ack(func(op *history.Op) bool { return op.Offset+2 < s.end(op.Partition.Index) })
		if op == nil {
			return nil
		}
		p := op.Partition.Index
		s.Run.Config["log.retention.bytes"] = "65536"
		s.trim(p, op.Offset+1)
		return s.planted(p, history.UnknownOffset, "")
	}},
	{"trimmed", "a DeleteRecords of unknown outcome took effect in the end", deleting, func(s *scene) *Planted {
		op := s.op(s.pick(func(op *history.Op) bool {
			return op.Kind == history.DeleteRecords && op.Outcome != history.OK && op.Outcome != history.Fail && s.start[op.Partition.Index] == 0 &&
				len(s.below(op.Partition.Index, 0, op.Position)) > 0
		}))
		if op == nil {
			return nil
		}
		s.trim(op.Partition.Index, op.Position)
		return s.planted(op.Partition.Index, history.UnknownOffset, "")
	}},
	{"lost acknowledged write", "the log start moved, and nobody had asked", exact, func(s *scene) *Planted {
		p := int32(s.rng.IntN(len(s.Logs)))
		return s.overTrim(p, 0)
	}},
	{"lost acknowledged write", "DeleteRecords removed more than was asked for", func(cfg *Config) { deleting(cfg); exact(cfg) }, func(s *scene) *Planted {
		op := s.op(s.pick(func(op *history.Op) bool {
			return op.Kind == history.DeleteRecords && op.Outcome == history.OK
		}))
		if op == nil {
			return nil
		}
		return s.overTrim(op.Partition.Index, op.Position)
	}},
	{"acknowledged and never seen", "the final read stopped before it, and a dump could not be read", nil, func(s *scene) *Planted {
		marker := s.op(s.pick(func(op *history.Op) bool { return op.Marker }))
		at := place{marker.Partition.Index, marker.Offset}
		op := s.final(at)
		op.Records = replaced(op.Records, at.offset, "")
		for i := range s.h.Ops {
			if op := &s.h.Ops[i]; load(op) && op.Partition.Index == at.part {
				op.Records = replaced(op.Records, at.offset, "")
			}
		}
		for i := range s.h.Dumps {
			if d := &s.h.Dumps[i]; d.Partition.Index == at.part {
				d.Err, d.Records = "permission denied", nil
			}
		}
		return s.planted(at.part, at.offset, marker.Value, marker)
	}},
}

// deleting asks for one DeleteRecords, on a partition that keeps all else.
func deleting(cfg *Config) { cfg.Trims, cfg.Deletes, cfg.NoOffset = 0, 1, 0 }

// below lists the acknowledged writes that stand between two offsets.
func (s *scene) below(p int32, from, to history.Offset) []*history.Op {
	var out []*history.Op
	for i := range s.h.Ops {
		if op := &s.h.Ops[i]; acked(op) && op.Partition.Index == p && from <= op.Offset && op.Offset < to {
			out = append(out, op)
		}
	}
	return out
}

// overTrim removes the records of a partition up to the first acknowledged write from an offset on.
func (s *scene) overTrim(p int32, from history.Offset) *Planted {
	lost := s.below(p, from, s.end(p)-1)
	if len(lost) == 0 {
		return nil
	}
	op := slices.MinFunc(lost, func(a, b *history.Op) int { return cmp.Compare(a.Offset, b.Offset) })
	s.trim(p, op.Offset+1)
	return s.planted(p, op.Offset, op.Value, op)
}

// toldBefore is the highest high watermark of the leader's epoch that somebody was told before a poll was sent.
func (s *scene) toldBefore(op *history.Op) history.Offset {
	told := history.UnknownOffset
	for i := range s.h.Ops {
		if o := &s.h.Ops[i]; o.Partition == op.Partition && o.Epoch == op.Epoch && o.Broker == op.Broker && o.ReturnIndex < op.InvokeIndex {
			told = max(told, hw(o))
		}
	}
	return told
}

// struck reports whether a fault did anything between two moments.
func (s *scene) struck(from, to int64) bool {
	return slices.ContainsFunc(s.h.Faults, func(e history.FaultEvent) bool { return from < e.Index && e.Index < to })
}

func (s *scene) failMark(name string) *Planted {
	i := slices.IndexFunc(s.h.Marks, func(m history.Mark) bool { return m.Name == name })
	s.h.Marks[i].Failed, s.h.Marks[i].Detail = true, "the bound passed"
	return &Planted{Offset: history.UnknownOffset}
}

// trim has the final reads and the replicas' logs begin at an offset.
func (s *scene) trim(p int32, start history.Offset) {
	for i := range s.h.Ops {
		op := &s.h.Ops[i]
		if !op.Final || op.Partition.Index != p {
			continue
		}
		op.LogStart = start
		op.Records = slices.DeleteFunc(op.Records, func(r history.Record) bool { return r.Offset < start })
		op.Position = max(op.Position, start)
		if len(op.Records) == 0 { // all of it is gone, so nobody asked
			op.Outcome = history.Fail
		}
	}
	for i := range s.h.Dumps {
		if d := &s.h.Dumps[i]; d.Partition.Index == p {
			d.Start = start
			d.Records = slices.DeleteFunc(d.Records, func(r history.DumpRecord) bool { return r.Offset < start })
		}
	}
}
