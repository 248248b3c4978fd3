package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/broker/bug"
	"tidemark/harness"
	"tidemark/world"
)

func bugsCommand() *cobra.Command {
	var p harness.Proof
	var w bugsWanted
	var master string
	var noShrink, list, beyond bool
	var without []string
	var draw, repeat int
	c := &cobra.Command{
		Use:   "bugs [NAME...]",
		Short: "Show of each known bug that random search finds it",
		Long: "Switches on each known bug of the broker (or the named ones) and searches with the configurations and plans of tidemark hunt, which\n" +
			"do not depend on the bug, until a run breaks its contract by a violation of a class that the bug shows as; what clients can see must\n" +
			"be found by what clients and logs tell, with the invariants off. Violations of other classes are counted. The run that showed it is then shrunk.\n" +
			"The table says in how many of the runs the bug changed a decision. It ends with 1 if a bug was not found, or as another class.",
		RunE: func(c *cobra.Command, args []string) error {
			entries, err := bugEntries(args, beyond)
			if err != nil {
				return usage(err)
			}
			if f := c.Flags(); f.Changed("master") && f.Changed("seed") {
				return usage(errors.New("--master and --seed, expected one of them: they mean the same"))
			}
			if list && w.renew != "" {
				return usage(errors.New("--list with --renew, expected either"))
			}
			if list {
				if w.json {
					return printJSON(c.OutOrStdout(), listedBugs(entries), exitValid)
				}
				listBugs(c.OutOrStdout(), entries)
				return nil
			}
			if p.Master, err = parseSeed("master", master); err != nil {
				return err
			}
			for _, name := range without {
				if _, err := bug.Parse(name); err != nil {
					return usage(fmt.Errorf("--without: %w", err))
				}
			}
			entries = slices.DeleteFunc(slices.Clone(entries), func(e bug.Entry) bool { return slices.Contains(without, string(e.Name)) })
			if len(entries) == 0 {
				return usage(fmt.Errorf("--without %s leaves no bug to search for", strings.Join(without, ",")))
			}
			if draw < 0 || draw > len(entries) {
				return usage(fmt.Errorf("--draw %d, expected 0 to %d", draw, len(entries)))
			}
			entries = drawn(entries, draw, p.Master)
			if err := cmp.Or(lastsAtAll("budget", p.Budget), lastsAtAll("shrink-budget", p.Shrinking), wholeWithin("workers", p.Workers, 1, workersMax),
				wholeWithin("max-seeds", p.Seeds, 1, seedsMax)); err != nil {
				return usage(err)
			}
			if noShrink {
				p.Shrinking = 0
			}
			if w.renew != "" {
				return renew(c, w.renew, entries, p.Workers)
			}
			p.Base = harness.Defaults()
			if repeat < 1 || repeat > 100 {
				return usage(fmt.Errorf("--repeat %d, expected 1 to 100", repeat))
			}
			if repeat > 1 {
				if w.markdown != "" || w.scenarios != "" {
					return usage(errors.New("--repeat with --markdown or --scenarios, expected it without: it tells of times alone, and shrinks nothing"))
				}
				return repeatBugs(c, p, entries, repeat, w.json)
			}
			return bugs(c, p, entries, w)
		},
	}
	f := c.Flags()
	f.BoolVar(&list, "list", false, "search nothing: tell of each bug what the broker then does, where that comes from, and as what it shows")
	f.BoolVar(&beyond, "beyond", false, "those bugs instead that are beyond the catalogue: made up, to measure the search, by somebody who did not know it")
	f.StringVar(&master, "master", "", "the seed that the runs' seeds are drawn from, as in tidemark hunt (default: drawn, and printed)")
	f.StringVar(&master, "seed", "", "the same as --master")
	f.IntVar(&draw, "draw", 0, "show so many of the bugs only, drawn from the master seed; 0 is all")
	f.StringSliceVar(&without, "without", nil, "bugs to leave out")
	f.IntVar(&repeat, "repeat", 1, "search for each bug from so many master seeds, drawn from the first, shrink nothing, and tell median and spread")
	f.DurationVar(&p.Budget, "budget", 2*time.Minute, "of the search for one bug: runs that are under way then are cut off")
	f.IntVar(&p.Seeds, "max-seeds", 1_000_000, "at most so many runs of one bug")
	f.IntVar(&p.Workers, "workers", runtime.NumCPU(), "runs at a time")
	f.BoolVar(&noShrink, "no-shrink", false, "leave the runs that showed the bugs as they are")
	f.DurationVar(&p.Shrinking, "shrink-budget", time.Minute, "of shrinking one run: tries that are under way then are cut off")
	f.BoolVar(&w.json, "json", false, "print the table as JSON; with --list, what the bugs are")
	f.StringVar(&w.markdown, "markdown", "", "also write the table to this file, as Markdown")
	f.StringVar(&w.scenarios, "scenarios", "", "also write each shrunk run as a scenario NAME.txt into this directory; the words at the head of one that is there stay")
	f.StringVar(&w.renew, "renew", "", "search nothing: look through the scenarios NAME.txt of this directory, and give those that no longer show their bug another\nseed with which they do")
	return c
}

