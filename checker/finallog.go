package checker

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"tidemark/history"
)

const never = math.MaxInt64

// slot is one record of a partition's log as it stands at the end.
type slot struct {
	offset history.Offset
	value  string
	send   nth   // its send, -1 if nobody sent it to this partition
	told   bool  // an anomaly at this offset was found already
	given  bool  // a consumer was given it before the final reads
	lapsed bool  // it was told of, and is below the log start: the contract lets another have stood there when the records behind it came
	seen   int64 // index of the first answer that showed it to a consumer
}

// span is a stretch of offsets [from, to).
type span struct{ from, to history.Offset }

// finalLog is a partition's log at the end of the run: what the final reads returned and, where no final read came by, what the
// replicas hold below their high watermarks. It also knows what it does not know: an offset that nothing covers is no evidence.
type finalLog struct {
	slots   []slot
	covered []span         // what final reads went through, ascending, not touching
	ended   bool           // a final read reached the end of a settled log: there is nothing from end on
	end     history.Offset // meaningful if ended
	read    int64          // index at which the first final read was invoked; later acknowledgements are not judged by it
	start   history.Offset // the lowest log start of the replicas that were dumped, never if none was
	begins  history.Offset // the log start that the final reads were told
	// assembled tells that nobody read it at the end: it is what all answers together showed, as of a history of Jepsen's.
	assembled bool
	fresh     []slot // committed records of replicas that no final read covers, until settleFresh
}

// next is the offset after o.
func next(o history.Offset) history.Offset {
	if o == math.MaxInt64 {
		return o
	}
	return o + 1
}

// trimmedTo is the log start: the one that the final reads were told, or, where there is none, the lowest of the replicas.
func (l *finalLog) trimmedTo() history.Offset {
	if l.read == never && l.start != never {
		return l.start
	}
	return l.begins
}

// addFinal takes in one final read that succeeded.
func (l *finalLog) addFinal(op *history.Op, settled bool) {
	l.read = min(l.read, op.InvokeIndex)
	l.assembled = op.Process < 0
	to := readTo(op.Position, op.Records)
	for i := range op.Records {
		r := &op.Records[i]
		l.slots = append(l.slots, slot{offset: r.Offset, value: r.Value, send: -1, seen: never})
	}
	if to > op.Position {
		if n := len(l.covered); n > 0 && l.covered[n-1].to == op.Position && l.covered[n-1].from <= op.Position {
			l.covered[n-1].to = to
		} else {
			l.covered = append(l.covered, span{op.Position, to})
		}
	}
	if settled && op.HW >= 0 && to >= op.HW {
		l.ended = true
		l.end = max(l.end, to)
	}
	l.begins = max(l.begins, op.LogStart)
}

// sortFinal puts what the final reads returned in order and calls apart for each offset with two values.
func (l *finalLog) sortFinal(apart func(o history.Offset, one, other string)) {
	byOffset := func(a, b slot) int { return cmp.Compare(a.offset, b.offset) }
	if !slices.IsSortedFunc(l.slots, byOffset) {
		slices.SortStableFunc(l.slots, byOffset)
	}
	kept := l.slots[:0]
	for _, s := range l.slots {
		if n := len(kept); n > 0 && kept[n-1].offset == s.offset {
			if kept[n-1].value != s.value {
				apart(s.offset, kept[n-1].value, s.value)
			}
			continue
		}
		kept = append(kept, s)
	}
	l.slots = kept
	l.covered = mergeSpans(l.covered)
}

func mergeSpans(in []span) []span {
	slices.SortFunc(in, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := in[:0]
	for _, s := range in {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// covers reports whether a final read went past o, or reached the log's end below it.
func (l *finalLog) covers(o history.Offset) bool {
	if l.ended && o >= l.end {
		return true
	}
	i := sort.Search(len(l.covered), func(i int) bool { return l.covered[i].to > o })
	return i < len(l.covered) && l.covered[i].from <= o
}

// search returns the first slot at o or after it. Logs are dense as a rule, so the place is guessed first.
func (l *finalLog) search(o history.Offset) int {
	if len(l.slots) == 0 || o <= l.slots[0].offset {
		return 0
	}
	if i := uint64(o) - uint64(l.slots[0].offset); i < uint64(len(l.slots)) && l.slots[i].offset == o {
		return int(i)
	}
	return sort.Search(len(l.slots), func(i int) bool { return l.slots[i].offset >= o })
}

// at returns the slot at o, or nil.
func (l *finalLog) at(o history.Offset) *slot {
	if i := l.search(o); i < len(l.slots) && l.slots[i].offset == o {
		return &l.slots[i]
	}
	return nil
}

// addDump compares a replica's committed records, those below bound, with the log, and takes in those that no final read covers.
// apart is called for an offset with two values; with dense it is also called where the replica has a hole (other is then "").
func (l *finalLog) addDump(d *history.Dump, bound history.Offset, dense bool, apart func(o history.Offset, one, other string)) {
	records := inOrder(d.Records)
	i := 0
	if len(records) > 0 {
		i = l.search(min(max(d.Start, 0), records[0].Offset))
	}
	for r := range records {
		rec := &records[r]
		if rec.Offset >= bound {
			break
		}
		if r > 0 && rec.Offset == records[r-1].Offset {
			if rec.Value != records[r-1].Value {
				apart(rec.Offset, records[r-1].Value, rec.Value)
			}
			continue
		}
		for i < len(l.slots) && l.slots[i].offset < rec.Offset {
			if dense {
				apart(l.slots[i].offset, l.slots[i].value, "")
			}
			i++
		}
		if i < len(l.slots) && l.slots[i].offset == rec.Offset {
			if l.slots[i].value != rec.Value {
				apart(rec.Offset, l.slots[i].value, rec.Value)
			}
			i++
			continue
		}
		l.fresh = append(l.fresh, slot{offset: rec.Offset, value: rec.Value, send: -1, seen: never})
	}
}

// inOrder are a replica's records in order of their offsets.
func inOrder(records []history.DumpRecord) []history.DumpRecord {
	byOffset := func(a, b history.DumpRecord) int { return cmp.Compare(a.Offset, b.Offset) }
	if !slices.IsSortedFunc(records, byOffset) {
		records = slices.Clone(records)
		slices.SortStableFunc(records, byOffset)
	}
	return records
}

// holes calls apart for each of the records that replicas alone hold, in order of their offsets, which one of them lacks between its own below
// bound.
func holes(alone []slot, d *history.Dump, bound history.Offset, apart func(o history.Offset, one, other string)) {
	records := inOrder(d.Records)
	i := 0
	for r := 0; r < len(records) && records[r].Offset < bound; r++ {
		for ; i < len(alone) && alone[i].offset < records[r].Offset; i++ {
			if alone[i].offset >= d.Start {
				apart(alone[i].offset, alone[i].value, "")
			}
		}
		if i < len(alone) && alone[i].offset == records[r].Offset {
			i++
		}
	}
}

// settleFresh puts in place what the replicas hold beyond the final reads, and returns it; apart is called for an offset with two values.
func (l *finalLog) settleFresh(apart func(o history.Offset, one, other string)) []slot {
	if len(l.fresh) == 0 {
		return nil
	}
	fresh := finalLog{slots: l.fresh}
	fresh.sortFinal(apart)
	l.slots, l.fresh = mergeSlots(l.slots, fresh.slots), nil
	return fresh.slots
}

func mergeSlots(a, b []slot) []slot {
	out := make([]slot, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].offset < b[0].offset {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	out = append(out, a...)
	return append(out, b...)
}
