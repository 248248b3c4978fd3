package linear

import (
	"cmp"
	"math"
	"slices"

	"tidemark/history"
)

// What is taken over from other operations than the one at hand, all of it from what clients saw:
//
// An unknown write that somebody saw is an append at the offset of its first sighting, by when it must have taken effect: it ends where the
// first answer that showed it returned. That loses nothing, as it stands before that answer in any order.
//
// An unknown write that nobody saw is left out. Offsets may be left out, so without it what is an order stays one; and where there is one
// without it, it may be said never to have taken effect. The same goes for an acknowledged write whose offset nobody told and nobody saw.
//
// Where the contract lets acknowledged writes go, one counts only if its value was seen at its offset.
//
// A value that a retry may have repeated, or that was sent more than once, has an append at each offset where it was seen; which of the sends
// put it there is not known, so each may have been on its way from the first one's invocation on.
//
// A write that failed has no append, so an answer that shows it has no order.

// partition is one partition's operations as the second judge needs them.
type partition struct {
	name      history.Partition
	sends     []*history.Op  // that may have taken effect, by invocation
	polls     []*history.Op  // that succeeded, by return
	appends   []*appended    // by offset
	reads     []*read        // as polls
	removable history.Offset // below it DeleteRecords may have removed records
}

// appended is a record that is known to have come into the log, and when: between call and end, both indices of the journal.
type appended struct {
	op        *history.Op
	offset    history.Offset
	call, end int64
	rank      int32 // its place among those of its window, by offset
}

// read is an answer with what it says of the log.
type read struct {
	op    *history.Op
	floor history.Offset // it went through the log from here
	to    edge           // up to here
	whole bool           // between them it left nothing out
	ends  bool           // and there is nothing behind
	// disordered says that offsets in it do not rise, or begin below the one asked for: no log answers so.
	disordered bool
}

// edge is an offset, or the one behind the last that there can be.
type edge uint64

// after is the edge behind an offset.
func after(o history.Offset) edge { return edge(o) + 1 }

// gather sorts a history's operations by partition, in order of first use.
func gather(h *history.History, q Question) []*partition {
	var out []*partition
	index := map[history.Partition]*partition{}
	for i := range h.Ops {
		op := &h.Ops[i]
		p := index[op.Partition]
		if p == nil {
			p = &partition{name: op.Partition}
			index[op.Partition] = p
			out = append(out, p)
		}
		switch {
		case op.Kind == history.Send && op.Outcome != history.Fail:
			p.sends = append(p.sends, op)
		case op.Kind == history.Poll && op.Outcome == history.OK:
			p.polls = append(p.polls, op)
		case op.Kind == history.DeleteRecords && op.Outcome != history.Fail:
			p.removable = max(p.removable, removes(op))
		}
	}
	rested := rested(h)
	for _, p := range out {
		slices.SortStableFunc(p.polls, func(a, b *history.Op) int { return cmp.Compare(a.ReturnIndex, b.ReturnIndex) })
		p.place(q)
		p.interpret(q, rested)
	}
	return out
}

// removes is the offset below which a DeleteRecords may have removed records.
func removes(op *history.Op) history.Offset {
	switch {
	case op.Position >= 0:
		return op.Position
	case op.Outcome == history.OK:
		return op.LogStart
	}
	return math.MaxInt64 // all that was committed, and nobody was told how far
}

// rested reports whether the final reads met a log at rest: a settling that did not fail and that something followed.
func rested(h *history.History) bool {
	last := -1
	for i := range h.Marks {
		if h.Marks[i].Name == "settle" {
			if h.Marks[i].Failed {
				return false
			}
			last = i
		}
	}
	return last >= 0 && last < len(h.Marks)-1
}

// claim is a value whose place must be seen to be known.
type claim struct {
	first *history.Op   // its first send
	sends int           // how many places may yet be its sends'
	acks  []*history.Op // those of its sends that count only where they are seen at the offset of their acknowledgement
	end   int64         // index by which its send is known to have taken effect, -1 if only sightings tell
}

// unlimited is more places than a value can have.
const unlimited = math.MaxInt

