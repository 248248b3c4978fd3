package index

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Standing is how a problem of one campaign stands to the campaigns before.
type Standing string

// The standings, in the order in which people want to hear of them.
const (
	New      Standing = "new"
	Failing  Standing = "still failing"
	Resolved Standing = "resolved"
	Unseen   Standing = "not seen" // in too few runs to tell whether it is gone
	Expected Standing = "known"    // until its expiry
	Unlooked Standing = "not looked at"
)

// Standings lists them in that order.
var Standings = []Standing{New, Failing, Resolved, Unseen, Expected, Unlooked}

// Change is one problem, and how it stands.
type Change struct {
	Problem  Problem  `json:"problem"` // as it was seen last
	Subject  string   `json:"subject,omitempty"`
	Parts    []string `json:"parts"` // that saw it, in the campaign that saw it last
	Standing Standing `json:"standing"`
	Since    string   `json:"since"`             // the campaign that saw it first, by name
	Last     string   `json:"last"`              // the campaign that saw it last
	Nights   int      `json:"nights"`            // in how many campaigns on end it was seen, this one too; those that carried out the same runs are one
	How      string   `json:"how,omitempty"`     // of one that is resolved or was not looked at: by what that is known
	Runs     []string `json:"runs,omitempty"`    // directories under runs/ that show it, from all its campaigns, the newest first
	Missing  []string `json:"missing,omitempty"` // of one that was not looked at: the parts that did not come to their end
}

// Difference is a campaign beside those before it of the same label.
type Difference struct {
	Name     string   `json:"name"`               // of the campaign
	Previous string   `json:"previous,omitempty"` // the campaign before it, "" if it is the first
	Changes  []Change `json:"changes"`            // in order of Standings
	Unread   []string `json:"unread,omitempty"`   // campaigns that could not be read, are not to be believed, or are copies, in words: nothing was compared with them
}

// Of lists the changes of one standing.
func (d *Difference) Of(s Standing) []Change {
	var out []Change
	for _, c := range d.Changes {
		if c.Standing == s {
			out = append(out, c)
		}
	}
	return out
}

// Sentence is the difference in one.
func (d *Difference) Sentence() string {
	var words []string
	for _, s := range Standings {
		n := len(d.Of(s))
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", n, s)
		if kinds := len(d.Families(s)); kinds < n {
			text += " of " + counted(kinds, "kind")
		}
		words = append(words, text)
	}
	what := strings.Join(words, ", ")
	if what == "" {
		what = "nothing failed"
	}
	if d.Previous == "" {
		what += "; the first campaign of its label"
	} else {
		what += ", since " + d.Previous
	}
	if n := len(d.Unread) - copiesAmong(d.Unread); n > 0 {
		what += fmt.Sprintf(", without %s that could not be read or believed", counted(n, "campaign"))
	}
	return what
}

// Stored is a campaign under the name of its directory.
type Stored struct {
	Name string
	Campaign
}

// runsOfChange bounds the runs that are listed beside a problem.
const runsOfChange = 20

// open is a problem that was seen and not yet seen to be gone.
type open struct {
	change  Change
	seen    bool              // in the campaign at hand
	rate    rate              // at which random runs of the last campaign that saw it did
	without int               // random runs since, in which it was not seen
	taken   taken             // the random runs of both, each once
	nights  map[sighting]bool // those on end that saw it
	counted bool              // the campaign at hand is among Nights
}

