package index

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"tidemark/history/plain"
)

// The elements of JUnit's XML, as the schema of Ant's JUnit task and that of Jenkins' xUnit plugin both want them: a test case has at most one
// of failure, error and skipped, and no properties of its own.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Hostname   string          `xml:"hostname,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Package    string          `xml:"package,attr"`
	ID         int             `xml:"id,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Out        string          `xml:"system-out"`
	Err        string          `xml:"system-err"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitWrong   `xml:"failure"`
	Error   *junitWrong   `xml:"error"`
	Skipped *junitSkipped `xml:"skipped"`
}

type junitWrong struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// JUnit is a campaign as JUnit's XML: a suite a part, a test case a check, under names that stay from night to night. A violation and a known
// bug that was missed are failures; trouble of the harness and what says nothing are errors; what is expected, or could not be carried out
// here, is skipped. The last suite tells of the campaign as a whole: a case in it is an error if it was interrupted, and skipped if parts were.
// Seed, commit and the line that carries the part out again are properties of the suite and stand in its system-out; those of a failure stand
// in its text. What has no line of its own has its part's, and a part that has none the campaign's; a property that nothing is known of is left out, and
// so are verdicts that nobody counted.
func JUnit(c Campaign) []byte {
	var doc junitSuites
	for i := range c.Parts {
		doc.Suites = append(doc.Suites, junitPart(c, i))
	}
	doc.Suites = append(doc.Suites, junitWhole(c))
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(err) // strings and numbers alone
	}
	return []byte(xml.Header + plain.Lines(string(text)) + "\n")
}

// junitWhole is a suite with one case, that the campaign was carried out as a whole: what CI shows of one that was cut short.
func junitWhole(c Campaign) junitSuite {
	const class = "campaign"
	one := junitCase{Name: "carried out as a whole", Class: "tidemark." + class, Time: "0"}
	s := junitSuite{
		Name: class, Timestamp: c.Started.UTC().Format(junitTime), Hostname: "localhost", Package: "tidemark", ID: len(c.Parts), Tests: 1,
		Time: strconv.FormatFloat(max(0, c.Seconds), 'f', 3, 64), Out: plain.Line(c.Headline()) + "\n",
		Properties: known([]junitProperty{{"label", c.Label}, {"master", strconv.FormatUint(c.Master, 10)}, {"again", c.Again}, {"status", string(c.Status())}}),
	}
	switch left := c.Left(); {
	case !c.Done:
		one.Error = &junitWrong{Message: plain.Line(left), Type: string(Interrupted), Text: plain.Line(left) + "\n" + againLine("", "again", c.Again)}
		s.Errors = 1
	case left != "":
		one.Skipped = &junitSkipped{plain.Line(left)}
		s.Skipped = 1
	}
	s.Cases = []junitCase{one}
	return s
}

// junitTime is how the schemas write a time.
const junitTime = "2006-01-02T15:04:05"

func junitPart(c Campaign, i int) junitSuite {
	p := &c.Parts[i]
	s := junitSuite{
		Name: orWord(plain.Line(p.title()), "part"), Timestamp: c.Started.UTC().Format(junitTime), Hostname: "localhost", Package: "tidemark", ID: i,
		Time: strconv.FormatFloat(max(0, p.Seconds), 'f', 3, 64),
	}
	again := cmp.Or(p.Again, c.Again)
	s.Properties = known([]junitProperty{
		{"master", strconv.FormatUint(c.Master, 10)}, {"commit", c.Commit}, {"tool", c.Tool}, {"build", c.Build}, {"again", again}, {"status", string(p.Status)},
	})
	class := "tidemark." + plain.Line(p.title())
	for _, check := range p.Checks {
		one := junitCase{Name: plain.Line(check.Name), Class: class, Time: "0"}
		var found []Problem
		for _, q := range p.Problems {
			if q.Check == check.Name {
				found = append(found, q)
			}
		}
		one.judge(found, p, check, again)
		switch {
		case one.Failure != nil:
			s.Failures++
		case one.Error != nil:
			s.Errors++
		case one.Skipped != nil:
			s.Skipped++
		}
		s.Cases = append(s.Cases, one)
	}
	s.Tests = len(s.Cases)
	s.Out = fmt.Sprintf("%s\n%s\nmaster seed %d, commit %s\n%s", plain.Line(p.Reason), p.figures(), c.Master, orWord(plain.Line(c.Commit), "unknown"), againLine("", "again", again))
	left := ""
	if p.Left > 0 {
		left = counted(p.Left, "further signature") + " of this part are not listed"
	}
	for _, text := range []string{left, bugText(&c), c.Busy()} {
		if text != "" {
			s.Out += plain.Line(text) + ".\n"
		}
	}
	return s
}

// figures are how many runs a part had, and what they came to, as far as that was counted.
func (p *Part) figures() string {
	text := counted(p.Runs, "run") + ": "
	if p.judged() {
		text += fmt.Sprintf("%d valid, %d invalid (%d known), %d vacuous, %d unknown, ", p.Valid, p.Invalid, p.Known, p.Vacuous, p.Unknown)
	}
	return text + counted(p.Errors, "error")
}

