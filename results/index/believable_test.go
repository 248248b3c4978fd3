package index

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// believed is a night that can have come about: of eight runs of its hunt two broke their contract, one of them as somebody knows.
func believed() Campaign {
	p := Part{Name: "hunt", Done: true, Runs: 8, Valid: 4, Invalid: 2, Known: 1, Vacuous: 1, Unknown: 1, Checks: []Check{{Name: "loss"}}, Problems: []Problem{
		{Check: "loss", Kind: Violation, Signature: "loss: election", Count: 1, Seed: 7, Run: "20261130T020102Z-7"},
		{Check: "loss", Kind: Violation, Signature: "loss: restart", Count: 1, Seed: 8, Known: "it waits", Until: "2026-12-31"},
		{Check: "conclusive", Kind: Doubt, Signature: "verdict unknown in hunt", Count: 1},
	}}
	p.Settle()
	canary := Part{Name: PartCanary, Status: Passed, Done: true, Runs: 3, Valid: 2, Invalid: 1, Known: 1}
	bugs := Part{Name: PartBugs, Status: Passed, Done: true, Runs: 30, Errors: 1}
	skipped := Part{Name: "containers", Status: Skipped, Reason: "no engine answers"}
	return Campaign{Label: "nightly", Started: noon.Add(-10 * time.Hour), Seconds: 60, Master: 5, Done: true, Parts: []Part{p, canary, bugs, skipped}}
}