// Differences tells of each campaign how its problems stand to those before. It wants campaigns of one label, the oldest first.
//
// A problem is the same if its signature and the brokers it is about are. A violation is resolved when the scenario that was kept of it holds, or when the
// parts that had seen it have carried out so many runs without it that it would have been seen, see rate, each run once; as long as it is neither, it was not seen, or,
// without any such run, not looked at. So a night without containers resolves nothing that containers showed. A known bug that was missed is resolved
// when a part looks for it and finds it, trouble when the part that had it comes to its end without.
func Differences(campaigns []Stored) []Difference {
	out := make([]Difference, 0, len(campaigns))
	problems := map[string]*open{}
	previous := ""
	for i := range campaigns {
		c := &campaigns[i]
		d := Difference{Name: c.Name, Previous: previous, Changes: []Change{}}
		see(problems, c)
		for _, key := range slices.Sorted(maps.Keys(problems)) {
			p := problems[key]
			if !p.seen {
				p.absent(c)
				if p.change.Standing == Resolved {
					delete(problems, key)
				}
			}
			d.Changes = append(d.Changes, p.change.copied())
			p.seen = false
		}
		slices.SortStableFunc(d.Changes, func(a, b Change) int {
			return cmp.Or(cmp.Compare(slices.Index(Standings, a.Standing), slices.Index(Standings, b.Standing)),
				cmp.Compare(kindRank[a.Problem.Kind], kindRank[b.Problem.Kind]), cmp.Compare(b.Problem.Count, a.Problem.Count))
		})
		out = append(out, d)
		previous = c.Name
	}
	return out
}

// see takes a campaign's problems into those that are open.
func see(problems map[string]*open, c *Stored) {
	for i := range c.Parts {
		part := &c.Parts[i]
		for _, found := range part.Problems {
			key := part.Subject + "\x00" + found.Signature
			p := problems[key]
			switch {
			case p == nil:
				p = &open{change: Change{Subject: part.Subject, Standing: New, Since: c.Name}, nights: map[sighting]bool{}}
				problems[key] = p
			case !p.seen:
				p.change.Standing = Failing
			}
			p.add(c, part, found)
		}
	}
}

// add takes down that a part of a campaign saw the problem; perhaps another part of the same campaign did before.
func (p *open) add(campaign *Stored, part *Part, found Problem) {
	c, again := &p.change, p.seen
	p.seen = true
	if found.Run != "" && !slices.Contains(c.Runs, found.Run) {
		c.Runs = slices.Insert(c.Runs, 0, found.Run)
		c.Runs = c.Runs[:min(len(c.Runs), runsOfChange)]
	}
	if !again {
		p.rate, p.without, p.taken, p.counted = rate{}, 0, taken{}, false
	}
	if found.atRandom() {
		p.rate.seen += found.Count
		p.rate.runs += part.telling()
		p.taken.take(campaign.source(part), part.span())
	}
	if by := (sighting{campaign.source(part), part.First}); !p.nights[by] {
		p.nights[by] = true
		if !p.counted {
			c.Nights++
			p.counted = true
		}
	}
	if again {
		c.Problem.Count += found.Count
		c.Parts = append(c.Parts, part.Name)
		return
	}
	c.Problem, c.Parts, c.Last, c.How, c.Missing = found, []string{part.Name}, campaign.Name, "", nil
	if found.Known != "" {
		c.Standing = Expected
	}
}

// absent says of a problem that a campaign did not see whether it is resolved.
func (p *open) absent(campaign *Stored) {
	c := &p.change
	c.Standing, c.How, c.Missing, c.Nights = Unlooked, "", nil, 0
	clear(p.nights)
	var held, looked []string
	for i := range campaign.Parts {
		part := &campaign.Parts[i]
		if part.Status == Skipped || part.Subject != c.Subject {
			continue
		}
		held = append(held, part.held(c)...)
		if slices.Contains(c.Parts, part.Name) && part.lookedFor(&c.Problem) {
			looked = append(looked, fmt.Sprintf("%s of %s", counted(part.Runs, "run"), part.Name))
			p.without += p.taken.take(campaign.source(part), part.span())
		}
	}
	switch {
	case len(held) > 0:
		c.Standing, c.How = Resolved, fmt.Sprintf("the scenario that was kept of it holds now: %s", strings.Join(held, ", "))
	case len(looked) > 0 && c.Problem.Kind != Violation:
		c.Standing, c.How = Resolved, "not seen in "+strings.Join(looked, ", ")
	case p.without > 0 && p.without >= p.rate.enough():
		c.Standing, c.How = Resolved, fmt.Sprintf("not seen in %s: it was seen in %v", counted(p.without, "run"), p.rate)
	case len(looked) > 0 && p.without > 0:
		c.Standing, c.How = Unseen, fmt.Sprintf("not seen in %s, too few to tell: it was seen in %v, so it takes %s without it", counted(p.without, "run"), p.rate, counted(p.rate.enough(), "run"))
	case len(looked) > 0:
		c.Standing, c.How = Unseen, "not seen, in runs that were counted before: the same seeds on the same build tell nothing new"
	default:
		c.Missing = slices.Clone(c.Parts)
		c.How = campaign.unlooked(c.Parts) + ", so nobody can tell whether it is gone"
	}
}