// bugsWanted is how a table is told, and the files that it is written to, "" for none.
type bugsWanted struct {
	json                       bool // on standard output, instead of the table
	markdown, scenarios, renew string
}

// renewSeeds is among how many seeds another one is looked for.
const renewSeeds = 300

// renew gives scenarios that no longer show their bug another seed. It ends with 1 if one shows it with none.
func renew(c *cobra.Command, dir string, entries []bug.Entry, workers int) error {
	lost := 0
	for _, e := range entries {
		path := filepath.Join(dir, string(e.Name)+".txt")
		text, err := readBounded(path)
		if err != nil {
			return usage(err)
		}
		run, _, err := readScenario(path)
		if err != nil {
			return usage(err)
		}
		seed := run.Seed
		run, told, err := harness.Renew(c.Context(), run, renewSeeds, workers)
		switch {
		case c.Context().Err() != nil:
			return &outcome{exitInterrupted, errInterrupted}
		case err != nil:
			lost++
			fmt.Fprintf(c.OutOrStdout(), "%s: %v; with its own it tells\n%s", path, err, told)
		case run.Seed != seed:
			fmt.Fprintf(c.OutOrStdout(), "%s: seed %d instead of %d\n", path, run.Seed, seed)
			if err := putText(path, []byte(harness.ScenarioText(run, headOf(string(text)), told))); err != nil {
				return trouble(err)
			}
		}
	}
	if lost > 0 {
		return ended(exitViolation)
	}
	return nil
}

