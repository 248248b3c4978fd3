package checker

import (
	"cmp"
	"slices"
	"strconv"

	"tidemark/history"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// precedence orders classes from cause to consequence: of several anomalies at one offset of a partition only the first is told.
//
// What the log itself got wrong about a record comes first (a phantom, a failed write, a second copy), as whatever stood there is gone by it;
// then replicas that hold different values; then the acknowledged write that is missing or elsewhere; then clients that were told two
// values; then the read that was taken back because of it; then what follows for order and for consumers (an answer that goes back to what it
// left out goes back).
var precedence = map[Class]int{
	Phantom: 0, AbortedRead: 1, Duplicate: 2, TwoValues: 3, AckOffsetMismatch: 4, LostWrite: 5,
	UncommittedRead: 7, RealtimeOrder: 8, NonmonotonicPoll: 9, PollSkip: 10,
}

func (a *anomaly) rank() int {
	switch {
	case a.class == TwoValues && !a.apart:
		return 6
	case a.class == Duplicate && !a.once:
		return 11 // a producer's doing: it explains nothing that is wrong at the offset
	}
	return precedence[a.class]
}

// fold drops what another anomaly at the same offset implies. Two acknowledged writes that were both lost at one offset are two losses.
func fold(in []anomaly) []anomaly {
	slices.SortStableFunc(in, func(a, b anomaly) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.offset, b.offset), cmp.Compare(a.rank(), b.rank()))
	})
	out := in[:0]
	for _, a := range in {
		if n := len(out); n > 0 && a.offset != history.UnknownOffset && out[n-1].part == a.part && out[n-1].offset == a.offset &&
			(a.class != LostWrite || out[n-1].class != LostWrite) {
			continue
		}
		out = append(out, a)
	}
	return out
}

// group is anomalies of one class with one cause.
type group struct {
	first anomaly
	count int
	ops   []int64
}

// witnessOps bounds how many operations a finding names.
const witnessOps = 16

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
		g.count++
		if len(g.ops) < witnessOps {
			for _, op := range []int32{a.send, a.op} {
				if op >= 0 {
					g.ops = append(g.ops, c.h.Ops[op].ID)
				}
			}
		}
	}
	return out
}