// spot is a value at an offset.
type spot struct {
	offset history.Offset
	value  string
}

// place finds the appends.
func (p *partition) place(q Question) {
	claims, placed := p.claims(q)
	if len(claims) > 0 {
		for _, op := range p.polls {
			for i := range op.Records {
				r := &op.Records[i]
				c := claims[r.Value]
				if c == nil {
					continue
				}
				at := spot{r.Offset, r.Value}
				if _, known := placed[at]; known {
					continue
				}
				if a := c.explain(at.offset, op.ReturnIndex); a != nil {
					placed[at] = struct{}{}
					p.appends = append(p.appends, a)
				}
			}
		}
	}
	slices.SortStableFunc(p.appends, func(a, b *appended) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.call, b.call))
	})
}

// explain is the append that put the claim's value at an offset where an answer that returned at seen showed it first; nil if none can have.
func (c *claim) explain(o history.Offset, seen int64) *appended {
	for _, op := range c.acks {
		if op.Offset == o {
			return &appended{op: op, offset: o, call: op.InvokeIndex, end: op.ReturnIndex}
		}
	}
	if c.sends == 0 {
		return nil
	}
	a := &appended{op: c.first, offset: o, call: c.first.InvokeIndex, end: seen}
	if c.sends == 1 && c.end >= 0 {
		a.end = c.end
	}
	if c.sends != unlimited {
		c.sends--
	}
	a.end = max(a.end, a.call) // one that was seen before it was sent has no order: the answer comes first
	return a
}

// claims enters the appends that acknowledgements tell, and finds the values whose places are to be seen. placed holds the places known by
// then of those values.
func (p *partition) claims(q Question) (claims map[string]*claim, placed map[spot]struct{}) {
	claims, placed = map[string]*claim{}, map[spot]struct{}{}
	for _, op := range p.sends {
		acked := op.Outcome == history.OK && op.Acks != 0
		known := acked && op.Offset >= 0
		repeats := q.Repeats != nil && q.Repeats(op)
		if known && q.Durable {
			p.appends = append(p.appends, &appended{op: op, offset: op.Offset, call: op.InvokeIndex, end: op.ReturnIndex})
			if !repeats {
				continue
			}
		}
		c := claims[op.Value]
		if c == nil {
			c = &claim{first: op, end: -1}
			claims[op.Value] = c
		} else {
			c.end = -1
		}
		switch {
		case repeats:
			c.sends = unlimited
		case !known && c.sends != unlimited:
			c.sends++
			if acked && c.sends == 1 && len(c.acks) == 0 {
				c.end = op.ReturnIndex
			}
		}
		if known && !q.Durable {
			c.acks = append(c.acks, op)
		}
	}
	if q.Durable && len(claims) > 0 {
		for _, a := range p.appends {
			if claims[a.op.Value] != nil {
				placed[spot{a.offset, a.op.Value}] = struct{}{}
			}
		}
	}
	return claims, placed
}

// interpret finds what each answer says. Consumers may be served an older state of the log, so only a final read of a log at rest that came to
// the high watermark says where the log ends. (An earlier one of them may have missed a write that was still on its way: the one that got
// furthest counts.)
func (p *partition) interpret(q Question, rested bool) {
	furthest := edge(0)
	for _, op := range p.polls {
		r := &read{op: op, floor: max(op.Position, 0), to: edge(max(op.Position, 0)), whole: q.Dense}
		least := r.to
		for i := range op.Records {
			o := op.Records[i].Offset
			if o < 0 || edge(o) < least {
				r.disordered = true
				continue
			}
			least = after(o)
			r.to = least
		}
		if op.Final && op.LogStart > 0 && op.Position <= op.LogStart {
			r.floor = min(r.floor, p.removable) // a log that begins later lost what was before, unless it was to be removed
		}
		if op.Final {
			furthest = max(furthest, r.to)
			r.ends = rested && op.HW >= 0 && r.to >= edge(op.HW)
		}
		p.reads = append(p.reads, r)
	}
	for _, r := range p.reads {
		r.ends = r.ends && r.to == furthest
	}
}
