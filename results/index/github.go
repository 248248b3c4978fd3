package index

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/history/plain"
)

// summaryBytesMax bounds a summary: GitHub drops one of more than 1 MiB whole.
const summaryBytesMax = 1000 << 10

// The least and the most characters that a summary has for one text of one problem, before they are escaped, which makes six of one at most.
const (
	summaryTextMin = 40
	summaryTextMax = 600
)

// room is how many characters there are for one text where so many problems are to fit, each with five texts.
func room(problems int) int {
	return min(summaryTextMax, max(summaryTextMin, summaryBytesMax*9/10/(max(1, problems)*6*5)))
}

// annotationsMax is how many annotations of one level GitHub shows of a step.
const annotationsMax = 10

// Summary is a campaign as GitHub's job summary: the verdict, what is new, the parts, then the problems, as many as there is room for.
func Summary(c Campaign, d Difference) string {
	var out strings.Builder
	sum := c.Sum()
	fmt.Fprintf(&out, "# %s: %s\n\n", markdown(c.Label), markdown(c.Headline()))
	fmt.Fprintf(&out, "%s. %s in %s.\n\n", markdown(d.Sentence()), counted(sum.Runs, "run"), lasted(c.Seconds))
	for _, text := range []string{clipRunes(c.Left(), summaryTextMax), bugText(&c), c.Busy()} {
		if text != "" {
			fmt.Fprintf(&out, "%s.\n\n", markdown(text))
		}
	}
	fmt.Fprintf(&out, "Master seed %s, commit %s. Again:\n\n%s\n\n", code(fmt.Sprint(c.Master)), code(orWord(c.Commit, "unknown")), block(c.Again))
	out.WriteString("| part | status | runs | valid | invalid | known | vacuous | unknown | errors | time |  |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for i := range c.Parts {
		p := &c.Parts[i]
		fmt.Fprintf(&out, "| %s | %s | %d | %s | %d | %s | %s |\n", markdown(clipRunes(p.title(), nameMax)), markdown(string(p.Status)), p.Runs, strings.Join(p.Verdicts(), " | "),
			p.Errors, lasted(p.Seconds), markdown(clipRunes(p.Reason, summaryTextMax)))
	}
	left, most := 0, room(len(d.Changes))
	for _, standing := range Standings {
		changes := d.Of(standing)
		if len(changes) == 0 {
			continue
		}
		head := fmt.Sprintf("\n## %s: %d\n\n", strings.ToUpper(string(standing[:1]))+string(standing[1:]), len(changes))
		for _, f := range d.Families(standing) {
			text := head + familyLines(&f, most)
			if out.Len()+len(text) > summaryBytesMax-summaryTail {
				left += len(f.Changes)
				continue
			}
			out.WriteString(text)
			head = ""
			left += furtherLines(&out, f.Changes[1:], most)
		}
	}
	if left > 0 {
		fmt.Fprintf(&out, "\nThere is no room for %s more; `%s` and `%s` among the artefacts have them all.\n", counted(left, "problem"), pageFile, campaignFile)
	}
	return plain.Lines(out.String())
}

// bugText says that a campaign had a known bug on; "" if it had not.
func bugText(c *Campaign) string {
	if c.Bug == "" {
		return ""
	}
	return fmt.Sprintf("The known bug %s was switched on, to see it found", c.Bug)
}

// summaryTail is the room for the last words of a summary, in bytes.
const summaryTail = 300

// familyLines tells of a family by its first problem, in texts of at most so many characters. A line to paste is told whole or not at all.
func familyLines(f *Family, most int) string {
	c := f.First()
	p := &c.Problem
	var out strings.Builder
	fmt.Fprintf(&out, "- **%s** (%s, %s)", markdown(clipRunes(f.Title(), min(most, nameMax))), markdown(string(p.Kind)), markdown(clipRunes(f.Shown(), min(most, nameMax))))
	if c.Subject != "" {
		fmt.Fprintf(&out, " on %s", markdown(clipRunes(c.Subject, nameMax)))
	}
	if len(f.Changes) > 1 {
		fmt.Fprintf(&out, "<br>most often: %s", markdown(clipRunes(p.Signature, min(most, nameMax))))
	}
	if c.Standing != Resolved {
		fmt.Fprintf(&out, "<br>%s", markdown(clipRunes(p.told(), most)))
	}
	switch {
	case c.Standing == Expected:
		fmt.Fprintf(&out, "<br>known until %s: %s", markdown(clipRunes(p.Until, nameMax)), markdown(clipRunes(p.Known, most)))
	case f.How() != "":
		fmt.Fprintf(&out, "<br>%s", markdown(clipRunes(f.How(), most)))
	case p.Expired != "":
		fmt.Fprintf(&out, "<br>no longer known: %s", markdown(clipRunes(p.Expired, most)))
	}
	if c.Standing != Resolved && p.Replay != "" {
		fmt.Fprintf(&out, "<br>seed %s", code(fmt.Sprint(p.Seed)))
		if len(p.Replay) <= max(most, summaryTextMax/3) {
			fmt.Fprintf(&out, ", replay %s", code(p.Replay))
		}
		if p.Again != "" && len(p.Again) <= max(most, summaryTextMax/3) {
			fmt.Fprintf(&out, ", without its directory %s", code(p.Again))
		}
	}
	return out.String() + "\n"
}

// told is what happened in the first run, in words.
func (p *Problem) told() string { return strings.TrimSpace(p.Reason + " " + p.Witness) }

// furtherLines writes the other problems of a family, folded, and returns for how many there was no room.
func furtherLines(out *strings.Builder, changes []Change, most int) (left int) {
	if len(changes) == 0 {
		return 0
	}
	const tail = "\n</details>\n\n"
	fmt.Fprintf(out, "\n<details><summary>%s</summary>\n\n", counted(len(changes), "further signature"))
	for i := range changes {
		c := &changes[i]
		text := fmt.Sprintf("- %s (%s)", markdown(clipRunes(c.Problem.Signature, min(most, nameMax))), counted(c.Problem.Count, "run"))
		switch {
		case c.Standing == Resolved:
			text += "<br>" + markdown(clipRunes(c.How, most))
		case len(c.Problem.Replay) > 0 && len(c.Problem.Replay) <= max(most, summaryTextMax/3):
			text += "<br>" + code(c.Problem.Replay)
		}
		if out.Len()+len(text)+len(tail) > summaryBytesMax-summaryTail {
			left++
			continue
		}
		out.WriteString(text + "\n")
	}
	out.WriteString(tail)
	return left
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

// Annotations are workflow commands that GitHub shows beside the job: an error for each family of problems that makes it red, new ones first, a
// notice for each that is known. At most ten of a level; the last tells how many more there are.
func Annotations(c Campaign, d Difference) []string {
	var errors, notices []string
	for _, s := range []Standing{New, Failing} {
		for _, f := range d.Families(s) {
			p := &f.First().Problem
			errors = append(errors, command("error", string(s)+": "+f.Title(), f.Shown()+"\n"+p.Reason+"\n"+p.Replay))
		}
	}
	for _, f := range d.Families(Expected) {
		p := &f.First().Problem
		notices = append(notices, command("notice", "known until "+p.Until+": "+f.Title(), f.Shown()+"\n"+p.Known))
	}
	if !c.Done {
		errors = slices.Insert(errors, 0, command("error", c.Label+": interrupted", c.Left()))
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
	return fmt.Sprintf("::%s title=%s::%s", level, property.Replace(plain.Line(clipRunes(title, nameMax))), escape.Replace(plain.Lines(clipRunes(message, summaryTextMax))))
}
