package checker

import (
	"cmp"
	"slices"
	"strconv"

	"tidemark/history"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// rank is an anomaly's place between cause and consequence: that of its class in Rules, twice, so that there is room between two classes.
func (a *anomaly) rank() int {
	switch {
	case a.class == TwoValues && !a.apart && !a.both:
		return 2*rules[LostWrite] + 1 // clients were told of two because the first was lost
	case a.class == Duplicate && !a.once:
		return 2*rules[SeenBySome] + 1 // a producer's doing: it explains nothing that is wrong at the offset
	}
	return 2 * rules[a.class]
}

// implied is the anomalies of one class that follow from another.
type implied struct {
	first anomaly
	count int
	ops   []int64
}

// fold puts each anomaly under the one that it follows from: the first, in the order of Rules, that concerns the same record or the same
// offset; of a read below a log start that nobody asked for, a loss below it; of a high watermark that went back, a record in between that is lost; of a stale read, the high watermark that went back in that
// answer. What stands under another has nothing under it itself. Several sightings of one anomaly are one.
//
// Two acknowledged writes that were both lost at one offset are two losses; so are two acknowledgements that name one wrong offset, and two
// copies of different values.
func (c *logCheck) fold(in []anomaly) []anomaly {
	slices.SortStableFunc(in, func(a, b anomaly) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.offset, b.offset))
	})
	out := in[:0]
	offsets, sends := map[history.Offset]int{}, map[int32]int{} // the finding that an offset or a send belongs to
	for i, a := range in {
		if i > 0 && a.part != in[i-1].part {
			clear(offsets)
			clear(sends)
		}
		if at, ok := c.cause(out, &a, offsets, sends); ok {
			c.imply(&out[at], &a)
			continue
		}
		at := len(out)
		if _, taken := offsets[a.offset]; !taken && a.offset >= 0 {
			offsets[a.offset] = at
		}
		if _, taken := sends[a.send]; !taken && a.send >= 0 {
			sends[a.send] = at
		}
		out = append(out, a)
	}
	return out
}

// cause finds the anomaly that another follows from.
func (c *logCheck) cause(out []anomaly, a *anomaly, offsets map[history.Offset]int, sends map[int32]int) (at int, ok bool) {
	violation := c.severity(a) == Violation
	try := func(i int, known bool) {
		if known && violation && c.severity(&out[i]) != Violation {
			return // what is allowed excuses nothing
		}
		if known && (!ok || i < at) && !(out[i].class == a.class && apiece(a.class) && out[i].send != a.send) {
			at, ok = i, true
		}
	}
	if a.offset >= 0 {
		i, known := offsets[a.offset]
		try(i, known)
	}
	if a.send >= 0 && (a.class != Duplicate || a.once) { // a copy of a retry is what its producer did
		i, known := sends[a.send]
		try(i, known)
	}
	if by := a.op; (a.class == RealtimeOrder || a.class == NonmonotonicSend) && by >= 0 {
		i, known := sends[by]
		try(i, known && out[i].class != a.class)
	}
	if a.below && a.class != LostWrite {
		for i := len(out) - 1; i >= 0 && out[i].part == a.part; i-- {
			try(i, out[i].below && out[i].class == LostWrite)
		}
	}
	if a.class == HWBack {
		for i := len(out) - 1; i >= 0 && out[i].part == a.part; i-- {
			taken := out[i].class == LostWrite || out[i].class == UncommittedRead
			try(i, taken && a.offset <= out[i].offset && out[i].offset < a.upto)
		}
	}
	if a.class == StaleRead && a.more <= 1 { // the answer that carried a high watermark from before
		for i := len(out) - 1; i >= 0 && out[i].part == a.part; i-- {
			try(i, out[i].class == HWBack && out[i].op == a.op)
		}
	}
	return at, ok
}

// apiece tells the classes of which each send has an anomaly of its own, also at one offset.
func apiece(class Class) bool {
	return class == LostWrite || class == AckOffsetMismatch || class == Duplicate
}

// imply enters an anomaly under another; a further sighting of the same one adds nothing but its operations.
func (c *logCheck) imply(cause, a *anomaly) {
	if cause.class == a.class {
		return
	}
	i := slices.IndexFunc(cause.implied, func(m implied) bool { return m.first.class == a.class })
	if i < 0 {
		i = len(cause.implied)
		cause.implied = append(cause.implied, implied{first: *a})
	}
	m := &cause.implied[i]
	m.count += max(1, a.more)
	m.ops = c.opsOf(m.ops, a)
}

// group is anomalies of one class with one cause.
type group struct {
	first   anomaly
	count   int
	ops     []int64
	implied []implied
}

// witnessOps bounds how many operations a finding names.
const witnessOps = 16

// opsOf adds the operations that prove an anomaly.
func (c *logCheck) opsOf(ops []int64, a *anomaly) []int64 {
	for _, op := range []int32{a.send, a.op} {
		if op >= 0 && len(ops) < witnessOps {
			ops = append(ops, c.h.Ops[op].ID)
		}
	}
	return ops
}

// groups puts together the anomalies of one class on one partition that one step caused; cause names that step.
func (c *logCheck) groups(in []anomaly, cause func(*anomaly) int64) []*group {
	type key struct {
		class Class
		part  int32
		cause int64
		apart bool
		once  bool
	}
	byKey := map[key]*group{}
	var out []*group
	for i := range in {
		a := &in[i]
		k := key{a.class, a.part, cause(a), a.apart, a.once}
		g := byKey[k]
		if g == nil {
			g = &group{first: *a}
			byKey[k] = g
			out = append(out, g)
		}
		g.count += max(1, a.more)
		g.ops = c.opsOf(g.ops, a)
		g.imply(a.implied)
	}
	return out
}

// imply adds what follows from a further anomaly of the group.
func (g *group) imply(more []implied) {
	for _, m := range more {
		i := slices.IndexFunc(g.implied, func(x implied) bool { return x.first.class == m.first.class })
		if i < 0 {
			g.implied = append(g.implied, m)
			continue
		}
		x := &g.implied[i]
		x.count += m.count
		x.ops = append(x.ops, m.ops[:min(len(m.ops), max(0, witnessOps-len(x.ops)))]...)
	}
}
