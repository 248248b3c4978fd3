package history

import (
	"cmp"
	"slices"
	"time"
)

// order puts entries that were recorded late where they happened: brokers in containers are asked for their protocol steps, so that the
// journal holds a step after what came of it, and who looks at the cluster records that after another who looked later. Indices are given anew, in order of time and, where times are equal, of the journal.
func (h *History) order() {
	type entry struct {
		time time.Duration
		old  int64
	}
	var all []entry
	h.each(func(index *int64, at time.Duration) { all = append(all, entry{at, *index}) })
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.old, b.old)) })
	anew := make(map[int64]int64, len(all))
	for i, e := range all {
		anew[e.old] = int64(i)
	}
	h.each(func(index *int64, _ time.Duration) { *index = anew[*index] })
	slices.SortFunc(h.States, func(a, b ClusterState) int { return cmp.Compare(a.Index, b.Index) })
	slices.SortFunc(h.Steps, func(a, b Step) int { return cmp.Compare(a.Index, b.Index) })
}

// each visits every entry's index and time.
func (h *History) each(visit func(index *int64, at time.Duration)) {
	for i := range h.Ops {
		op := &h.Ops[i]
		visit(&op.InvokeIndex, op.Invoke)
		if op.Outcome != Pending {
			visit(&op.ReturnIndex, op.Return)
		}
	}
	for i := range h.Faults {
		visit(&h.Faults[i].Index, h.Faults[i].Time)
	}
	for i := range h.States {
		visit(&h.States[i].Index, h.States[i].Time)
	}
	for i := range h.Steps {
		visit(&h.Steps[i].Index, h.Steps[i].Time)
	}
	for i := range h.Dumps {
		visit(&h.Dumps[i].Index, h.Dumps[i].Time)
	}
	for i := range h.Marks {
		visit(&h.Marks[i].Index, h.Marks[i].Time)
	}
}
