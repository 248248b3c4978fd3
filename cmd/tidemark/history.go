package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history"
)

func historyCommand() *cobra.Command {
	var p harness.Past
	var list, asJSON bool
	var out string
	var pages pastPages
	c := &cobra.Command{
		Use:   "history [NAME...]",
		Short: "Show published losses of releases of Apache Kafka",
		Long: "Carries out the scenario of each published defect (or the named ones) on the release of Apache Kafka that has it, and on releases that\n" +
			"have it no longer, in containers, one run after the other. It ends with 1 if one was found in fewer than four of five runs, or in a\n" +
			"release that has it no longer. Images are made as tidemark target build makes them.",
		RunE: func(c *cobra.Command, args []string) error {
			defects, err := defectsNamed(args)
			if err != nil {
				return usage(err)
			}
			if list && asJSON {
				return printJSON(c.OutOrStdout(), listedDefects(defects), exitValid)
			}
			if list {
				for _, d := range defects {
					fmt.Fprintf(c.OutOrStdout(), "%s, in %s, fixed in %s: %s\n%s", d.Name, d.Release, strings.Join(d.Fixed, ", "), d.Says, indented(d.Run.Plan))
				}
				return nil
			}
			if err := cmp.Or(wholeWithin("times", p.Times, 1, timesMax), wholeWithin("controls", p.Controls, 0, timesMax)); err != nil {
				return usage(err)
			}
			return showPast(c, p, defects, out, pages, asJSON)
		},
	}
	f := c.Flags()
	f.BoolVar(&list, "list", false, "carry out nothing: tell of each defect, its releases and its plan")
	f.IntVar(&p.Times, "times", 10, "runs of the release that has a defect")
	f.IntVar(&p.Controls, "controls", 3, "runs of each release that has it no longer")
	f.StringVar(&out, "out", ".", "directory in which runs/ stands")
	f.BoolVar(&asJSON, "json", false, "print the table as JSON; with --list, what the defects are")
	f.StringVar(&pages.table, "table", "", "keep the table in this file, as JSON: rows of defects that are not named stay as they are there")
	f.StringVar(&pages.markdown, "markdown", "", "also write the table to this file, as Markdown")
	return c
}

// defectsNamed finds the named defects, all if none is named.
func defectsNamed(names []string) ([]harness.Defect, error) {
	all, err := harness.Defects()
	if err != nil || len(names) == 0 {
		return all, err
	}
	var out []harness.Defect
	for _, name := range names {
		i := slices.IndexFunc(all, func(d harness.Defect) bool { return strings.EqualFold(d.Name, name) })
		if i < 0 {
			var known []string
			for _, d := range all {
				known = append(known, d.Name)
			}
			return nil, fmt.Errorf("defect %q, expected one of %s", name, strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// listedDefects is what history --list --json tells of each.
func listedDefects(defects []harness.Defect) (out []map[string]any) {
	for _, d := range defects {
		out = append(out, map[string]any{"defect": d.Name, "release": d.Release, "fixed": d.Fixed, "says": d.Says, "class": d.Class, "plan": d.Run.Plan})
	}
	return out
}

// showPast carries out the runs of defects, prints a row each as it comes, and writes the table.
func showPast(c *cobra.Command, p harness.Past, defects []harness.Defect, out string, pages pastPages, asJSON bool) error {
	t, err := pages.read()
	if err != nil {
		return usage(err)
	}
	if err := admit(c, defects[0].Run); err != nil {
		return err
	}
	log, told := c.ErrOrStderr(), c.OutOrStdout()
	if asJSON {
		told = log // stdout holds the JSON alone
	}
	var again string
	carry := carryAnywhere(out, log, &again)
	p.Carry = func(ctx context.Context, run history.Run) (*harness.Result, string, error) {
		res, err := carry(ctx, run)
		return res, again, err
	}
	p.Each = func(d harness.Defect, release string, n, of int, told string) {
		fmt.Fprintf(log, "%s on %s, %d of %d: %s\n", d.Name, release, n, of, told)
	}
	order, err := harness.Defects()
	if err != nil {
		return trouble(err)
	}
	ok := true
	for _, d := range defects {
		row, err := p.Try(c.Context(), d)
		if c.Context().Err() == nil {
			t.Put(row, order)
		}
		fmt.Fprint(told, row.String())
		switch {
		case c.Context().Err() != nil:
			return &outcome{exitInterrupted, errInterrupted}
		case err != nil:
			return trouble(err)
		}
		if err := pages.write(t); err != nil { // row by row: all of them take an hour
			return trouble(err)
		}
		ok = ok && row.Shown()
	}
	fmt.Fprintln(told, t.Summary())
	code := exitValid
	if !ok {
		code = exitViolation
	}
	if asJSON {
		return printJSON(c.OutOrStdout(), t, code)
	}
	return ended(code)
}

// pastPages are the files in which the table is kept, each "" for none.
type pastPages struct{ table, markdown string }

// read is the table as it was kept, empty where there is none yet.
func (p pastPages) read() (t harness.PastTable, err error) {
	if p.table == "" {
		return t, nil
	}
	text, err := readBounded(p.table)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return t, fmt.Errorf("--table: %w", err)
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("--table %s: %w, expected what history --json prints", p.table, err)
	}
	return t, nil
}

// write keeps the table.
func (p pastPages) write(t harness.PastTable) error {
	if p.table != "" {
		if err := writeJSON(p.table, t); err != nil {
			return err
		}
	}
	if p.markdown == "" {
		return nil
	}
	return putText(p.markdown, []byte(t.Markdown()))
}
