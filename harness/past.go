package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// Past shows of published defects that they are found in the releases that have them, and in none that have them no longer.
type Past struct {
	Times    int // runs of the release that has a defect
	Controls int // runs of each release that has it no longer
	// Carry carries out one run and returns the line that repeats it.
	Carry func(context.Context, history.Run) (res *Result, again string, err error)
	// Each, if set, is called with every run that is over.
	Each func(d Defect, release string, n, of int, told string)
}

// PastRow is what became of one defect.
type PastRow struct {
	Defect string        `json:"defect"`
	Says   string        `json:"says"`
	Class  checker.Class `json:"class"`
	Plan   string        `json:"plan"`
	Has    PastCell      `json:"has"`   // the release that has it
	Fixed  []PastCell    `json:"fixed"` // those that have it no longer
}

// PastCell is what became of one defect on one release.
type PastCell struct {
	Release string         `json:"release"`
	Runs    int            `json:"runs"` // that came to a verdict
	Found   int            `json:"found"`
	Others  map[string]int `json:"others,omitempty"` // what the other runs came to
	Errors  int            `json:"errors"`           // runs that came to no verdict
	Error   string         `json:"error,omitempty"`  // the first of these
	Again   string         `json:"again,omitempty"`  // the line that repeats the first run that showed it
	Text    string         `json:"text,omitempty"`   // of that run's finding
	Seconds float64        `json:"secondsARun"`      // the mean
}

// PastTable is the proof: a row a defect.
type PastTable struct {
	Rows []PastRow `json:"rows"`
}

// Put takes up a row: in the place of the one of the same defect, else before the first that was published later, as order lists them.
func (t *PastTable) Put(row PastRow, order []Defect) {
	if i := slices.IndexFunc(t.Rows, func(r PastRow) bool { return r.Defect == row.Defect }); i >= 0 {
		t.Rows[i] = row
		return
	}
	place := func(name string) int { return slices.IndexFunc(order, func(d Defect) bool { return d.Name == name }) }
	at := slices.IndexFunc(t.Rows, func(r PastRow) bool { return place(r.Defect) > place(row.Defect) })
	if at < 0 {
		at = len(t.Rows)
	}
	t.Rows = slices.Insert(t.Rows, at, row)
}

// Try carries out the runs of one defect. The error is ctx's end, or that the defect cannot be carried over; the row holds what there is.
func (p Past) Try(ctx context.Context, d Defect) (PastRow, error) {
	row := PastRow{Defect: d.Name, Says: d.Says, Class: d.Class, Plan: d.Run.Plan}
	var err error
	if row.Has, err = p.cell(ctx, d, d.Release, p.Times); err != nil {
		return row, err
	}
	for _, release := range d.Fixed {
		cell, err := p.cell(ctx, d, release, p.Controls)
		row.Fixed = append(row.Fixed, cell)
		if err != nil {
			return row, err
		}
	}
	return row, nil
}

// cell carries out the runs of one defect on one release, each with a seed of its own.
func (p Past) cell(ctx context.Context, d Defect, release string, times int) (PastCell, error) {
	c := PastCell{Release: release, Others: map[string]int{}}
	run, err := d.On(release)
	if err != nil {
		return c, err
	}
	var spent time.Duration
	for n := range times {
		run.Seed, run.Started = uint64(n+1), time.Now().UTC()
		begun := time.Now()
		res, again, err := p.Carry(ctx, run)
		spent += time.Since(begun)
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		told := ""
		if err != nil {
			told = c.fail(err)
		} else {
			told = c.add(res.Verdict, d.Class, again)
		}
		c.Seconds = spent.Seconds() / float64(n+1)
		if p.Each != nil {
			p.Each(d, release, n+1, times, told)
		}
	}
	return c, nil
}

// add counts a run by its verdict, which it tells.
func (c *PastCell) add(v checker.Verdict, class checker.Class, again string) string {
	c.Runs++
	told := Told(v)
	text, found := shows(v, class)
	if !found {
		c.Others[told]++
		return told
	}
	if c.Found++; c.Found == 1 {
		c.Again, c.Text = again, text
	}
	if v.Findings[0].Class != class {
		told += ", and " + string(class)
	}
	return told
}

// fail counts a run that came to no verdict, which it tells.
func (c *PastCell) fail(err error) string {
	if c.Errors++; c.Errors == 1 {
		c.Error = err.Error()
	}
	return "no verdict: " + err.Error()
}

// Shown reports whether a defect was found in at least four of five runs of the release that has it, and never in one that has it no longer.
func (r PastRow) Shown() bool {
	clean := !slices.ContainsFunc(r.Fixed, func(c PastCell) bool { return c.Found > 0 || c.Runs == 0 })
	return clean && r.Has.Runs > 0 && 5*r.Has.Found >= 4*(r.Has.Runs+r.Has.Errors)
}

// String says k of n, and what the others came to.
func (c PastCell) String() string {
	out := fmt.Sprintf("%s: %d of %d", c.Release, c.Found, c.Runs)
	var others []string
	for _, told := range slices.Sorted(maps.Keys(c.Others)) {
		others = append(others, fmt.Sprintf("%d %s", c.Others[told], told))
	}
	if c.Errors > 0 {
		others = append(others, fmt.Sprintf("%d came to no verdict", c.Errors))
	}
	if len(others) > 0 {
		out += " (" + strings.Join(others, ", ") + ")"
	}
	return out
}

// String is the row for a terminal.
func (r PastRow) String() string {
	var fixed []string
	for _, c := range r.Fixed {
		fixed = append(fixed, c.String())
	}
	verdict := "shown"
	if !r.Shown() {
		verdict = "NOT SHOWN"
	}
	return fmt.Sprintf("%s, %s: %s\n  found in %s\n  fixed in %s\n", r.Defect, r.Class, verdict, r.Has, strings.Join(fixed, "; "))
}

// Summary is the table in a line.
func (t PastTable) Summary() string {
	shown := 0
	for _, r := range t.Rows {
		if r.Shown() {
			shown++
		}
	}
	return fmt.Sprintf("%d of %d defects shown", shown, len(t.Rows))
}

// Markdown is the table as a document.
func (t PastTable) Markdown() string {
	var out strings.Builder
	out.WriteString(pastIntroduction)
	for _, r := range t.Rows {
		var fixed []string
		for _, c := range r.Fixed {
			fixed = append(fixed, c.String())
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.Defect, r.Class, r.Has, strings.Join(fixed, "; "))
	}
	for _, r := range t.Rows {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", r.Defect, r.Says)
		for line := range strings.Lines(r.Plan) {
			out.WriteString("    " + line)
		}
		if r.Has.Text != "" {
			fmt.Fprintf(&out, "\nOn %s: %s\n", r.Has.Release, r.Has.Text)
		}
	}
	return out.String()
}

const pastIntroduction = `# Losses that releases of Apache Kafka really have

Written by

    bin/tidemark history --times 5 --controls 5 --table docs/history.json --markdown docs/history.md

which carries out all of it in an hour, or, with a defect's name, its row alone, and keeps the others.

Each row is a published defect, the release that has it and releases that have it no longer: unmodified brokers in containers, three or four
with acks=all, min.insync.replicas=2 and clean elections, under the plan that stands below. Counted are the runs in which the checker found an
anomaly of that class, by the operations of clients and the replicas' own files.

| defect | found as | in | and where it is fixed |
|---|---|---|---|
`
