// Package index is what people and CI get of many runs: campaigns, each a hunt or a night, what is new between them, and the pages and
// formats that tell of it.
//
// Beside runs/ stands campaigns/ with index.html, the page of all runs and campaigns, and for each campaign a directory
// campaigns/<UTC time>-<label>-<master seed>/ with
//
//	campaign.json    what was looked at and what was found, see Campaign; written anew after each part
//	junit.xml        the same as JUnit's XML, a test case a check
//	summary.md       the same for GitHub's job summary, with what is new
//	index.html       the same to read
package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Format is the version of campaign.json that this package reads and writes.
const Format = 1

// Bounds on what a campaign tells.
const (
	problemsMax = 1000
	checksMax   = 12_000
	partsMax    = 64
	textMax     = 2000 // bytes of a sentence
	nameMax     = 300  // bytes of a name
)

// Status is how a part of a campaign, or the whole, ended.
type Status string

// The statuses. Only Passed is green.
const (
	Passed       Status = "passed"
	Failed       Status = "failed"       // something broke its word
	Inconclusive Status = "inconclusive" // too much was unknown or vacuous, or nothing ran
	Trouble      Status = "trouble"      // of the harness, or of what it stands on
	Interrupted  Status = "interrupted"
	Skipped      Status = "skipped" // not possible here; Reason says why
)

// rank orders statuses by what outranks what.
var rank = map[Status]int{Skipped: 0, Passed: 1, Inconclusive: 2, Trouble: 3, Interrupted: 4, Failed: 5}

// Kind is what is the matter.
type Kind string

// The kinds of problems.
const (
	Violation Kind = "violation"    // a contract was broken
	Missed    Kind = "missed"       // a known bug was not found
	Doubt     Kind = "inconclusive" // runs that say nothing
	Broken    Kind = "trouble"      // the harness failed
)

// Campaign is a hunt or a night: parts that were carried out one after another. Campaigns of one label are compared with each other.
type Campaign struct {
	Format  int       `json:"format"`
	Label   string    `json:"label"`            // what kind of campaign it is: nightly, or a hunt with its options
	Started time.Time `json:"started"`          // UTC
	Seconds float64   `json:"seconds"`          // that it took
	Tool    string    `json:"tool"`             // the tool's version
	Build   string    `json:"build"`            // the hash of its program
	Commit  string    `json:"commit,omitempty"` // of the sources that it was built from, as far as it is known
	Master  uint64    `json:"master,string"`    // the seed that the runs' seeds were drawn from
	Again   string    `json:"again"`            // the line that carries it out again
	Bug     string    `json:"bug,omitempty"`    // the known bug that was switched on, to see it found
	Done    bool      `json:"done"`             // it came to its end
	// Processors is how many the machine had: what a Part's Load is to be measured by.
	Processors int    `json:"processors,omitempty"`
	Parts      []Part `json:"parts"`
}

// The parts whose runs have a known bug on, which is to be found.
const (
	PartCanary = "canary"
	PartBugs   = "bugs"
)

// Part is a part of a campaign: a hunt, a corpus, the known bugs, runs in containers.
type Part struct {
	Name    string  `json:"name"`
	Subject string  `json:"subject,omitempty"` // whose brokers ran, such as apache-kafka:4.1.0; "" for this program's own
	Status  Status  `json:"status"`
	Reason  string  `json:"reason"`          // a sentence
	Again   string  `json:"again,omitempty"` // the line that carries it out again
	Done    bool    `json:"done"`            // it came to its end
	First   int     `json:"first,omitempty"` // the number of the first run that was drawn
	Real    bool    `json:"real,omitempty"`  // its runs were in containers: others each time, whatever their seeds
	Runs    int     `json:"runs"`
	Valid   int     `json:"valid"`
	Invalid int     `json:"invalid"`
	Known   int     `json:"known"` // of those invalid, the ones that are expected
	Vacuous int     `json:"vacuous"`
	Unknown int     `json:"unknown"`
	Errors  int     `json:"errors"`
	Seconds float64 `json:"seconds"`        // of real time
	World   float64 `json:"worldSeconds"`   // on the runs' own clocks
	Load    float64 `json:"load,omitempty"` // how many programs wanted a processor, in the mean of the part's last minute; 0 if nobody knows
	// Checks is all that was looked at, by names that stay from night to night, also where nothing was found.
	Checks   []Check   `json:"checks"`
	Problems []Problem `json:"problems"`
	Left     int       `json:"problemsLeft,omitempty"` // further ones, which are not listed
}

