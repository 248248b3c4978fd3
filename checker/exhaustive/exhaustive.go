// Package exhaustive judges tiny histories from the definitions alone, as dumbly as can be, to compare the checker with: Possible plays a
// history forward against every log that there might have been, and Anomalies tries each definition on everything that it could be about. It
// shares nothing with the checker, and takes time that doubles with each operation.
//
// It judges what a cluster promises that keeps acknowledged writes and committed reads, whose producers send each value once and whose brokers
// remove nothing unasked, after it has settled: the final reads of a partition begin at its log start, offset 0 or where a DeleteRecords had it
// begin, and reach its end, and nothing is written after them.
package exhaustive

import (
	"fmt"
	"slices"

	"tidemark/history"
)

// Possible reports whether there is a log of every partition that explains the history: each value in it was sent once and was not
// reported as failed; a write took effect at one moment, after it was sent and, if it was acknowledged, before that, where the acknowledgement
// says; an answer shows what is in the log when it arrives, all of it from the offset asked for to the last record that it holds; a consumer
// goes on where its last answer ended; the end of the log that ListOffsets tells never lies before one that it told when it was asked; final
// reads and replicas hold the whole log, but for what somebody had asked to be removed from its beginning.
func Possible(h *history.History) bool {
	for _, p := range partitions(h) {
		if !possible(h, p) {
			return false
		}
	}
	return true
}

// partitions lists the partitions of a history, in order.
func partitions(h *history.History) []history.Partition {
	var out []history.Partition
	for i := range h.Ops {
		out = append(out, h.Ops[i].Partition)
	}
	for i := range h.Dumps {
		out = append(out, h.Dumps[i].Partition)
	}
	slices.SortFunc(out, history.Partition.Compare)
	return slices.Compact(out)
}

// moment is the invocation or the return of an operation.
type moment struct {
	index int64
	op    *history.Op
	done  bool
}

// play is one partition's history on its way forward.
type play struct {
	moments []moment
	ops     []*history.Op // the partition's
	dumps   []*history.Dump
	start   history.Offset  // where it begins at the end, as somebody asked for
	log     []string        // by offset; "" is an offset without a record
	most    int             // offsets that any log may have
	failed  map[string]bool // moments with logs that lead nowhere
}

func possible(h *history.History, p history.Partition) bool {
	g := &play{failed: map[string]bool{}}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.Partition != p {
			continue
		}
		g.ops = append(g.ops, op)
		g.moments = append(g.moments, moment{op.InvokeIndex, op, false})
		if op.Outcome != history.Pending {
			g.moments = append(g.moments, moment{op.ReturnIndex, op, true})
		}
		if op.Kind == history.Send {
			g.most = max(g.most, int(op.Offset)+1)
		}
		for _, r := range op.Records {
			g.most = max(g.most, int(r.Offset)+1)
		}
	}
	for i := range h.Dumps {
		if d := &h.Dumps[i]; d.Partition == p && d.Err == "" {
			g.dumps = append(g.dumps, d)
			for _, r := range d.Records {
				g.most = max(g.most, int(r.Offset)+1)
			}
		}
	}
	g.start = trimmedTo(g.ops)
	g.most = max(g.most, int(g.start))
	slices.SortFunc(g.moments, func(a, b moment) int { return int(a.index - b.index) })
	return g.from(0)
}

// from tries every way to go on from a moment: something is appended before it, or it happens now.
func (g *play) from(n int) bool {
	if n == len(g.moments) {
		return g.ends()
	}
	here := fmt.Sprintf("%d %q", n, g.log)
	if g.failed[here] {
		return false
	}
	if len(g.log) < g.most {
		for _, value := range g.appendable(n) {
			g.log = append(g.log, value)
			if g.from(n) {
				return true
			}
			g.log = g.log[:len(g.log)-1]
		}
	}
	if g.happens(g.moments[n]) && g.from(n+1) {
		return true
	}
	g.failed[here] = true
	return false
}

// appendable lists what may be appended before a moment: values under way that are not in the log, and nothing, as a gap.
func (g *play) appendable(n int) []string {
	out := []string{""}
	for _, m := range g.moments[:n] {
		gone := m.op.Outcome == history.OK && m.op.ReturnIndex < g.moments[n].index // acknowledged, and removed since
		if m.op.Kind == history.Send && !m.done && m.op.Outcome != history.Fail && !gone && !slices.Contains(g.log, m.op.Value) {
			out = append(out, m.op.Value)
		}
	}
	return out
}

// happens reports whether a moment agrees with the log as it is.
func (g *play) happens(m moment) bool {
	op := m.op
	if !m.done || op.Outcome != history.OK {
		return true
	}
	switch op.Kind {
	case history.Send:
		at := slices.Index(g.log, op.Value)
		return at >= 0 && (op.Offset < 0 || int(op.Offset) == at)
	case history.ListOffsets:
		return !slices.ContainsFunc(g.ops, func(before *history.Op) bool { return overtakes(before, op) })
	case history.Poll:
		if slices.ContainsFunc(g.ops, func(before *history.Op) bool { return belowTold(before, op) }) {
			return false
		}
		if at, known := stood(g.ops, op); known && len(op.Records) > 0 && op.Records[0].Offset < at {
			return false
		}
		return g.shows(op, op.Position)
	}
	return true
}

