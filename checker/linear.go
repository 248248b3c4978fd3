package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"tidemark/history"
)

// The second judge asks porcupine whether each partition is a linearizable log. It shares nothing with the log checker but the history: it
// works forward from real time, not backward from the end.
//
// The model. A partition is a sequence of records; every append has a known offset (of its acknowledgement, or where it was seen), so the
// sequence's order is given and the state is a number: how many of the records, in order of offset, are written. An append is legal when
// its rank is that number. Gaps between offsets are legal (control records). Two values at one offset have one rank, and only one can be
// appended: the other is never legal.
//
// Reads. A stale read is legal; a read asserts only that its records were appended before it returned. Once true that stays true, so the read may
// as well take place at the instant of its return: an operation without length. Of several reads of one record the first to return implies
// the others, so only a record's first sighting is asked. A final read asserts more: between its position and its end there is nothing else.
//
// Unknown writes. One that was seen took effect before the first answer that showed it returned; ending it there loses nothing, as any
// linearization must put it before that answer anyhow. One that nobody ever saw is left out: since gaps are legal, taking it out of a
// linearization leaves a linearization, and where there is one without it, it may be said never to have taken effect. The same goes for an
// acknowledged write that named no offset and was never seen.
//
// Copies. A value whose producer retries may stand more than once. Each copy that was seen is an append of its own: the one at the offset of
// the acknowledgement took effect before that, any other between the send's invocation and the first answer that showed it.
//
// Windows. Porcupine's memory grows with the square of the operations, so it gets a window at a time: windowAppends ranks and the reads that
// depend on them. No quiet moment is needed. Appends happen in order of rank, each as early as may be: the earliest moment by which all ranks of
// earlier windows can be written is the latest of their invocations, and a history that is linearizable at all is so with them written at that
// moment (moving an append earlier, not before its invocation nor before its predecessors, never hurts a read, which only asks for
// "already written"). So a window begins with an operation without length at that moment that writes what came before, and everything in it
// must come after. If an append of the window returned before that moment, or a read did, porcupine finds no order and objects.

// windowAppends is how many appends one window holds.
const windowAppends = 128

// rankedRead is a sighting in terms of ranks.
type rankedRead struct {
	rank  int32
	right bool // an append put the value that was seen there
}

// The inputs that porcupine's model sees.
type (
	begin   struct{ written int32 }
	appends struct{ rank int32 }
	reads   struct{ records []rankedRead }
	exact   struct{ holds bool } // a final read, already compared with the appends in its range
)

// windowModel is the log as porcupine checks it. Its state is how many records are written, -1 before the window's first operation. steps is
// the budget that is left; with none left every step is refused and the outcome means nothing.
func windowModel(steps *int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int32(-1) },
		Step: func(state, input, _ any) (bool, any) {
			if *steps <= 0 {
				return false, state
			}
			*steps--
			written := state.(int32)
			switch in := input.(type) {
			case begin:
				return written == -1, in.written
			case appends:
				return written == in.rank, in.rank + 1
			case reads:
				for _, r := range in.records {
					if !r.right || r.rank >= written || written < 0 {
						return false, state
					}
				}
				return true, state
			case exact:
				return in.holds && written >= 0, state
			}
			return false, state
		},
		Hash: func(state any) uint64 { return uint64(uint32(state.(int32))) * 0x9e3779b97f4a7c15 },
	}
}

// judgement is what the second judge says of a history.
type judgement struct {
	second  Second
	objects []objection
}

// objection is a window that is not linearizable.
type objection struct {
	partition  history.Partition
	from, to   history.Offset
	operations []int64
}

// judgeLinear lets porcupine judge a history within a budget of model steps. The budget is counted, not timed, so the outcome repeats.
//
// dense says that brokers remove no old records; otherwise a final read may leave out what was there. repeatable tells the sends whose
// value a retry may have put into the log more than once, nil if there are none.
func judgeLinear(h *history.History, dense bool, repeatable func(*history.Op) bool, steps int) judgement {
	if steps <= 0 {
		return judgement{second: Second{Outcome: NotAsked}}
	}
	j := judgement{second: Second{Outcome: Agrees, Budget: fmt.Sprintf("%d model steps", steps)}}
	for _, p := range gatherLinear(h, repeatable) {
		p.rank()
		if !dense {
			p.finals = nil
		}
		for _, w := range p.windows() {
			j.second.Windows++
			ok := steps > 0 && porcupine.CheckOperations(windowModel(&steps), w.ops)
			switch {
			case steps <= 0:
				j.second.Unknown++
			case !ok:
				j.objects = append(j.objects, objection{p.name, w.from, w.to, sortOps(w.ids)})
			}
		}
	}
	switch {
	case len(j.objects) > 0:
		j.second.Outcome = Objects
	case j.second.Unknown > 0:
		j.second.Outcome = OutOfBudget
	}
	return j
}