// known are those properties of which something is known, in one line each.
func known(all []junitProperty) (out []junitProperty) {
	for _, p := range all {
		if p.Value = plain.Line(p.Value); strings.TrimSpace(p.Value) != "" {
			out = append(out, p)
		}
	}
	return out
}

// againLine is a line of a text that tells how to carry something out again; "" if nobody knows.
func againLine(indent, word, line string) string {
	if strings.TrimSpace(line) == "" {
		return ""
	}
	return indent + word + ": " + plain.Line(line) + "\n"
}

// title is a part's name, and whose brokers ran if they were not this program's own.
func (p *Part) title() string {
	if p.Subject == "" || p.Subject == p.Name {
		return p.Name
	}
	return p.Name + " " + p.Subject
}

// junitTextMax bounds the text of one failure in bytes.
const junitTextMax = 64 << 10

// judge says of a check what its problems make of it; the problems are in order of weight, those that nobody knows before the others of
// their kind. again carries the part out again.
func (one *junitCase) judge(found []Problem, p *Part, check Check, again string) {
	var worst *Problem
	var known []string
	for i := range found {
		switch q := &found[i]; {
		case q.Known != "":
			known = append(known, fmt.Sprintf("known until %s: %s (%s)", q.Until, q.Known, q.Signature))
		case worst == nil || kindRank[q.Kind] < kindRank[worst.Kind]:
			worst = q
		}
	}
	switch {
	case worst != nil:
		message := worst.Signature + ": " + worst.Reason
		if n := len(found) - 1; n > 0 {
			message += fmt.Sprintf(" (and %s, see the text)", counted(n, "further signature"))
		}
		wrong := &junitWrong{Message: plain.Line(message), Type: plain.Line(string(worst.Kind)), Text: junitText(found, again)}
		if worst.Kind == Violation || worst.Kind == Missed {
			one.Failure = wrong
		} else {
			one.Error = wrong
		}
	case len(known) > 0:
		one.Skipped = &junitSkipped{plain.Line(joined(known, "; ", junitTextMax))}
	case p.Status == Skipped:
		one.Skipped = &junitSkipped{plain.Line(p.Reason)}
	case !p.Done:
		one.Skipped = &junitSkipped{"its part did not come to its end"}
	case check.Unlooked:
		one.Skipped = &junitSkipped{"it was not carried out, or says nothing"}
	}
}

// joined is texts with something between, as many as there is room for in bytes, and how many were left out.
func joined(texts []string, between string, most int) string {
	var out strings.Builder
	for i, text := range texts {
		if i > 0 && out.Len()+len(text) > most {
			fmt.Fprintf(&out, "%sand %d more, see %s", between, len(texts)-i, campaignFile)
			break
		}
		if i > 0 {
			out.WriteString(between)
		}
		out.WriteString(text)
	}
	return out.String()
}

// junitText tells of all that a check found: every signature first, of which a part has problemsMax at most, then as many of them in full as there is
// room for.
func junitText(found []Problem, again string) string {
	var out strings.Builder
	if len(found) > 1 {
		fmt.Fprintf(&out, "%s:\n", counted(len(found), "signature"))
		for i := range found {
			fmt.Fprintf(&out, "  %s, in %s\n", plain.Line(found[i].Signature), counted(found[i].Count, "run"))
		}
		out.WriteString("\n")
	}
	full := make([]string, len(found))
	for i := range found {
		full[i] = found[i].full(again)
	}
	out.WriteString(joined(full, "", junitTextMax))
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// full is a problem with all ways to see it again: if it has none of its own, by again, which carries out its part.
func (p *Problem) full(again string) string {
	text := fmt.Sprintf("%s\n  %s\n", plain.Line(p.Signature), plain.Line(p.told()))
	switch {
	case p.Count > 0 && p.Seed != 0:
		text += fmt.Sprintf("  in %s, the first: seed %d\n", counted(p.Count, "run"), p.Seed)
	case p.Count > 0:
		text += fmt.Sprintf("  in %s\n", counted(p.Count, "run"))
	}
	without := "again"
	if p.Run != "" {
		without += ", without its directory"
	}
	for _, l := range []struct{ word, value string }{
		{"replay", p.Replay}, {without, p.Again}, {"report", reportOf(p.Run)}, {p.left(), reportOf(p.Smallest)},
		{"no longer known", p.Expired},
	} {
		if l.value != "" {
			text += fmt.Sprintf("  %s: %s\n", l.word, plain.Line(l.value))
		}
	}
	if p.Replay == "" && p.Again == "" {
		text += againLine("  ", "again, with all of its part", again)
	}
	if p.Known != "" {
		text += fmt.Sprintf("  known until %s: %s\n", plain.Line(p.Until), plain.Line(p.Known))
	}
	return text
}

// reportOf is the page of a run by the name of its directory; "" if it has none.
func reportOf(run string) string {
	if run == "" {
		return ""
	}
	return runsDir + "/" + run + "/" + reportFile
}

func orWord(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}
