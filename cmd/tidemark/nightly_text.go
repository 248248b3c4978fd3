package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"tidemark/history/plain"
	"tidemark/results/index"
)

// Bounds on the block that ends a night, so that it fits a screen.
const (
	nightTold    = 6   // families of problems
	nightColumns = 120 // of a line
)

// nightText is a night in a block that fits a screen of so many columns: its parts, and what changed. With 0, as where no terminal is, nothing is cut.
func nightText(c index.Campaign, d index.Difference, columns int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", c.Headline(), d.Sentence())
	if !c.Done {
		fmt.Fprintln(&out, "it was interrupted: this is not all of the night, and what was not seen may be there")
	}
	if c.Bug != "" {
		fmt.Fprintf(&out, "bug on: %s\n", c.Bug)
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		fmt.Fprintf(&out, "  %-10s %-12s %5d runs %5.0f s  %s\n", p.Name, p.Status, p.Runs, p.Seconds, fitted(p.Reason, columns-46))
	}
	if busy := c.Busy(); busy != "" {
		fmt.Fprintf(&out, "%s.\n", busy)
	}
	told, all := 0, 0
	for _, standing := range index.Standings {
		families := d.Families(standing)
		all += len(families)
		for i := range families {
			if told < nightTold {
				told++
				out.WriteString(familyText(&families[i], standing, columns))
			}
		}
	}
	if all > told {
		fmt.Fprintf(&out, "  and %d more on the page\n", all-told)
	}
	return out.String()
}

// familyText is what the block tells of a family of problems: two lines.
func familyText(f *index.Family, standing index.Standing, columns int) string {
	first := f.First()
	shown := ", " + f.Shown()
	text := fmt.Sprintf("%s: %s%s\n", standing, fitted(f.Title(), columns-len(standing)-len(shown)-2), shown)
	switch {
	case standing == index.Expected:
		text += fmt.Sprintf("  until %s: %s\n", first.Problem.Until, fitted(first.Problem.Known, columns-20))
	case f.How() != "":
		text += fmt.Sprintf("  %s\n", fitted(f.How(), columns-2))
	case first.Problem.Expired != "":
		text += fmt.Sprintf("  no longer known: %s\n", fitted(first.Problem.Expired, columns-20))
	case first.Problem.Replay != "":
		text += fmt.Sprintf("  %s\n", plain.Line(first.Problem.Replay))
	default:
		text += fmt.Sprintf("  %s\n", fitted(first.Problem.Reason, columns-2))
	}
	return text
}

// fitted is a text in one line of at most so many characters, and whole if there is no such bound.
func fitted(text string, most int) string {
	line := []rune(plain.Line(text))
	if most <= 0 || len(line) <= most {
		return string(line)
	}
	return string(line[:most-1]) + "…"
}

// columnsOf is how many columns a block on stdout is fitted to: none where no terminal is, so that whatever reads it gets all of it.
func columnsOf(stdout io.Writer) int {
	if f, ok := stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return nightColumns
	}
	return 0
}

// tellGitHub writes the job's summary and the annotations, where GitHub's CI runs this program.
func tellGitHub(c index.Campaign, d index.Difference, out io.Writer) (err error) {
	if os.Getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	for _, line := range index.Annotations(c, d) {
		fmt.Fprintln(out, line)
	}
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, index.Summary(c, d))
	return errors.Join(err, f.Close())
}
