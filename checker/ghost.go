package checker

import "tidemark/history"

// ghost is the true committed log of a partition: every entry that a leader of a committed epoch exposed below its high watermark.
type ghost struct {
	base    history.Offset // of the first entry kept
	entries []Entry
}

// end is the true high watermark.
func (g *ghost) end() history.Offset { return g.base + history.Offset(len(g.entries)) }

// entry returns the entry at an offset within base and end.
func (g *ghost) entry(o history.Offset) Entry { return g.entries[o-g.base] }

// grow takes in what a leader exposes beyond the true HW; true if there was any. A leader whose log starts beyond the true HW (records
// were removed) begins the ghost anew there.
func (g *ghost) grow(leader *replica) bool {
	to := min(leader.HW, leader.LEO)
	if to <= g.end() || leader.Entry == nil {
		return false
	}
	if leader.Start > g.end() {
		g.base, g.entries = leader.Start, g.entries[:0]
	}
	for o := g.end(); o < to; o++ {
		e, ok := leader.Entry(o)
		if !ok {
			return true
		}
		g.entries = append(g.entries, e)
	}
	leader.checked = max(leader.checked, g.end())
	return true
}
