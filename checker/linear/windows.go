package linear

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"tidemark/history"
)

// A window ends at the first quiet moment, with nothing in flight, once it has a few operations; a partition that is never quiet is cut after
// some more, between any two entries of the journal.
//
// Why nothing is lost by it. A read asserts only what stands at offsets below the log's end, and what stands there stays; so where an order
// exists, one exists in which the read is made at the instant of its return, and one in which any append is made earlier, if not before its
// invocation nor before its predecessors in the log. An append whose interval reaches over a cut may therefore be taken for made before the
// cut if it and all appends at smaller offsets were called before; if not, it cannot have been. So each append has one window: that of its own
// call, or of the latest call among those below it. Where that would be after its end there is no order, and the append stays in the window
// of its end, where it meets a log that lacks those below it, or one below it meets a log that goes further: porcupine objects there.
// An unknown write, which nothing ends but its first sighting, is carried over cuts in the same way.
//
// The final read that tells where the log ends asserts that appends at and behind its end are not yet made. No cut goes through it, and no
// append behind its end goes to a window before its own.
type sizes struct {
	least int // operations of a window that ends at a quiet moment
	most  int // and of one that ends at any
}

// usual keeps the set that porcupine copies with each step small.
var usual = sizes{least: 64, most: 192}

// window is one question to porcupine.
type window struct {
	from, to int64 // indices of the journal: it holds what returned from from on, before to
	appends  []*appended
	reads    []*read
}

func (w *window) size() int { return len(w.appends) + len(w.reads) }

// flight is the beginning or the end of an operation.
type flight struct {
	index int64
	begun int8 // 1 or -1
	whole bool // no cut goes through it
}

// windows cuts a partition.
func (p *partition) windows(size sizes) []*window {
	out := cut(p.flights(), size)
	at := func(index int64) int { // the window of a moment
		return sort.Search(len(out)-1, func(i int) bool { return out[i].to > index })
	}
	for _, r := range p.reads {
		w := out[at(r.op.ReturnIndex)]
		w.reads = append(w.reads, r)
	}
	ends := make([]*read, 0, 1)
	for _, r := range p.reads {
		if r.ends {
			ends = append(ends, r)
		}
	}
	least := 0
	for _, a := range p.appends {
		for len(ends) > 0 && ends[0].to <= edge(a.offset) { // they all have the same end
			least = max(least, at(ends[0].op.ReturnIndex))
			ends = ends[1:]
		}
		least = max(least, at(a.call))
		w := out[min(least, at(a.end))]
		a.rank = int32(len(w.appends))
		w.appends = append(w.appends, a)
	}
	return slices.DeleteFunc(out, func(w *window) bool { return w.size() == 0 })
}

// flights lists when operations began and ended whose outcome is known, in order; of an unknown write only that it began.
func (p *partition) flights() []flight {
	out := make([]flight, 0, 2*(len(p.sends)+len(p.reads)))
	for _, op := range p.sends {
		if op.Outcome == history.OK {
			out = append(out, flight{op.InvokeIndex, 1, false}, flight{op.ReturnIndex, -1, false})
		}
	}
	for _, r := range p.reads {
		out = append(out, flight{r.op.InvokeIndex, 1, r.ends}, flight{r.op.ReturnIndex, -1, r.ends})
	}
	slices.SortFunc(out, func(a, b flight) int { return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(b.begun, a.begun)) })
	return out
}

// cut finds the windows, empty as yet. There is one at least.
func cut(flights []flight, size sizes) []*window {
	var out []*window
	from := int64(0)
	open, openWhole, ended := 0, 0, 0
	for i, f := range flights {
		open += int(f.begun)
		if f.whole {
			openWhole += int(f.begun)
		}
		if f.begun < 0 {
			ended++
		}
		if i+1 < len(flights) && flights[i+1].index > f.index && openWhole == 0 &&
			(open == 0 && ended >= size.least || ended >= size.most) {
			out = append(out, &window{from: from, to: f.index + 1})
			from, ended = f.index+1, 0
		}
	}
	last := from
	if len(flights) > 0 {
		last = flights[len(flights)-1].index + 1
	}
	return append(out, &window{from: from, to: last})
}

// operations puts a window in porcupine's terms. A read is an instant, its return; drawn, it has its length, as far as it is in the window.
func (w *window) operations(drawn bool) []porcupine.Operation {
	out := make([]porcupine.Operation, 0, w.size())
	for _, a := range w.appends {
		out = append(out, porcupine.Operation{Input: a, Call: a.call, Return: a.end})
	}
	for _, r := range w.reads {
		call := r.op.ReturnIndex
		if drawn || r.ends {
			call = max(r.op.InvokeIndex, w.from)
		}
		out = append(out, porcupine.Operation{Input: r, Call: call, Return: r.op.ReturnIndex})
	}
	return out
}

// stuck tells a window that no order explains, by the operations that are left of it at the end of the longest order that porcupine finds. It is
// asked again for that, as it takes no notes of a window that it finds in order.
func (w *window) stuck(m *model, p history.Partition, bound time.Duration) Stretch {
	s := w.stretch(p)
	if !s.Drawable() {
		return s
	}
	ops := w.operations(false)
	_, info := porcupine.CheckOperationsVerbose(m.porcupine(), ops, bound)
	var longest []int
	for _, orders := range info.PartialLinearizations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := make([]bool, len(ops))
	for _, id := range longest {
		placed[id] = true
	}
	var left []int64
	for i := range ops {
		if placed[i] {
			continue
		}
		switch in := ops[i].Input.(type) {
		case *appended:
			left = append(left, in.op.ID)
		case *read:
			left = append(left, in.op.ID)
		}
	}
	s.Ops = named(left)
	return s
}

// named are operations as a stretch names them.
func named(ops []int64) []int64 {
	slices.Sort(ops)
	ops = slices.Compact(ops)
	return slices.Clone(ops[:min(len(ops), stretchOps)])
}

// stretch tells a window.
func (w *window) stretch(p history.Partition) Stretch {
	s := Stretch{Partition: p, From: w.from, To: w.to, Offset: history.UnknownOffset, End: history.UnknownOffset, Count: w.size()}
	for _, a := range w.appends {
		s.Ops = append(s.Ops, a.op.ID)
	}
	if n := len(w.appends); n > 0 {
		s.Offset, s.End = w.appends[0].offset, history.Offset(min(after(w.appends[n-1].offset), math.MaxInt64))
	}
	for _, r := range w.reads {
		s.Ops = append(s.Ops, r.op.ID)
	}
	s.Ops = named(s.Ops)
	return s
}
