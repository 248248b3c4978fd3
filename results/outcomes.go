package results

import (
	"tidemark/checker"
	"tidemark/history"
)

// outcomesView is what became of the sends whose outcome their clients never learned.
type outcomesView struct {
	All  int
	Sums []fact // how many of them, by what evidence made of them
	Rows []outcomeRow
	Left int // that have no row
}

// outcomeRow is one of them.
type outcomeRow struct {
	Op                        int64
	Value, Where, Error, At   string
	Resolved, Offset, Because string
	Read                      []int64 // the answers that showed it
	Held                      string  // the replicas whose dump holds it
	Word                      string  // Resolved without spaces, for its colour
}

const outcomesMax = 300

// outcomesOf lists them, those that stay open first, then those that were read and taken back: whoever reads looks for what is odd.
func outcomesOf(run history.Run, h *history.History) outcomesView {
	var v outcomesView
	unknown := false
	for i := range h.Ops {
		op := &h.Ops[i]
		unknown = unknown || op.Kind == history.Send && (op.Outcome == history.Info || op.Outcome == history.Pending)
	}
	if !unknown {
		return v
	}
	resolved := checker.Resolve(run, h)
	v.All = len(resolved)
	for _, kind := range []checker.Resolved{checker.Open, checker.TakenBack, checker.InLog, checker.Absent} {
		n := 0
		for _, r := range resolved {
			if r.Outcome != kind {
				continue
			}
			n++
			if len(v.Rows) < outcomesMax {
				v.Rows = append(v.Rows, outcomeRowOf(h, r))
			}
		}
		v.Sums = append(v.Sums, fact{resolvedWord(kind), count(int64(n))})
	}
	v.Left = v.All - len(v.Rows)
	return v
}

func outcomeRowOf(h *history.History, r checker.Resolution) outcomeRow {
	row := outcomeRow{Op: r.Op, Resolved: resolvedWord(r.Outcome), Offset: offsetWord(r.Offset), Because: clip(r.Because, 300), Read: r.Read, Held: "–"}
	if len(r.HeldBy) > 0 {
		row.Held = brokersWord(r.HeldBy)
	}
	switch r.Outcome {
	case checker.InLog:
		row.Word = "ok"
	case checker.Absent:
		row.Word = "absent"
	case checker.TakenBack:
		row.Word = "failed"
	default:
		row.Word = "unknown"
	}
	if op, ok := opByID(h.Ops, r.Op); ok {
		row.Value, row.Where, row.At = clip(op.Value, 80), clip(op.Partition.String(), 80), at(op.Invoke)
		row.Error = clip(op.Error, opErrorRunes)
		if row.Error == "" {
			row.Error = "no answer"
		}
	}
	return row
}

func resolvedWord(r checker.Resolved) string {
	if r == checker.Open {
		return "still open"
	}
	return clip(string(r), 40)
}
