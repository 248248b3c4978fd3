package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/broker/bug"
)

// Outcome is as what a bug was found, in words.
func (r *BugRow) Outcome() string {
	text := string(r.Class)
	switch r.Status {
	case BugMissed:
		text = "NOT FOUND, expected " + strings.Join(r.Shows, " or ")
	case BugAnyway:
		return "ALSO WITH NO BUG ON: " + string(r.Class)
	case BugOtherClass:
		text += " (WRONG CLASS, expected " + strings.Join(r.Shows, " or ") + ")"
	}
	if r.Status == BugFound {
		text += r.elsewhere()
	}
	if !r.Visible {
		text += " [with invariants]"
	}
	return text
}

// elsewhere tells of the runs that broke their contract otherwise; "" if there are none.
func (r *BugRow) elsewhere() (text string) {
	for _, class := range slices.Sorted(maps.Keys(r.Others)) {
		text += fmt.Sprintf(", besides %s in %d", class, r.Others[class])
	}
	return text
}

// Again is the line that repeats the run that showed a bug.
func (r *BugRow) Again(master uint64) string {
	options := []string{"--bug", string(r.Bug)}
	if r.Visible {
		options = append(options, "--pursue")
	}
	return RepeatLine(options, master, r.Number, r.From)
}

// Summary is the proof in a few lines.
func (t BugTally) Summary() string {
	seconds := ""
	if t.Found > 0 {
		seconds = fmt.Sprintf("seconds to detection: median %.1f, worst %.1f; ", t.Median, t.Worst)
	}
	workers := fmt.Sprintf("%d workers", t.Workers)
	if t.Workers == 1 {
		workers = "1 worker"
	}
	text := fmt.Sprintf("%d of %d found by %s; %sgenerator %s, master seed %d", t.Found, len(t.Rows), workers, seconds, t.Generator, t.Master)
	if t.Longest > 0 || t.Shrunk > 0 {
		text += fmt.Sprintf("\nshrunk: %d until nothing smaller failed alike; lines: median %d, most %d; replayed %d times, %d to the same signature", t.Shrunk, t.Lines, t.Longest, t.Replays, t.Alike)
	}
	var rows []string
	for _, n := range t.NotApplicable {
		rows = append(rows, fmt.Sprint(n.Row))
	}
	if len(rows) > 0 {
		text += "\nnot applicable here: rows " + strings.Join(rows, ", ") + " (tidemark bugs --list says why)"
	}
	return text
}

// Markdown is the proof as a document.
func (t BugTally) Markdown() string {
	var out strings.Builder
	shrink := " --no-shrink"
	if slices.ContainsFunc(t.Rows, func(r BugRow) bool { return r.Shrunk != nil }) {
		shrink = ""
	}
	fmt.Fprintf(&out, "# Known bugs, found by random search\n\nWritten by\n\n    bin/tidemark bugs --master %d --budget %vs --workers %d%s --markdown docs/bugs.md\n\n",
		t.Master, t.Budget, t.Workers, shrink)
	out.WriteString("Each row switches one bug on and searches with the same configurations and plans, which do not depend on it; *differed* says in how\n" +
		"many of the runs the bug changed a decision. Rows marked ° are judged with the invariants on, as no client can see the bug; all others\n" +
		"by what clients and logs tell alone. *Lines* is what shrinking left of the plan. *Run* is the number of the\n" +
		"run that showed the bug, which repeats by\n\n")
	fmt.Fprintf(&out, "    bin/tidemark hunt --pursue --bug NAME --master %d --first RUN --max-seeds 1\n\n", t.Master)
	fmt.Fprintf(&out, "(without --pursue where a row is marked), as long as the generator is %s: another one draws other runs.\n\n", t.Generator)
	out.WriteString("After the first 200, every other run goes on from an earlier one in which something rare nearly happened; such a one repeats by the number behind *from*, with the flag behind that.\n")
	out.WriteString("Behind a number may stand further lines of its plan: the search adds them where the simulator sees an invariant broken, to show clients what that means.\n\n")
	out.WriteString("| bug | source | found as | run | runs | differed | seconds | lines |\n|---|---|---|---:|---:|---:|---:|---:|\n")
	for i := range t.Rows {
		r := &t.Rows[i]
		found, lines, number := string(r.Class)+r.elsewhere(), "", ""
		if r.Seed != 0 {
			number = fmt.Sprint(r.Number)
		}
		if len(r.From.Splits) > 0 {
			number += fmt.Sprintf(", from %d by `--split %v`", r.From.First, r.From)
		}
		if r.Status != BugFound {
			found = strings.TrimSuffix(r.Outcome(), " [with invariants]")
		}
		if !r.Visible {
			found += " °"
		}
		origin := bug.Entry{Row: r.Row, Source: r.Source}.Origin()
		if r.Shrunk != nil {
			lines = fmt.Sprint(r.Shrunk.Lines)
		}
		for _, line := range r.Lead {
			number += ", with `" + strings.ReplaceAll(line, "|", `\|`) + "`"
		}
		fmt.Fprintf(&out, "| `%s`: %s | %s | %s | %s | %d | %d | %.1f | %s |\n",
			r.Bug, strings.ReplaceAll(r.Mutation, "|", `\|`), origin, found, number, r.Runs+r.Pursued, r.Differed, r.Seconds, lines)
	}
	if len(t.NotApplicable) > 0 {
		out.WriteString("\nNot applicable, each with its reason:\n\n")
	}
	for _, n := range t.NotApplicable {
		fmt.Fprintf(&out, "- row %d (%s): %s\n", n.Row, n.Source, n.Reason)
	}
	fmt.Fprintf(&out, "\n%s.\n", strings.ReplaceAll(t.Summary(), "\n", ".\n\n"))
	return out.String()
}