// TestNoCampaignThatContradictsItselfIsBelieved changes one thing of a night at a time. Whatever does not fit the rest is named with its value and what was
// expected, by every door that the night is read through, and the night is green, or part of a trend, nowhere.
func TestNoCampaignThatContradictsItselfIsBelieved(t *testing.T) {
	const name = "20261130T020000Z-nightly-5"
	for _, c := range []struct {
		what   string
		change func(c *Campaign, hunt *Part)
		says   string // "" is believed
	}{
		{"as it came about", func(*Campaign, *Part) {}, ""},
		{"a night under way", func(c *Campaign, _ *Part) { c.Done = false }, ""},
		{"more problems than are listed", func(_ *Campaign, p *Part) {
			for len(p.Problems) < problemsMax {
				p.Problems = append(p.Problems, p.Problems[2])
			}
			p.Left = 3
		}, ""},
		{"passed beside a violation", func(_ *Campaign, p *Part) { p.Status = Passed },
			"status is passed, expected failed, with done true and problems that are not known, 1 of kind violation, 1 of kind inconclusive"},
		{"failed without one", func(_ *Campaign, p *Part) { p.Problems = nil }, "status is failed, expected passed, with done true and no problem that is not known"},
		{"interrupted at its end", func(_ *Campaign, p *Part) { p.Status = Interrupted }, "status is interrupted, expected failed, with done true"},
		{"passed before its end", func(c *Campaign, _ *Part) { c.Parts[2].Done = false }, `status is passed, expected interrupted, with done false and no problem that is not known (of part "bugs")`},
		{"skipped and carried out", func(_ *Campaign, p *Part) { p.Status = Skipped }, "status is skipped, with done true, 8 runs and 3 problems"},
		{"skipped at its end", func(c *Campaign, _ *Part) { c.Parts[3].Done = true }, "status is skipped, with done true, 0 runs and 0 problems"},
		{"a status that there is not", func(_ *Campaign, p *Part) { p.Status = "splendid" }, `status is "splendid", expected passed`},
		{"more known than invalid", func(_ *Campaign, p *Part) { p.Known = 3 }, "known is 3, expected at most 2"},
		{"invalid runs out of none", func(_ *Campaign, p *Part) { p.Runs = 0 }, "valid 4, invalid 2, vacuous 1, unknown 1 and errors 0, expected 0 together, as many as there are runs"},
		{"one run too many", func(_ *Campaign, p *Part) { p.Valid++ }, "valid 5, invalid 2, vacuous 1, unknown 1 and errors 0, expected 8 together"},
		{"one run too few", func(_ *Campaign, p *Part) { p.Runs++ }, "expected 9 together"},
		{"a violation turned valid", func(_ *Campaign, p *Part) { p.Valid, p.Invalid = 5, 1 }, "its problems tell of 2 violations, 1 of them known, expected at most 1 and 1: invalid is 1, known is 1"},
		{"a violation that nobody tells of", func(_ *Campaign, p *Part) { p.Problems, p.Status = p.Problems[1:], Inconclusive },
			"invalid is 2 and known is 1, expected a problem of kind violation that is not known"},
		{"a violation turned known", func(_ *Campaign, p *Part) { p.Problems[0].Known, p.Status = "it waits too", Inconclusive }, "2 of them known, expected at most 2 and 1"},
		{"a doubt that nobody tells of", func(_ *Campaign, p *Part) { p.Problems = p.Problems[:2] }, "unknown is 1, expected a problem of kind inconclusive"},
		{"trouble that nobody tells of", func(_ *Campaign, p *Part) { p.Errors, p.Valid = 1, 3 }, "errors is 1, expected a problem of kind trouble"},
		{"a violation in no run", func(_ *Campaign, p *Part) { p.Problems[0].Count = 0 }, "count of a problem of kind violation is 0"},
		{"a count below nothing", func(_ *Campaign, p *Part) { p.Problems[2].Count = -1 }, "count of a problem is -1, expected 0 to"},
		{"fewer runs than none", func(_ *Campaign, p *Part) { p.Vacuous = -1 }, "vacuous is -1, expected 0 to"},
		{"time that went back", func(_ *Campaign, p *Part) { p.Seconds = -3 }, "seconds is -3, expected 0 to"},
		{"problems left out of a short list", func(_ *Campaign, p *Part) { p.Left = 2 }, "problemsLeft is 2 beside 3 problems"},
		{"problems left below nothing", func(_ *Campaign, p *Part) { p.Left = -2 }, "problemsLeft is -2"},
		{"a canary of an older build, which counted nothing of what it found", func(c *Campaign, _ *Part) { c.Parts[1].Invalid, c.Parts[1].Known = 0, 0 }, ""},
		{"a canary that was not found", func(c *Campaign, _ *Part) { c.Parts[1].Valid, c.Parts[1].Invalid, c.Parts[1].Known = 3, 0, 0 },
			"status is passed, and of its 3 runs none found the bug: valid 3, invalid 0"},
		{"a canary that was not wanted", func(c *Campaign, _ *Part) { c.Parts[1].Known = 0 }, "invalid is 1 and known is 0, expected as many: they are what was wanted"},
		{"a canary with too many runs", func(c *Campaign, _ *Part) { c.Parts[1].Valid = 4 }, "expected 3 together at most"},
		{"verdicts of a search for bugs", func(c *Campaign, _ *Part) { c.Parts[2].Invalid = 4 }, "expected 0 of each: nobody counts those of a search for bugs"},
		{"the same part twice", func(c *Campaign, _ *Part) { c.Parts = append(c.Parts, c.Parts[1]) }, `part 5 is named "canary", as one before it`},
		{"an end of nothing", func(c *Campaign, _ *Part) { c.Parts = nil }, "done is true, and it has no parts"},
		{"a machine without processors", func(c *Campaign, _ *Part) { c.Processors = -2 }, "processors is -2"},
		{"another master seed", func(c *Campaign, _ *Part) { c.Master = 6 }, `its directory is named "20261130T020000Z-nightly-5", expected "20261130T020000Z-nightly-6"`},
		{"another label", func(c *Campaign, _ *Part) { c.Label = "hunt --acks 1" }, `expected "20261130T020000Z-hunt-acks-1-5"`},
		{"another start", func(c *Campaign, _ *Part) { c.Started = c.Started.Add(time.Hour) }, `expected "20261130T030000Z-nightly-5"`},
		{"a start to come", func(c *Campaign, _ *Part) { c.Started = noon.AddDate(1, 0, 0) }, "started is 2027-11-30T12:00:00Z, expected a time from 1970 to now, which is 2026-11-30T12:00:00Z"},
		{"a start before there were clocks", func(c *Campaign, _ *Part) { c.Started = time.Time{} }, "started is 0001-01-01T00:00:00Z, expected a time from 1970"},
		{"an end to come", func(c *Campaign, _ *Part) { c.Seconds = 1e9 }, "seconds is 1e+09, expected an end before now"},
		{"a run of another seed", func(_ *Campaign, p *Part) { p.Problems[0].Seed = 9 }, "the run 20261130T020102Z-7 of a problem has the seed 7, expected 9 as in its seed"},
		{"a run of another year", func(_ *Campaign, p *Part) { p.Problems[0].Run = "20251130T020102Z-7" }, "the run 20251130T020102Z-7 of a problem was started before or after the campaign"},
	} {
		night := believed()
		c.change(&night, &night.Parts[0])
		root := t.TempDir()
		before := believed()
		before.Master, before.Started = 4, before.Started.Add(-time.Hour)
		create(t, root, before)
		text, err := Encode(night)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, campaignsDir, name, campaignFile)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			t.Fatal(err)
		}
		x, err := Read(root, noon)
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := x.WritePage(&page, "", true); err != nil {
			t.Fatal(err)
		}
		served := ask(server(t, root), http.MethodGet, "/campaigns/"+name+"/", "localhost")
		if c.says == "" {
			if len(x.Campaigns) != 2 || len(x.Unread) != 0 || served.Code != http.StatusOK || strings.Contains(page.String(), "DAMAGED") {
				t.Errorf("%s: %d campaigns, unread %q, served %d; expected it to be believed", c.what, len(x.Campaigns), x.Unread, served.Code)
			}
			continue
		}
		l := x.Listing()
		if len(l.Campaigns) != 1 || l.Campaigns[0].Name == name || len(l.Unread) != 1 || !strings.Contains(l.Unread[0], c.says) {
			t.Errorf("%s: campaigns %v, unread %q; expected %q", c.what, l.Campaigns, l.Unread, c.says)
		}
		if n := strings.Count(page.String(), ">DAMAGED<"); n != 1 {
			t.Errorf("%s: %d rows of what is damaged, expected one", c.what, n)
		}
		if served.Code != http.StatusNotFound || !strings.Contains(served.Body.String(), "not to be believed") {
			t.Errorf("%s: served %d %s; expected the reason", c.what, served.Code, served.Body)
		}
		if _, err := Write(root, name, night, noon); !errors.Is(err, ErrIncredible) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: written with %v, expected %q", c.what, err, c.says)
		}
		next := believed()
		next.Master, next.Started = 6, next.Started.Add(time.Hour)
		after, err := Create(root, next)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Write(root, after, next, noon)
		if err != nil || d.Previous == name || len(d.Unread) != 1 || !strings.HasSuffix(d.Sentence(), ", without 1 campaign that could not be read or believed") {
			t.Errorf("%s: the night after says %q, %v", c.what, d.Sentence(), err)
		}
	}
	for _, named := range []string{name + "-2", "a night to keep"} {
		if night := believed(); night.Believable(named, noon) != nil {
			t.Errorf("a night in %s is not believed: %v", named, night.Believable(named, noon))
		}
	}
	for _, named := range []string{name + "-1", name + "-02", name + "-2000", name + "-copy"} {
		if night := believed(); night.Believable(named, noon) == nil {
			t.Errorf("a night in %s is believed", named)
		}
	}
}