// unlooked says why none of the named parts, which saw a problem before, can tell of it: they were left out on purpose, skipped, or did not get so far.
func (c *Campaign) unlooked(parts []string) string {
	var words []string
	why := map[string][]string{}
	for _, name := range parts {
		word := "did not come to an end, or did not look for it"
		switch i := slices.IndexFunc(c.Parts, func(p Part) bool { return p.Name == name }); {
		case i < 0 && c.Done:
			word = "left out"
		case i < 0:
			word = "did not get its turn"
		case c.Parts[i].Status == Skipped:
			word = "skipped"
		}
		if why[word] == nil {
			words = append(words, word)
		}
		why[word] = append(why[word], name)
	}
	for i, word := range words {
		names := why[word]
		if word == "left out" || word == "skipped" {
			were := "was "
			if len(names) > 1 {
				were = "were "
			}
			word = were + word
		}
		words[i] = strings.Join(names, " and ") + " " + word
	}
	return strings.Join(words, ", ")
}

// held are the scenarios of a part that came to their end, had been kept of the problem or had shown it, and found nothing.
func (p *Part) held(c *Change) (names []string) {
	for _, check := range p.Checks {
		of := check.Signature == c.Problem.Signature || check.Name == c.Problem.Check && slices.Contains(c.Parts, p.Name)
		if of && check.Signature != "" && !check.Unlooked && !slices.ContainsFunc(p.Problems, func(q Problem) bool { return q.Check == check.Name }) {
			names = append(names, check.Name)
		}
	}
	return names
}

// lookedFor reports whether the part would have told of a problem if it had been there to be seen. A part may draw its checks anew each night, so a check
// must be among them; trouble, and what says nothing, is the whole part's. How much it says that a violation was not seen is another question.
func (p *Part) lookedFor(q *Problem) bool {
	switch q.Kind {
	case Violation:
		return q.atRandom() && p.covers(q) && p.telling() > 0
	case Missed:
		return p.covers(q)
	default:
		return p.Looked()
	}
}

// covers reports whether the part has a problem's check, and carried it out.
func (p *Part) covers(q *Problem) bool {
	return slices.ContainsFunc(p.Checks, func(c Check) bool { return c.Name == q.Check && !c.Unlooked })
}

// telling is how many of the part's drawn runs came to a verdict that says something: those in which a violation would have been seen. A scenario of the
// corpus is the same run whenever it is carried out, and speaks for itself alone, see held.
func (p *Part) telling() int {
	n := p.Valid + p.Invalid
	for i := range p.Checks {
		if c := &p.Checks[i]; c.scenario() && !c.Unlooked {
			n--
		}
	}
	return max(0, n)
}

// scenario reports whether the check is a scenario of the corpus, named by its file, and not a class of anomaly or a bug.
func (c *Check) scenario() bool { return c.Signature != "" || strings.HasSuffix(c.Name, ".txt") }

// copied is the change with lists of its own.
func (c *Change) copied() Change {
	out := *c
	out.Parts, out.Runs, out.Missing = slices.Clone(c.Parts), slices.Clone(c.Runs), slices.Clone(c.Missing)
	return out
}

// Labels sorts campaigns by label: each with its campaigns, the oldest first, and the label whose newest campaign is the newest of all first.
func Labels(campaigns []Stored) [][]Stored {
	by := map[string][]Stored{}
	for _, c := range campaigns {
		by[c.Label] = append(by[c.Label], c)
	}
	out := slices.Collect(maps.Values(by))
	for _, of := range out {
		slices.SortFunc(of, func(a, b Stored) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name)) })
	}
	slices.SortFunc(out, func(a, b []Stored) int {
		return cmp.Or(b[len(b)-1].Started.Compare(a[len(a)-1].Started), cmp.Compare(a[0].Label, b[0].Label))
	})
	return out
}
