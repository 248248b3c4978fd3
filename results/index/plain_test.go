package index

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

// TestNothingStoredSteers: whatever field of a campaign holds what steers a terminal or turns writing, nothing of it is in a page, in the summary, in JUnit's XML or in
// an annotation.
func TestNothingStoredSteers(t *testing.T) {
	const steers = "\x1b[2J\u202egnp\u2066\u009b31m\x7f"
	c := hostileCampaign()
	c.Label, c.Tool, c.Build, c.Commit, c.Again, c.Bug = steers, steers, steers, steers, steers, steers
	for i := range c.Parts {
		p := &c.Parts[i]
		p.Status, p.Name, p.Subject = Status(steers), steers, steers
		for j := range p.Problems {
			p.Problems[j].Kind = Kind(steers)
		}
	}
	x := Index{Campaigns: []Stored{{steers, c}}, Runs: []Run{{Name: steers, World: steers, Target: steers, Bug: steers, Status: steers, Reason: steers}}, Unread: []string{steers}}
	d, ok := x.Difference(steers)
	if !ok {
		t.Fatal("the campaign is not found")
	}
	var all, one bytes.Buffer
	if err := x.WritePage(&all, "", true); err != nil {
		t.Fatal(err)
	}
	if err := x.WritePage(&one, steers, false); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"the page": all.String(), "the campaign's page": one.String(), "the summary": Summary(c, d), "JUnit's XML": string(JUnit(c)),
		"the annotations": strings.Join(Annotations(c, d), "\n")} {
		for i, r := range text {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Errorf("%s holds %U: %q", name, r, text[max(0, i-60):i+len(string(r))])
				break
			}
		}
	}
}
