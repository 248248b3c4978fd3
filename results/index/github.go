package index

import (
	"fmt"
	"strings"
)

// summaryBytesMax bounds a summary: GitHub drops one of more than 1 MiB whole.
const summaryBytesMax = 1000 << 10

// The least and the most characters that a summary has for one text of one problem, before they are escaped, which makes six of one at most.
const (
	summaryTextMin = 40
	summaryTextMax = 600
)

// room is how many characters there are for one text where so many problems are to fit, each with four texts.
func room(problems int) int {
	return min(summaryTextMax, max(summaryTextMin, summaryBytesMax*9/10/(max(1, problems)*6*4)))
}

// annotationsMax is how many annotations of one level GitHub shows of a step.
const annotationsMax = 10

// Summary is a campaign as GitHub's job summary: the verdict, what is new, the parts, then the problems, as many as there is room for.
func Summary(c Campaign, d Difference) string {
	var out strings.Builder
	sum := c.Sum()
	fmt.Fprintf(&out, "# %s: %s\n\n", markdown(c.Label), strings.ToUpper(string(sum.Status)))
	fmt.Fprintf(&out, "%s. %s in %s.\n\n", markdown(d.Sentence()), counted(sum.Runs, "run"), lasted(c.Seconds))
	fmt.Fprintf(&out, "Master seed %s, commit %s. Again:\n\n%s\n\n", code(fmt.Sprint(c.Master)), code(orWord(c.Commit, "unknown")), block(c.Again))
	out.WriteString("| part | status | runs | valid | invalid | known | vacuous | unknown | errors | time |  |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for i := range c.Parts {
		p := &c.Parts[i]
		fmt.Fprintf(&out, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %s | %s |\n", markdown(clipRunes(p.title(), nameMax)), p.Status, p.Runs, p.Valid, p.Invalid,
			p.Known, p.Vacuous, p.Unknown, p.Errors, lasted(p.Seconds), markdown(clipRunes(p.Reason, summaryTextMax)))
	}
	left, most := 0, room(len(d.Changes))
	for _, standing := range Standings {
		changes := d.Of(standing)
		if len(changes) == 0 {
			continue
		}
		head := fmt.Sprintf("\n## %s: %d\n\n", strings.ToUpper(string(standing[:1]))+string(standing[1:]), len(changes))
		for _, change := range changes {
			text := head + changeLines(change, most)
			if out.Len()+len(text) > summaryBytesMax-200 {
				left++
				continue
			}
			out.WriteString(text)
			head = ""
		}
	}
	if left > 0 {
		fmt.Fprintf(&out, "\nThere is no room for %s more; `%s` and `%s` among the artefacts have them all.\n", counted(left, "problem"), pageFile, campaignFile)
	}
	return out.String()
}

// changeLines tells of one problem, in texts of at most so many characters. A line to paste is told whole or not at all.
func changeLines(c Change, most int) string {
	p := &c.Problem
	var out strings.Builder
	fmt.Fprintf(&out, "- **%s** (%s, in %s of %s)", markdown(clipRunes(p.Signature, min(most, nameMax))), p.Kind, counted(p.Count, "run"), markdown(clipRunes(strings.Join(c.Parts, ", "), min(most, nameMax))))
	if c.Subject != "" {
		fmt.Fprintf(&out, " on %s", markdown(clipRunes(c.Subject, nameMax)))
	}
	fmt.Fprintf(&out, "<br>%s", markdown(clipRunes(p.Reason, most)))
	switch {
	case c.Standing == Expected:
		fmt.Fprintf(&out, "<br>known until %s: %s", markdown(clipRunes(p.Until, nameMax)), markdown(clipRunes(p.Known, most)))
	case c.How != "":
		fmt.Fprintf(&out, "<br>%s", markdown(clipRunes(c.How, most)))
	case p.Expired != "":
		fmt.Fprintf(&out, "<br>no longer known: %s", markdown(clipRunes(p.Expired, most)))
	}
	if c.Standing != Resolved && p.Replay != "" {
		fmt.Fprintf(&out, "<br>seed %s", code(fmt.Sprint(p.Seed)))
		if len(p.Replay) <= max(most, summaryTextMax/3) {
			fmt.Fprintf(&out, ", replay %s", code(p.Replay))
		}
	}
	return out.String() + "\n"
}

// clipRunes shortens a text to at most max characters.
func clipRunes(text string, max int) string {
	n := 0
	for i := range text {
		if n == max {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// Annotations are workflow commands that GitHub shows beside the job: an error for each problem that makes it red, new ones first, a notice
// for each that is known. At most ten of a level; the last tells how many more there are.
func Annotations(c Campaign, d Difference) []string {
	var errors, notices []string
	for _, s := range []Standing{New, Failing} {
		for _, change := range d.Of(s) {
			errors = append(errors, command("error", string(s)+": "+change.Problem.Signature, change.Problem.Reason+"\n"+change.Problem.Replay))
		}
	}
	for _, change := range d.Of(Expected) {
		notices = append(notices, command("notice", "known until "+change.Problem.Until+": "+change.Problem.Signature, change.Problem.Known))
	}
	out := bounded("error", errors)
	if status := c.Status(); len(errors) == 0 && status != Passed {
		out = append(out, command("error", c.Label+": "+string(status), "see the job's summary"))
	}
	return append(out, bounded("notice", notices)...)
}

func bounded(level string, all []string) []string {
	if len(all) <= annotationsMax {
		return all
	}
	more := len(all) - annotationsMax + 1
	return append(all[:annotationsMax-1:annotationsMax-1], command(level, fmt.Sprintf("%d more", more), "see the job's summary"))
}

// command is a workflow command of GitHub's, in one line whatever stands in it.
func command(level, title, message string) string {
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s", level, property.Replace(line(clipRunes(title, nameMax))), escape.Replace(lines(clipRunes(message, summaryTextMax))))
}