// shows reports whether the log holds an answer's records, and no others between an offset and the last of them, but for what was removed before
// the answer came.
func (g *play) shows(op *history.Op, from history.Offset) bool {
	begins := mayBegin(g.ops, op)
	for _, r := range op.Records {
		if r.Offset < from || int(r.Offset) >= len(g.log) || r.Value == "" || g.log[r.Offset] != r.Value {
			return false
		}
		for ; from < r.Offset; from++ {
			if g.log[from] != "" && from >= begins {
				return false
			}
		}
		from = r.Offset + 1
	}
	return true
}

// mayBegin is the log start that an answer told, but not beyond what a DeleteRecords had asked for by then that was not refused.
func mayBegin(ops []*history.Op, answer *history.Op) history.Offset {
	asked := history.Offset(0)
	for _, op := range ops {
		if op.Kind == history.DeleteRecords && op.Outcome != history.Fail && op.InvokeIndex < answer.ReturnIndex {
			asked = max(asked, op.Position)
		}
	}
	return min(asked, answer.LogStart)
}

// belowTold reports whether an answer carried a high watermark below the end that its leader had told in the same epoch.
func belowTold(before, op *history.Op) bool {
	told := before.Kind == history.ListOffsets && before.Position == history.Latest && before.Outcome == history.OK && before.ReturnIndex < op.InvokeIndex
	return told && op.HW >= 0 && op.HW < before.Offset && op.Broker == before.Broker && op.Epoch == before.Epoch
}

// trimmedTo is where a log begins because somebody asked for it: where the final reads were told that it begins, but not beyond what a
// DeleteRecords asked for that was not refused.
func trimmedTo(ops []*history.Op) history.Offset {
	asked, begins := history.Offset(0), history.Offset(0)
	for _, op := range ops {
		if op.Kind == history.DeleteRecords && op.Outcome != history.Fail {
			asked = max(asked, op.Position)
		}
		if op.Final && op.Outcome == history.OK {
			begins = max(begins, op.LogStart)
		}
	}
	return min(asked, begins)
}

// overtakes reports whether a ListOffsets had told an end of the log beyond the one that another, asked later, was told.
func overtakes(before, op *history.Op) bool {
	tells := func(o *history.Op) bool {
		return o.Kind == history.ListOffsets && o.Position == history.Latest && o.Outcome == history.OK
	}
	return tells(before) && tells(op) && before.ReturnIndex < op.InvokeIndex && before.Epoch <= op.Epoch && before.Offset > op.Offset
}

// ends reports whether the log is what the final reads and the replicas hold, but for what was removed.
func (g *play) ends() bool {
	var whole, standing []history.Record
	for o, value := range g.log {
		r := history.Record{Offset: history.Offset(o), Value: value}
		if value != "" {
			whole = append(whole, r)
		}
		if value != "" && r.Offset >= g.start {
			standing = append(standing, r)
		}
	}
	for _, op := range g.ops {
		if op.Final && op.Outcome == history.OK && !slices.Equal(op.Records, standing) {
			return false
		}
		if at, known := stood(g.ops, op); known && op.Kind == history.Poll && op.Outcome == history.OK {
			for _, r := range whole {
				if max(at, begun(g.ops, op)) <= r.Offset && r.Offset < op.Position {
					return false
				}
			}
		}
	}
	for _, d := range g.dumps {
		held := make([]history.Record, 0, len(d.Records))
		for _, r := range d.Records {
			held = append(held, history.Record{Offset: r.Offset, Value: r.Value})
		}
		if !slices.Equal(held, standing) {
			return false
		}
	}
	return true
}

// begun is the highest log start that a consumer had been told when an answer came.
func begun(ops []*history.Op, answer *history.Op) history.Offset {
	begins := history.Offset(0)
	for _, op := range ops {
		if op.Kind == history.Poll && op.Outcome == history.OK && !op.Final && op.Process == answer.Process && op.InvokeIndex <= answer.InvokeIndex {
			begins = max(begins, mayBegin(ops, op))
		}
	}
	return begins
}

// stood is where a consumer had to go on when it sent a poll: behind all that its answers before went through, or behind the last of them that went
// back. It is known once it had an answer.
func stood(ops []*history.Op, poll *history.Op) (at history.Offset, known bool) {
	if poll.Final {
		return 0, false
	}
	var before []*history.Op
	for _, op := range ops {
		if op.Kind == history.Poll && op.Outcome == history.OK && !op.Final && op.Process == poll.Process && op.InvokeIndex < poll.InvokeIndex {
			before = append(before, op)
		}
	}
	slices.SortFunc(before, func(a, b *history.Op) int { return int(a.InvokeIndex - b.InvokeIndex) })
	for _, op := range before {
		if back := known && len(op.Records) > 0 && op.Records[0].Offset < at; !known || back {
			at = answerEnd(op)
		} else {
			at = max(at, answerEnd(op))
		}
		known = true
	}
	return at, known
}

// answerEnd is the offset at which a consumer goes on after an answer: behind the furthest record that it was given, in whatever order.
func answerEnd(op *history.Op) history.Offset {
	to := op.Position
	for _, r := range op.Records {
		to = max(to, r.Offset+1)
	}
	return to
}
