package construct

import (
	"slices"

	"tidemark/history"
)

// replace puts another value at an offset, or none with "": in the final reads and in the replicas' logs, and with polls in every other answer too.
func (s *scene) replace(at place, value string, polls bool) {
	for i := range s.h.Ops {
		op := &s.h.Ops[i]
		if op.Kind == history.Poll && op.Partition.Index == at.part && (op.Final || polls) {
			op.Records = replaced(op.Records, at.offset, value)
		}
	}
	for i := range s.h.Dumps {
		if d := &s.h.Dumps[i]; d.Partition.Index == at.part {
			replaceIn(d, at.offset, value)
		}
	}
}

func replaced(records []history.Record, o history.Offset, value string) []history.Record {
	for r := range records {
		if records[r].Offset != o {
			continue
		}
		if value == "" {
			return slices.Delete(records, r, r+1)
		}
		records[r].Value = value
		break
	}
	return records
}

func replaceIn(d *history.Dump, o history.Offset, value string) {
	for r := range d.Records {
		if d.Records[r].Offset != o {
			continue
		}
		if value == "" {
			d.Records = slices.Delete(d.Records, r, r+1)
		} else {
			d.Records[r].Value = value
		}
		return
	}
}

// extend puts one more record at the end of a partition's log, behind its marker: on every replica, and in the last final read.
func (s *scene) extend(part int32, value string) history.Offset {
	end := s.end(part)
	var last *history.Op
	for i := range s.h.Ops {
		if op := &s.h.Ops[i]; op.Final && op.Partition.Index == part {
			op.HW = end + 1
			last = op
		}
	}
	last.Records = append(last.Records, history.Record{Offset: end, Value: value})
	epoch := s.Logs[part][end-1].Epoch
	for i := range s.h.Dumps {
		if d := &s.h.Dumps[i]; d.Partition.Index == part {
			d.Records = append(d.Records, history.DumpRecord{Offset: end, Epoch: epoch, Value: value})
			d.LEO, d.HW = end+1, end+1
		}
	}
	return end
}

// shorten takes the last record of a partition's log away, everywhere but from those who read it before.
func (s *scene) shorten(part int32) {
	end := s.end(part) - 1
	for i := range s.h.Ops {
		if op := &s.h.Ops[i]; op.Final && op.Partition.Index == part {
			op.HW = end
			op.Records = replaced(op.Records, end, "")
		}
	}
	for i := range s.h.Dumps {
		if d := &s.h.Dumps[i]; d.Partition.Index == part {
			replaceIn(d, end, "")
			d.LEO, d.HW = end, min(end, d.HW)
		}
	}
}

func (s *scene) end(part int32) history.Offset { return history.Offset(len(s.Logs[part])) }

// dump is a random replica's log with so many records at least, nil if that one has fewer.
func (s *scene) dump(records int) *history.Dump {
	d := &s.h.Dumps[s.rng.IntN(len(s.h.Dumps))]
	if len(d.Records) < records {
		return nil
	}
	return d
}

// final is the final read that returned an offset.
func (s *scene) final(at place) *history.Op {
	for i := range s.h.Ops {
		if op := &s.h.Ops[i]; op.Final && op.Partition.Index == at.part &&
			slices.ContainsFunc(op.Records, func(r history.Record) bool { return r.Offset == at.offset }) {
			return op
		}
	}
	return nil
}