// Check is one thing that a part looked at: a class of anomaly, a scenario of the corpus, a known bug.
type Check struct {
	Name      string `json:"name"`
	Signature string `json:"signature,omitempty"`   // of a scenario of the corpus: the failure for which it was kept
	Unlooked  bool   `json:"notLookedAt,omitempty"` // it was not carried out, or says nothing, as a run that was vacuous
}

// Problem is what a check found, all runs that failed alike.
type Problem struct {
	Check     string `json:"check"`             // by which it was found
	Kind      Kind   `json:"kind"`              // what is the matter
	Signature string `json:"signature"`         // names it, from night to night
	Count     int    `json:"count"`             // how many runs
	Reason    string `json:"reason"`            // of the first run, a sentence
	Witness   string `json:"witness,omitempty"` // of its first violation, in words
	Seed      uint64 `json:"seed,string,omitempty"`
	Replay    string `json:"replay,omitempty"`   // the line that carries the first run out again
	Again     string `json:"again,omitempty"`    // the line that finds the first run once more without its directory, if it has one
	Run       string `json:"run,omitempty"`      // the name of its directory under runs/, "" if none was kept
	Smallest  string `json:"smallest,omitempty"` // the directory of what shrinking left of it, likewise
	// Unfinished says that shrinking it was stopped before its end, so that Smallest is not the smallest there is.
	Unfinished bool   `json:"smallestUnfinished,omitempty"`
	Known      string `json:"known,omitempty"`   // why it is expected, "" if nobody knows it
	Until      string `json:"until,omitempty"`   // the last day on which it is
	Expired    string `json:"expired,omitempty"` // that it was expected and is no longer
}

// left says what Smallest is.
func (p *Problem) left() string {
	if p.Unfinished {
		return "what shrinking had left of it when it was stopped before its end"
	}
	return "what shrinking left of it"
}

// Looked reports whether the part came to its end, so that what it did not find was not there to be found.
func (p *Part) Looked() bool { return p.Done && (p.Status == Passed || p.Status == Failed) }

// VacuousShare is the share of its runs that were vacuous, 0 to 1.
func (p *Part) VacuousShare() float64 {
	if p.Runs == 0 {
		return 0
	}
	return float64(p.Vacuous) / float64(p.Runs)
}

// Verdicts are how many runs were valid, invalid, known, vacuous and unknown, as a table has them: dashes where nobody counts them, as of the runs of
// a search for a known bug.
func (p *Part) Verdicts() []string {
	counts := []int{p.Valid, p.Invalid, p.Known, p.Vacuous, p.Unknown}
	out := make([]string, len(counts))
	for i, n := range counts {
		if out[i] = "–"; p.judged() {
			out[i] = grouped(n)
		}
	}
	return out
}

// judged reports whether a part counts its runs by their verdicts.
func (p *Part) judged() bool { return p.Runs <= p.Errors || p.Valid+p.Invalid+p.Vacuous+p.Unknown > 0 }

// Status is how the campaign ended: as the part of it that ended worst; Inconclusive if not one run was carried out.
func (c *Campaign) Status() Status {
	worst, runs := Skipped, 0
	for i := range c.Parts {
		runs += c.Parts[i].Runs
		if s := c.Parts[i].Status; rank[s] > rank[worst] {
			worst = s
		}
	}
	if rank[worst] < rank[Inconclusive] && runs == 0 {
		worst = Inconclusive
	}
	if !c.Done && rank[worst] < rank[Interrupted] {
		worst = Interrupted
	}
	return worst
}

// Headline is the campaign's status for people, with what it does not stand for: that it was interrupted, and the parts that were skipped.
func (c *Campaign) Headline() string {
	status := c.Status()
	text := strings.ToUpper(string(status))
	if !c.Done && status != Interrupted {
		text += ", INTERRUPTED"
	}
	var without []string
	for i := range c.Parts {
		if p := &c.Parts[i]; p.Status == Skipped {
			without = append(without, p.Name)
		}
	}
	if len(without) > 0 {
		text += ", WITHOUT " + strings.Join(without, ", ")
	}
	return text
}

