package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tidemark/broker/bug"
)

// listedBug is a known bug as JSON tells of it.
type listedBug struct {
	Name     bug.Name `json:"name"`
	Row      int      `json:"row,omitempty"`
	Source   string   `json:"source"`
	Mutation string   `json:"mutation"`
	Shows    []string `json:"shows"`
	Visible  bool     `json:"visible"`
	Needs    []string `json:"needs,omitempty"`
}

func listedBugs(entries []bug.Entry) []listedBug {
	out := make([]listedBug, len(entries))
	for i, e := range entries {
		out[i] = listedBug{e.Name, e.Row, e.Source, e.Mutation, e.Shows, e.Visible, e.Needs}
	}
	return out
}

// listBugs tells of the entries, by the part of the protocol that each breaks, and of what was looked at and cannot be here.
func listBugs(w io.Writer, entries []bug.Entry) {
	fmt.Fprintln(w, "Each bug is a real mistake of a Kafka-style log, told of by its source. \"row\" is its number among the mistakes that were looked at;\n"+
		"one without was made up by somebody who did not know the search.")
	for _, s := range append(slices.Clip(bug.Sections), bug.Beyond) {
		told := false
		for _, e := range s.Entries {
			if !slices.ContainsFunc(entries, func(w bug.Entry) bool { return w.Name == e.Name }) {
				continue
			}
			if !told {
				fmt.Fprintf(w, "\n%s\n", s.Title)
				told = true
			}
			seen := "seen by clients"
			if !e.Visible {
				seen = "seen by the invariants alone"
			}
			fmt.Fprintf(w, "\n  %s (%s)\n%s%s", e.Name, e.Origin(), folded("      "+e.Mutation+"."),
				folded("      shows as: "+strings.Join(e.Shows, ", ")+"; "+seen))
			if len(e.Needs) > 0 {
				fmt.Fprintf(w, "%s", folded("      brought out by: "+strings.Join(e.Needs, ", ")))
			}
		}
	}
	if len(entries) < len(bug.Registry) {
		return
	}
	fmt.Fprintln(w, "\nNot applicable here")
	for _, n := range bug.NotApplicable {
		fmt.Fprint(w, folded(fmt.Sprintf("  row %d (%s): %s", n.Row, n.Source, n.Reason)))
	}
}
