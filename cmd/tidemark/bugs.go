package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/broker/bug"
	"tidemark/harness"
)

func bugsCommand() *cobra.Command {
	var p harness.Proof
	var master, jsonFile string
	c := &cobra.Command{
		Use:   "bugs [NAME...]",
		Short: "Show of each known bug that random search finds it",
		Long: "Switches on each known bug of the broker (or the named ones) and searches with the configurations and plans of tidemark hunt, which\n" +
			"do not depend on the bug, until a run breaks its contract. The first violation must be of a class that the bug shows as; what\n" +
			"clients can see must be found by what clients and logs tell, with the invariants off.",
		RunE: func(c *cobra.Command, args []string) error {
			entries, err := bugEntries(args)
			if err != nil {
				return usage(err)
			}
			if p.Master, err = parseSeed("seed", master); err != nil {
				return err
			}
			if p.Budget <= 0 || p.Workers < 1 || p.Workers > 1024 || p.Seeds < 1 {
				return usage(fmt.Errorf("--budget %v, --workers %d, --max-seeds %d, expected a positive duration, 1 to 1024, and 1 at least", p.Budget, p.Workers, p.Seeds))
			}
			p.Base = harness.Defaults()
			return bugs(c, p, entries, jsonFile)
		},
	}
	f := c.Flags()
	f.StringVar(&master, "seed", "", "the master seed that the runs' seeds are drawn from (default: drawn, and printed)")
	f.DurationVar(&p.Budget, "budget", 2*time.Minute, "of the search for one bug: start no run after so long")
	f.IntVar(&p.Seeds, "max-seeds", 1_000_000, "at most so many runs of one bug")
	f.IntVar(&p.Workers, "workers", runtime.NumCPU(), "runs at a time")
	f.StringVar(&jsonFile, "json", "", "also write the table to this file, as JSON")
	return c
}

// bugEntries finds the named bugs, all if none is named.
func bugEntries(names []string) ([]bug.Entry, error) {
	if len(names) == 0 {
		return bug.Registry, nil
	}
	var entries []bug.Entry
	for _, name := range names {
		e, ok := bug.Find(bug.Name(name))
		if !ok {
			_, err := bug.Parse(name)
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func bugs(c *cobra.Command, p harness.Proof, entries []bug.Entry, jsonFile string) error {
	out := c.OutOrStdout()
	fmt.Fprintf(c.ErrOrStderr(), "tidemark %s, %s from master seed %d, %v for each on %s\n",
		harness.Version, counted(len(entries), "known bug"), p.Master, p.Budget, counted(p.Workers, "worker"))
	table := newBugTable(out, entries)
	var rows []harness.BugRow
	for _, e := range entries {
		row, err := p.Search(c.Context(), e)
		if err != nil {
			return &outcome{exitInterrupted, err}
		}
		table.print(row)
		rows = append(rows, row)
	}
	t := p.Tally(rows)
	fmt.Fprintf(out, "%d of %d found; seconds to detection: median %.1f, worst %.1f; generator %s\n", t.Found, len(rows), t.Median, t.Worst, t.Generator)
	if jsonFile != "" {
		if err := writeJSON(jsonFile, t); err != nil {
			return trouble(err)
		}
	}
	if t.Found < len(rows) {
		return ended(exitViolation)
	}
	return nil
}

// writeJSON writes a value to a file.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// bugTable prints rows as they come.
type bugTable struct {
	out          io.Writer
	name, source int // widths
}

func newBugTable(out io.Writer, entries []bug.Entry) *bugTable {
	t := &bugTable{out: out}
	for _, e := range entries {
		t.name, t.source = max(t.name, len(e.Name)), max(t.source, len(e.Source))
	}
	fmt.Fprintf(out, "%-*s  %3s  %-*s  %6s  %8s  %7s  %s\n", t.name, "bug", "row", t.source, "source", "runs", "differed", "seconds", "found as")
	return t
}

func (t *bugTable) print(r harness.BugRow) {
	found := string(r.Class)
	switch r.Status {
	case harness.BugMissed:
		found = "NOT FOUND"
	case harness.BugOtherClass:
		found += fmt.Sprintf(" (WRONG CLASS, expected %s)", strings.Join(r.Shows, " or "))
	}
	if !r.Visible {
		found += " [with invariants]"
	}
	fmt.Fprintf(t.out, "%-*s  %3d  %-*s  %6d  %8d  %7.1f  %s\n", t.name, r.Bug, r.Row, t.source, r.Source, r.Runs, r.Differed, r.Seconds, found)
	if r.Seed != 0 {
		fmt.Fprintf(t.out, "  run %d, seed %d: %s\n", r.Number, r.Seed, r.Signature)
	}
	if r.Errors > 0 {
		fmt.Fprintf(t.out, "  %s could not be carried out: %s\n", counted(r.Errors, "run"), r.Error)
	}
}
