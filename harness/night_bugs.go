package harness

import (
	"fmt"
	"strings"
	"time"

	"tidemark/broker/bug"
)

// The outcomes of a night's search that tell neither that a bug is found nor that it is missed.
const (
	BugShort   BugStatus = "searched too short"
	BugStarved BugStatus = "starved" // others had the processors
)

// SearchFairly searches for each bug for as long as most, or where left tells of less for its part of that: what was found early leaves its time to
// those behind it, and in the end to those that were searched too short, which are searched again, the first whose time at least doubles, as a search
// begins with the same runs. A row a bug, in the same order; what was missed in less than most is BugShort, and what came to no search at all, with no run.
func SearchFairly(entries []bug.Entry, most time.Duration, left func() time.Duration, search func(bug.Entry, time.Duration) BugRow) []BugRow {
	rows, had := make([]BugRow, len(entries)), make([]time.Duration, len(entries))
	turn := make([]int, len(entries))
	for i, e := range entries {
		rows[i], turn[i] = BugRow{Bug: e.Name, Row: e.Row, Shows: e.Shows, Visible: e.Visible, Status: BugShort}, i
	}
	for searched := true; searched && len(turn) > 0; {
		var short []int
		searched = false
		for i, at := range turn {
			share := min(most, left()/time.Duration(len(turn)-i))
			if share <= 0 || share < 2*had[at] {
				short = append(short, at)
				continue
			}
			was := rows[at]
			row := search(entries[at], share)
			if row.Status == BugMissed && share < most {
				row.Status = BugShort
			}
			row.Runs, row.Pursued = row.Runs+was.Runs, row.Pursued+was.Pursued
			row.Seconds, row.Simulated = row.Seconds+was.Seconds, row.Simulated+was.Simulated
			rows[at], had[at], searched = row, share, true
			if row.Status == BugShort {
				short = append(short, at)
			}
		}
		turn = short
	}
	return rows
}

// untold says of which bugs searches cannot tell, and why; "" if of all they can.
func untold(rows []BugRow) string {
	var short, none, starved []string
	for i := range rows {
		switch r := &rows[i]; {
		case r.Status == BugStarved:
			starved = append(starved, string(r.Bug))
		case r.Status == BugShort && r.Seconds > 0:
			short = append(short, fmt.Sprintf("%s for %s", r.Bug, fewSeconds(r.Seconds)))
		case r.Status == BugShort:
			none = append(none, string(r.Bug))
		}
	}
	var out []string
	if len(short) > 0 {
		them := "them"
		if len(short) == 1 {
			them = "it"
		}
		out = append(out, fmt.Sprintf("searched %s, too short to call %s missed", strings.Join(short, ", "), them))
	}
	if len(none) > 0 {
		out = append(out, "no time for "+strings.Join(none, ", "))
	}
	if len(starved) > 0 {
		out = append(out, "the machine was too busy to tell of "+strings.Join(starved, ", "))
	}
	return strings.Join(out, "; ")
}

// fewSeconds is a time in two digits, more if it is long.
func fewSeconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}
