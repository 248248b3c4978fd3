package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark/broker/bug"
	"tidemark/harness"
)

// bugSpreads is the table of repeated searches as JSON.
type bugSpreads struct {
	Tool      string              `json:"tool"`
	Generator string              `json:"generator"` // harness.GeneratorHash
	Masters   []string            `json:"masters"`   // decimal, as JavaScript's numbers are too small for them
	Budget    float64             `json:"budgetSeconds"`
	Workers   int                 `json:"workers"`
	Rows      []harness.BugSpread `json:"rows"`
}

// repeatBugs searches for each bug from n master seeds, and tells median and spread. It ends with 1 if a search found nothing, or another class.
func repeatBugs(c *cobra.Command, p harness.Proof, entries []bug.Entry, n int, asJSON bool) error {
	out := c.OutOrStdout()
	if asJSON {
		out = c.ErrOrStderr()
	}
	t := bugSpreads{Tool: harness.Version, Budget: p.Budget.Seconds(), Workers: p.Workers}
	for _, seed := range harness.Masters(p.Master, n) {
		t.Masters = append(t.Masters, fmt.Sprint(seed))
	}
	fmt.Fprintf(c.ErrOrStderr(), "tidemark %s, %s from %s, the first %d, %v for each on %s\n",
		harness.Version, counted(len(entries), "known bug"), counted(n, "master seed"), p.Master, p.Budget, counted(p.Workers, "worker"))
	width := 0
	for _, e := range entries {
		width = max(width, len(e.Name))
	}
	fmt.Fprintf(out, "%-*s  %3s  %7s  %-26s  %s\n", width, "bug", "row", "found", "seconds: median (from-to)", "runs: median (from-to)")
	missed := false
	for _, e := range entries {
		s, err := p.Repeat(c.Context(), e, n)
		if err != nil {
			return &outcome{exitInterrupted, errInterrupted}
		}
		row := ""
		if s.Row != 0 {
			row = fmt.Sprint(s.Row)
		}
		last := n - 1
		fmt.Fprintf(out, "%-*s  %3s  %2d of %d  %-26s  %d (%d-%d)\n", width, s.Bug, row, s.Found, s.Searches,
			fmt.Sprintf("%.1f (%.1f-%.1f)", s.Median(), s.Seconds[0], s.Seconds[last]), s.Runs[len(s.Runs)/2], s.Runs[0], s.Runs[last])
		for _, what := range s.Missed {
			fmt.Fprintf(out, "    %s\n", what)
		}
		missed = missed || s.Found < s.Searches
		t.Rows = append(t.Rows, s)
	}
	t.Generator = harness.GeneratorHash() // which takes a second: no search shares its processors with it
	fmt.Fprintf(out, "generator %s\n", t.Generator)
	if asJSON {
		if err := printJSON(c.OutOrStdout(), t, exitValid); err != nil {
			return err
		}
	}
	if missed {
		return ended(exitViolation)
	}
	return nil
}