// Left says what of the campaign was not carried out, and why; "" if nothing was left out.
func (c *Campaign) Left() string {
	var parts []string
	for i := range c.Parts {
		switch p := &c.Parts[i]; {
		case p.Status == Skipped:
			parts = append(parts, fmt.Sprintf("%s (%s)", p.title(), p.Reason))
		case !c.Done && !p.Done:
			parts = append(parts, fmt.Sprintf("%s (it did not come to its end)", p.title()))
		}
	}
	left := strings.Join(parts, "; ")
	switch {
	case !c.Done && left == "":
		return "It was interrupted, or is under way: this is not all of it"
	case !c.Done:
		return "It was interrupted, or is under way: this is not all of it. Left out: " + left
	case left != "":
		return "Not all of it was carried out. Left out: " + left
	default:
		return ""
	}
}

// busyLoad is how many programs for each processor make a machine a busy one: a night's own take one each.
const busyLoad = 2

// Busy says of a machine that had much else to do what that means for the campaign; "" if it had not.
func (c *Campaign) Busy() string {
	load := 0.0
	for i := range c.Parts {
		load = max(load, c.Parts[i].Load)
	}
	if c.Processors == 0 || load <= float64(busyLoad*c.Processors) {
		return ""
	}
	return fmt.Sprintf("The machine was busy: up to %.0f programs wanted its %s. Less was carried out than could have been, and a run in containers may have failed, or said nothing, for that alone", load, counted(c.Processors, "processor"))
}

// Sum is all parts as one, without their checks and problems.
func (c *Campaign) Sum() Part {
	sum := Part{Name: c.Label, Status: c.Status(), Seconds: c.Seconds}
	for i := range c.Parts {
		p := &c.Parts[i]
		sum.Runs += p.Runs
		sum.Valid += p.Valid
		sum.Invalid += p.Invalid
		sum.Known += p.Known
		sum.Vacuous += p.Vacuous
		sum.Unknown += p.Unknown
		sum.Errors += p.Errors
		sum.World += p.World
	}
	return sum
}

// Settle brings a part into the form in which it is kept: bounded, in a fixed order, and with the status that its problems make it.
// A part that was skipped stays so.
func (p *Part) Settle() {
	slices.SortStableFunc(p.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(kindRank[a.Kind], kindRank[b.Kind]), cmp.Compare(len(a.Known), len(b.Known)), cmp.Compare(b.Count, a.Count))
	})
	if n := len(p.Problems); n > problemsMax {
		p.Left += n - problemsMax
		p.Problems = p.Problems[:problemsMax]
	}
	p.Checks = p.Checks[:min(len(p.Checks), checksMax)]
	for i := range p.Problems {
		q := &p.Problems[i]
		for _, text := range []*string{&q.Reason, &q.Witness, &q.Replay, &q.Again, &q.Known, &q.Expired} {
			*text = clip(*text, textMax)
		}
		q.Check, q.Signature = clip(q.Check, nameMax), clip(q.Signature, nameMax)
	}
	p.Reason = clip(p.Reason, textMax)
	if p.Status != Skipped {
		p.Status = p.settled()
	}
}

// settled is the status that its problems make of a part that was not skipped.
func (p *Part) settled() Status {
	status := Passed
	if !p.Done {
		status = Interrupted
	}
	for i := range p.Problems {
		if s := p.Problems[i].status(); rank[s] > rank[status] {
			status = s
		}
	}
	return status
}

var kindRank = map[Kind]int{Violation: 0, Missed: 1, Broken: 2, Doubt: 3}

// status is what a problem makes of its part.
func (p *Problem) status() Status {
	switch {
	case p.Known != "":
		return Passed
	case p.Kind == Broken:
		return Trouble
	case p.Kind == Doubt:
		return Inconclusive
	default:
		return Failed
	}
}

// clip shortens a text to at most max bytes, at the start of a character, and makes it valid UTF-8.
func clip(text string, max int) string {
	if len(text) > max {
		text = text[:max] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
