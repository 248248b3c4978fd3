package index

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// difference is that of a campaign that stands alone.
func difference(c Campaign) Difference {
	return Differences([]Stored{{Name: "20261130T020000Z-nightly-7", Campaign: c}})[0]
}

// TestSummaryFits: GitHub drops a summary of more than a mebibyte, so one of a thousand failures says how many it left out.
func TestSummaryFits(t *testing.T) {
	c := thousand()
	text := Summary(c, difference(c))
	if len(text) > 1<<20 || !utf8.ValidString(text) {
		t.Fatalf("%d bytes, valid %v; expected at most %d", len(text), utf8.ValidString(text), 1<<20)
	}
	if listed := strings.Count(text, "- **"); listed != 1000 || strings.Contains(text, "no room") {
		t.Errorf("%d listed, expected all 1000", listed)
	}
	for i := range 20 { // twenty thousand: there is no room for all
		part := c.Parts[0]
		part.Subject = fmt.Sprint("target ", i)
		c.Parts = append(c.Parts, part)
	}
	all := difference(c)
	text = Summary(c, all)
	listed := strings.Count(text, "- **")
	_, behind, _ := strings.Cut(text, "There is no room for ")
	if want := grouped(len(all.Changes)-listed) + " problems more"; len(text) > 1<<20 || listed < 1000 || !strings.HasPrefix(behind, want) {
		t.Errorf("%d bytes, %d listed of %d, then %.100q; expected %q", len(text), listed, len(all.Changes), behind, want)
	}
	c.Parts = c.Parts[:1]
	c.Parts[0].Problems = c.Parts[0].Problems[:3]
	if text := Summary(c, difference(c)); strings.Contains(text, "no room") || strings.Count(text, "- **") != 3 {
		t.Errorf("a summary of three has not three problems: %.2000s", text)
	}
}

// TestSummaryLeadsWithWhatIsNew reads a summary as its reader does.
func TestSummaryLeadsWithWhatIsNew(t *testing.T) {
	nights := []Stored{
		readNight(t, "one", 0, "hunt: loss, skip\n  violation skip; skip: restart; 1"),
		readNight(t, "two", 1, "hunt: loss, skip\n  violation loss; lost: election; 4\n  violation skip; skip: restart; 1; known until 2026-12-31: waits\ncontainers skipped: loss"),
	}
	nights[1].Master, nights[1].Again = 7, "bin/tidemark nightly --master 7"
	text := Summary(nights[1].Campaign, Differences(nights)[1])
	for _, want := range []string{"# nightly: FAILED", "1 new, 1 known", "bin/tidemark nightly --master 7", "## New: 1", "## Known: 1", "no engine answers", "waits"} {
		if !strings.Contains(html.UnescapeString(text), want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "## New") > strings.Index(text, "## Known") {
		t.Error("what is new does not come first")
	}
}

// marks are what would be more than text in GitHub's Markdown, outside of what a summary writes itself.
var marks = regexp.MustCompile("[`*_\\[\\]<>|~@]|&[a-z]|://")

// TestSummaryShowsHostileText: what a summary did not write itself is references and plain characters alone.
func TestSummaryShowsHostileText(t *testing.T) {
	for _, text := range append(hostile, strings.Join(hostile, "")) {
		if got := markdown(text); marks.MatchString(got) || strings.ContainsAny(got, "\n\x1b\u202e") || !utf8.ValidString(got) {
			t.Errorf("%q is written as %s", text, got)
		}
	}
	c := hostileCampaign()
	text := Summary(c, difference(c))
	for _, planted := range []string{"<script", "<img", "<h1>planted", "<!--", "](javascript", "\x1b", "\u202e", "\n::error"} {
		if strings.Contains(text, planted) {
			t.Errorf("the summary holds %q", planted)
		}
	}
}

// TestAnnotations: one line each, at most ten of a level, new before old.
func TestAnnotations(t *testing.T) {
	c := thousand()
	all := Annotations(c, difference(c))
	if len(all) != 10 || !strings.Contains(all[9], "991 more") {
		t.Errorf("%d annotations, the last %q; expected 10, and 991 more", len(all), all[len(all)-1])
	}
	c = hostileCampaign()
	all = Annotations(c, difference(c))
	levels := map[string]int{}
	for _, a := range all {
		level, _, _ := strings.Cut(strings.TrimPrefix(a, "::"), " ")
		levels[level]++
		head := strings.SplitN(a, "::", 3)
		if strings.ContainsAny(a, "\r\n\x1b") || len(head) != 3 || strings.ContainsAny(strings.TrimPrefix(head[1], level+" title="), ":,") {
			t.Errorf("annotation %q", a)
		}
	}
	if levels["error"] != 10 || levels["notice"] != 10 || len(levels) != 2 {
		t.Errorf("%v, expected ten errors and ten notices", levels)
	}
	quiet := readNight(t, "one", 0, "hunt: loss").Campaign
	if all := Annotations(quiet, difference(quiet)); len(all) != 0 {
		t.Errorf("a green night has %q", all)
	}
	quiet.Done = false
	if all := Annotations(quiet, difference(quiet)); len(all) != 1 || !strings.Contains(all[0], "interrupted") {
		t.Errorf("an interrupted night has %q", all)
	}
}