// linear is one partition's operations as the second judge needs them.
type linear struct {
	name    history.Partition
	settled bool
	writes  []linearWrite
	sights  []linearSight            // first sightings only
	at      map[history.Offset]int32 // 1 + the last of an offset's sightings; they are chained
	value   map[string]int32         // of each value whose offset no acknowledgement told: 1 + its first sighting, 0 for none
	finals  []*history.Op
	// furthest is the offset that the final reads came to.
	furthest history.Offset
	offsets  []history.Offset // by rank
}

// linearWrite is an append with an interval and an offset.
type linearWrite struct {
	op        *history.Op
	offset    history.Offset
	call, ret int64
	rank      int32
}

// linearSight is a first sighting.
type linearSight struct {
	op     *history.Op
	value  string
	offset history.Offset
	other  int32 // 1 + another sighting of the offset, with another value
}

// see enters a sighting unless an earlier answer showed the same.
func (p *linear) see(op *history.Op, r *history.Record) {
	for i := p.at[r.Offset]; i != 0; i = p.sights[i-1].other {
		if p.sights[i-1].value == r.Value {
			return
		}
	}
	p.sights = append(p.sights, linearSight{op, r.Value, r.Offset, p.at[r.Offset]})
	n := int32(len(p.sights))
	p.at[r.Offset] = n
	if first, wanted := p.value[r.Value]; wanted && first == 0 {
		p.value[r.Value] = n
	}
}

// gatherLinear sorts a history's operations by partition, in order of first use.
func gatherLinear(h *history.History, repeatable func(*history.Op) bool) []*linear {
	settled := settled(h)
	var out []*linear
	index := map[history.Partition]*linear{}
	at := func(name history.Partition) *linear {
		p := index[name]
		if p == nil {
			p = &linear{name: name, settled: settled, at: map[history.Offset]int32{}, value: map[string]int32{}}
			index[name] = p
			out = append(out, p)
		}
		return p
	}
	var polls []*history.Op
	for i := range h.Ops {
		switch op := &h.Ops[i]; {
		case op.Kind == history.Send && (!told(op) || op.Offset < 0):
			at(op.Partition).value[op.Value] = 0
		case op.Kind == history.Poll && op.Outcome == history.OK:
			polls = append(polls, op)
			if op.Final {
				p := at(op.Partition)
				p.finals = append(p.finals, op)
				p.furthest = max(p.furthest, readTo(op))
			}
		}
	}
	slices.SortStableFunc(polls, func(a, b *history.Op) int { return cmp.Compare(a.ReturnIndex, b.ReturnIndex) })
	for _, op := range polls {
		p := at(op.Partition)
		for r := range op.Records {
			p.see(op, &op.Records[r])
		}
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Kind == history.Send && op.Outcome != history.Fail {
			at(op.Partition).write(op)
		}
	}
	if repeatable != nil {
		for _, p := range out {
			p.copies(repeatable)
		}
	}
	return out
}

// copies enters an append for every sighting of a value elsewhere than where its send is known to have put it.
func (p *linear) copies(repeatable func(*history.Op) bool) {
	sent := map[string]*linearWrite{}
	for i := range p.writes {
		if w := &p.writes[i]; repeatable(w.op) {
			sent[w.op.Value] = w
		}
	}
	var more []linearWrite
	for i := range p.sights {
		s := &p.sights[i]
		if w := sent[s.value]; w != nil && s.offset != w.offset {
			more = append(more, linearWrite{op: w.op, offset: s.offset, call: w.call, ret: s.op.ReturnIndex})
		}
	}
	p.writes = append(p.writes, more...)
}

// told reports whether the log acknowledged a send.
func told(op *history.Op) bool { return op.Outcome == history.OK && op.Acks != 0 }

// write enters an append whose offset is known.
func (p *linear) write(op *history.Op) {
	w := linearWrite{op: op, offset: op.Offset, call: op.InvokeIndex, ret: op.ReturnIndex}
	if !told(op) || op.Offset < 0 {
		first := p.value[op.Value]
		if first == 0 {
			return
		}
		s := &p.sights[first-1]
		w.offset = s.offset
		if !told(op) {
			w.ret = s.op.ReturnIndex
		}
	}
	p.writes = append(p.writes, w)
}

// rank numbers the offsets that hold a record; equal offsets have equal ranks. Two appends at one offset are enough to object to, so more of
// them are dropped, which bounds a window.
func (p *linear) rank() {
	p.at, p.value = nil, nil
	slices.SortStableFunc(p.writes, func(a, b linearWrite) int { return cmp.Compare(a.offset, b.offset) })
	kept := p.writes[:0]
	for _, w := range p.writes {
		n := len(kept)
		if n > 1 && kept[n-2].offset == w.offset {
			continue
		}
		if n == 0 || kept[n-1].offset != w.offset {
			p.offsets = append(p.offsets, w.offset)
		}
		w.rank = int32(len(p.offsets) - 1)
		kept = append(kept, w)
	}
	p.writes = kept
	slices.SortStableFunc(p.sights, func(a, b linearSight) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.op.ReturnIndex, b.op.ReturnIndex))
	})
}

// window is one question to porcupine.
type window struct {
	ops      []porcupine.Operation
	ids      []int64
	from, to history.Offset
}