// bugEntries finds the named bugs; if none is named, all of the catalogue, or all beyond it.
func bugEntries(names []string, beyond bool) ([]bug.Entry, error) {
	switch {
	case beyond && len(names) > 0:
		return nil, fmt.Errorf("--beyond with %s, expected either: a bug's name is enough", strings.Join(names, ", "))
	case beyond:
		return bug.Beyond.Entries, nil
	case len(names) == 0:
		return bug.Registry, nil
	}
	var entries []bug.Entry
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("%s twice, expected each bug once", name)
		}
		e, ok := bug.Find(bug.Name(name))
		if !ok {
			_, err := bug.Parse(name)
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// drawn is n of the entries, in their order, by a seed; all for 0.
func drawn(entries []bug.Entry, n int, seed uint64) []bug.Entry {
	if n == 0 {
		return entries
	}
	order := world.Stream(seed, "bugs", 0).Perm(len(entries))[:n]
	slices.Sort(order)
	out := make([]bug.Entry, n)
	for i, at := range order {
		out[i] = entries[at]
	}
	return out
}

func bugs(c *cobra.Command, p harness.Proof, entries []bug.Entry, w bugsWanted) error {
	out := c.OutOrStdout()
	if w.scenarios != "" {
		if err := os.MkdirAll(w.scenarios, 0o755); err != nil {
			return trouble(err)
		}
	}
	if w.json {
		out = c.ErrOrStderr() // stdout holds the JSON alone
	}
	fmt.Fprintf(c.ErrOrStderr(), "tidemark %s, %s from master seed %d, %v for each on %s\n",
		harness.Version, counted(len(entries), "known bug"), p.Master, p.Budget, counted(p.Workers, "worker"))
	table := newBugTable(out, entries, p.Master)
	var rows []harness.BugRow
	for _, e := range entries {
		row, err := p.Search(c.Context(), e)
		if err != nil {
			return &outcome{exitInterrupted, errInterrupted}
		}
		table.print(row)
		rows = append(rows, row)
		if row.Shrunk != nil && row.Shrunk.Error == "" && w.scenarios != "" {
			if err := writeScenario(c.Context(), filepath.Join(w.scenarios, string(e.Name)+".txt"), row.Shrunk.Run); err != nil {
				return trouble(err)
			}
		}
	}
	t := p.Tally(rows)
	fmt.Fprintln(out, t.Summary())
	if w.json {
		if err := printJSON(c.OutOrStdout(), t, exitValid); err != nil {
			return err
		}
	}
	if w.markdown != "" {
		if err := putText(w.markdown, []byte(t.Markdown())); err != nil {
			return trouble(err)
		}
	}
	if t.Found < len(rows) || t.Alike < t.Replays {
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
	return putText(path, append(text, '\n'))
}

// bugTable prints rows as they come.
type bugTable struct {
	out          io.Writer
	master       uint64
	name, source int // widths
}

func newBugTable(out io.Writer, entries []bug.Entry, master uint64) *bugTable {
	t := &bugTable{out: out, master: master}
	for _, e := range entries {
		t.name, t.source = max(t.name, len(e.Name)), max(t.source, len(e.Source))
	}
	fmt.Fprintf(out, "%-*s  %3s  %-*s  %5s  %8s  %7s  %5s  %8s  %s\n",
		t.name, "bug", "row", t.source, "source", "runs", "differed", "seconds", "lines", "+seconds", "found as")
	return t
}

func (t *bugTable) print(r harness.BugRow) {
	row, lines, shrinking := "", "", ""
	if r.Row != 0 { // in the catalogue
		row = strconv.Itoa(r.Row)
	}
	if r.Shrunk != nil {
		lines, shrinking = strconv.Itoa(r.Shrunk.Lines), fmt.Sprintf("%.1f", r.Shrunk.Seconds)
	}
	fmt.Fprintf(t.out, "%-*s  %3s  %-*s  %5d  %8d  %7.1f  %5s  %8s  %s\n",
		t.name, r.Bug, row, t.source, r.Source, r.Runs+r.Pursued, r.Differed, r.Seconds, lines, shrinking, r.Outcome())
	if r.Seed != 0 {
		fmt.Fprintf(t.out, "    run %d, seed %d: %s\n    again: %s\n", r.Number, r.Seed, r.Signature, r.Again(t.master))
		for _, line := range r.Lead {
			fmt.Fprintf(t.out, "    with a further line in its plan, where an invariant was broken: %s\n", line)
		}
	}
	if r.Shrunk != nil {
		fmt.Fprint(t.out, indented(r.Shrunk.Plan))
		if r.Shrunk.Error != "" {
			fmt.Fprintf(t.out, "    not shrunk: %s\n", r.Shrunk.Error)
		}
		if r.Shrunk.Alike < r.Shrunk.Replays {
			fmt.Fprintf(t.out, "    REPLAYED %d TIMES, %d TO THE SAME SIGNATURE\n", r.Shrunk.Replays, r.Shrunk.Alike)
		}
	}
	if r.Errors > 0 {
		fmt.Fprintf(t.out, "    %s could not be carried out: %s\n", counted(r.Errors, "run"), r.Error)
	}
}