func (w *window) add(call, ret int64, input any) {
	w.ops = append(w.ops, porcupine.Operation{Input: input, Call: call, Return: ret})
}

// windows cuts a partition into questions. Final reads come after everything, in windows of their own.
func (p *linear) windows() []*window {
	var out []*window
	sights := p.sights
	earliest := int64(-1)
	for from := 0; from < len(p.writes) || len(sights) > 0; {
		to := min(from+windowAppends, len(p.writes))
		for to < len(p.writes) && to > from && p.writes[to].rank == p.writes[to-1].rank {
			to++ // equal offsets stay together
		}
		w := &window{}
		before := int32(len(p.offsets))
		if from < len(p.writes) {
			before = p.writes[from].rank
			w.from = p.writes[from].offset
		}
		w.add(earliest, earliest, begin{before})
		for _, a := range p.writes[from:to] {
			w.to = a.offset
			w.ids = append(w.ids, a.op.ID)
			w.add(a.call, max(a.call, a.ret), appends{a.rank})
			earliest = max(earliest, a.call)
		}
		last := to == len(p.writes)
		n := 0
		for n < len(sights) && (last || sights[n].offset < p.writes[to].offset) {
			n++
		}
		w.reads(p, sights[:n])
		sights = sights[n:]
		out = append(out, w)
		from = to
	}
	for finals := p.finals; len(finals) > 0; {
		n := min(windowAppends, len(finals))
		w := &window{to: history.UnknownOffset}
		w.add(earliest, earliest, begin{int32(len(p.offsets))})
		w.finals(p, finals[:n], earliest)
		out, finals = append(out, w), finals[n:]
	}
	return out
}

// reads adds sightings, those of one answer as one operation. One that no append explains is enough to object to, so the rest is left.
func (w *window) reads(p *linear, sights []linearSight) {
	at := map[*history.Op]int{} // place in ops of each answer's operation
	for _, s := range sights {
		r := p.explain(s.offset, s.value)
		i, ok := at[s.op]
		if !ok {
			i = len(w.ops)
			at[s.op] = i
			w.add(s.op.ReturnIndex, s.op.ReturnIndex, reads{})
			w.ids = append(w.ids, s.op.ID)
		}
		in := w.ops[i].Input.(reads)
		in.records = append(in.records, r)
		w.ops[i].Input = in
		if !r.right {
			return
		}
	}
}

// explain finds the append that put a value at an offset.
func (p *linear) explain(o history.Offset, value string) rankedRead {
	i, _ := slices.BinarySearchFunc(p.writes, o, func(w linearWrite, o history.Offset) int { return cmp.Compare(w.offset, o) })
	for ; i < len(p.writes) && p.writes[i].offset == o; i++ {
		if p.writes[i].op.Value == value {
			return rankedRead{p.writes[i].rank, true}
		}
	}
	return rankedRead{}
}

// finals adds final reads: each must hold exactly the appends of its range, and nothing follows the one that reached furthest in a settled
// log. (An earlier one may have missed a write that was still on its way.) A read that returned before the last write was sent is left out.
func (w *window) finals(p *linear, finals []*history.Op, earliest int64) {
	for _, op := range finals {
		if op.ReturnIndex < earliest {
			continue
		}
		to := readTo(op)
		lo, _ := slices.BinarySearch(p.offsets, op.Position)
		hi, _ := slices.BinarySearch(p.offsets, to)
		if p.settled && op.HW >= 0 && to >= op.HW && to == p.furthest {
			hi = len(p.offsets)
		}
		w.add(op.ReturnIndex, op.ReturnIndex, exact{max(hi-lo, 0) == len(op.Records)})
		w.ids = append(w.ids, op.ID)
		w.from, w.to = min(w.from, op.Position), max(w.to, to)
	}
}

// readTo is the offset after the last that a read returned, its position if it returned none.
func readTo(op *history.Op) history.Offset {
	to := op.Position
	for i := range op.Records {
		to = max(to, next(op.Records[i].Offset))
	}
	return to
}

// linearFindings are the objections on partitions where the log checker was silent, one a partition.
func linearFindings(j judgement, found []Finding) []Finding {
	var out []Finding
	for _, o := range j.objects {
		same := func(f Finding) bool { // where all is promised only copies of a retry are allowed, and those are in the model
			return f.Partition == o.partition && f.Severity == Violation && f.Class != InvariantBroken && f.Class != NotSettled
		}
		if slices.ContainsFunc(found, same) {
			continue
		}
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Count++
			continue
		}
		out = append(out, Finding{Class: Nonlinearizable, Severity: Violation, Partition: o.partition, Offset: o.from, Count: 1,
			Ops: o.operations[:min(len(o.operations), witnessOps)], Signature: string(Nonlinearizable),
			Witness: Witness{Offset: o.from, Producer: -1, Acked: -1, AckedBy: history.NoBroker, AckEpoch: -1},
			Text: fmt.Sprintf("No order of the %d operations on %v from offset %d to %d makes a log in real time; the log checker saw nothing wrong.",
				len(o.operations), o.partition, o.from, o.to)})
	}
	return out
}
