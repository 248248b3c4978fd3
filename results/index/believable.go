package index

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrIncredible is of a campaign that cannot have come about as it is told.
var ErrIncredible = errors.New("the campaign is not to be believed")

func incredible(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrIncredible}, args...)...)
}

// clockSlack is by how much the clocks of two machines, or one before and after it was set, may be apart.
const clockSlack = 24 * time.Hour

// Believable looks whether a campaign that was read from a directory of some name can have come about as it tells: its counts add up, the status of each
// part is what its problems make it, and it is the campaign that the directory was made for. The error, an ErrIncredible, names the field, its value and
// what was expected.
func (c *Campaign) Believable(name string, now time.Time) error {
	switch {
	case c.Started.Before(time.Unix(0, 0)) || c.Started.After(now.Add(clockSlack)):
		return incredible("started is %s, expected a time from 1970 to now, which is %s", stamp(c.Started), stamp(now))
	case c.Processors < 0:
		return incredible("processors is %d, expected 0 or more", c.Processors)
	case c.Done && len(c.Parts) == 0:
		return incredible("done is true, and it has no parts, expected one at least")
	}
	if err := plausible("seconds", c.Seconds); err != nil {
		return err
	}
	if c.end().After(now.Add(clockSlack)) {
		return incredible("seconds is %g, expected an end before now, which is %s, of what was started at %s", c.Seconds, stamp(now), stamp(c.Started))
	}
	if err := c.checkName(name); err != nil {
		return err
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		if slices.ContainsFunc(c.Parts[:i], func(o Part) bool { return o.Name == p.Name }) {
			return incredible("part %d is named %.80q, as one before it, expected a name of its own", i+1, p.Name)
		}
		err := p.believable()
		for j := 0; err == nil && j < len(p.Problems); j++ {
			err = c.ofIts(&p.Problems[j])
		}
		if err != nil {
			return fmt.Errorf("%w (of part %.80q)", err, p.Name)
		}
	}
	return nil
}

// end is when the campaign came to its end, or was written last.
func (c *Campaign) end() time.Time { return c.Started.Add(time.Duration(min(c.Seconds, 1e9) * 1e9)) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// stamped matches a name that begins as Create begins it.
var stamped = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-`)

// checkName looks whether a directory that has a name as Create gives them has that of this campaign. Somebody may have given it another altogether.
func (c *Campaign) checkName(name string) error {
	own := c.stem()
	if !stamped.MatchString(name) || name == own {
		return nil
	}
	if suffix, found := strings.CutPrefix(name, own+"-"); found {
		if n, err := strconv.Atoi(suffix); err == nil && n >= 2 && n <= twinsMax && strconv.Itoa(n) == suffix {
			return nil
		}
	}
	return incredible("its directory is named %.300q, expected %.300q, or that with a number behind it, by its started, label and master", name, own)
}

// ofIts looks whether the run that shows a problem can be one of the campaign's, as far as the name of its directory tells.
func (c *Campaign) ofIts(q *Problem) error {
	seed := seedOf(q.Run)
	if seed == "" {
		return nil
	}
	if own := strconv.FormatUint(q.Seed, 10); seed != own {
		return incredible("the run %s of a problem has the seed %s, expected %s as in its seed", q.Run, seed, own)
	}
	first, last := c.Started.Add(-clockSlack), c.end().Add(clockSlack)
	if at, err := startOf(q.Run); err != nil || at.Before(first) || at.After(last) {
		return incredible("the run %s of a problem was started before or after the campaign, expected one from %s to %s", q.Run, stamp(first), stamp(last))
	}
	return nil
}

// believable looks at one part.
func (p *Part) believable() error {
	if _, known := rank[p.Status]; !known {
		return incredible("status is %.80q, expected %s, %s, %s, %s, %s or %s", p.Status, Passed, Failed, Inconclusive, Trouble, Interrupted, Skipped)
	}
	if err := p.plausible(); err != nil {
		return err
	}
	if p.Left < 0 || p.Left > 0 && len(p.Problems) != problemsMax {
		return incredible("problemsLeft is %d beside %s, expected 0, or more only beside %d", p.Left, counted(len(p.Problems), "problem"), problemsMax)
	}
	if p.Status == Skipped {
		if p.Done || p.Runs > 0 || len(p.Problems) > 0 {
			return incredible("status is %s, with done %t, %s and %s, expected nothing of all that", Skipped, p.Done, counted(p.Runs, "run"), counted(len(p.Problems), "problem"))
		}
	} else if status := p.settled(); p.Status != status {
		return incredible("status is %s, expected %s, with done %t and %s", p.Status, status, p.Done, p.told())
	}
	return p.addUp()
}

// told says of what kinds a part's problems are.
func (p *Part) told() string {
	var kinds []string
	for _, kind := range []Kind{Violation, Missed, Broken, Doubt} {
		n := 0
		for i := range p.Problems {
			if q := &p.Problems[i]; q.Kind == kind && q.Known == "" {
				n++
			}
		}
		if n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d of kind %s", n, kind))
		}
	}
	if len(kinds) == 0 {
		return "no problem that is not known"
	}
	return "problems that are not known, " + strings.Join(kinds, ", ")
}

// addUp looks whether a part's counts add up, and whether its problems tell of as many runs. What the canary is to find is no problem, and
// nobody counts what the runs of a search for bugs came to.
func (p *Part) addUp() error {
	judged := p.Valid + p.Invalid + p.Vacuous + p.Unknown
	sum := fmt.Sprintf("valid %d, invalid %d, vacuous %d, unknown %d", p.Valid, p.Invalid, p.Vacuous, p.Unknown)
	switch {
	case p.Name == PartBugs && judged+p.Known > 0:
		return incredible("%s, known %d, expected 0 of each: nobody counts those of a search for bugs", sum, p.Known)
	case p.Name == PartBugs:
		return nil
	case p.Name == PartCanary && judged+p.Errors > p.Runs:
		return incredible("%s and errors %d, expected %d together at most, as many as there are runs", sum, p.Errors, p.Runs)
	case p.Name == PartCanary && p.Invalid != p.Known:
		return incredible("invalid is %d and known is %d, expected as many: they are what was wanted", p.Invalid, p.Known)
	case p.Name == PartCanary && p.Status == Passed && p.Invalid == 0 && judged+p.Errors == p.Runs: // older builds counted those that found it under no verdict
		return incredible("status is %s, and of its %s none found the bug: %s and errors %d, expected one at least that is invalid", p.Status, counted(p.Runs, "run"), sum, p.Errors)
	case p.Name != PartCanary && judged+p.Errors != p.Runs:
		return incredible("%s and errors %d, expected %d together, as many as there are runs", sum, p.Errors, p.Runs)
	case p.Known > p.Invalid:
		return incredible("known is %d, expected at most %d, as many as are invalid", p.Known, p.Invalid)
	case p.Name == PartCanary:
		return nil
	}
	var known, violations, broken, doubts int
	for i := range p.Problems {
		switch q := &p.Problems[i]; {
		case q.Kind == Violation && q.Known != "":
			known += q.Count
		case q.Kind == Violation:
			violations += q.Count
		case q.Kind == Broken:
			broken++
		case q.Kind == Doubt:
			doubts++
		}
	}
	switch unknown := p.Invalid - p.Known; {
	case violations > unknown || known > p.Known:
		return incredible("its problems tell of %d violations, %d of them known, expected at most %d and %d: invalid is %d, known is %d", violations+known, known, p.Invalid, p.Known, p.Invalid, p.Known)
	case violations == 0 && unknown > 0: // a list that was cut begins with them
		return incredible("invalid is %d and known is %d, expected a problem of kind %s that is not known", p.Invalid, p.Known, Violation)
	case broken == 0 && p.Errors > 0 && p.Left == 0:
		return incredible("errors is %d, expected a problem of kind %s", p.Errors, Broken)
	case doubts == 0 && p.Unknown > 0 && p.Left == 0:
		return incredible("unknown is %d, expected a problem of kind %s", p.Unknown, Doubt)
	}
	return nil
}

// figureMax bounds every figure of a campaign: sums of them stay numbers.
const figureMax = 1e12

// plausible looks whether a figure can be one.
func plausible(name string, x float64) error {
	if !(x >= 0 && x <= figureMax) {
		return incredible("%s is %g, expected 0 to %g", name, x, figureMax)
	}
	return nil
}

// plausible looks whether a part's figures can be ones.
func (p *Part) plausible() error {
	for _, f := range []struct {
		name string
		x    float64
	}{
		{"first", float64(p.First)}, {"runs", float64(p.Runs)}, {"valid", float64(p.Valid)}, {"invalid", float64(p.Invalid)}, {"known", float64(p.Known)}, {"vacuous", float64(p.Vacuous)},
		{"unknown", float64(p.Unknown)}, {"errors", float64(p.Errors)}, {"seconds", p.Seconds}, {"worldSeconds", p.World}, {"load", p.Load},
	} {
		if err := plausible(f.name, f.x); err != nil {
			return err
		}
	}
	for i := range p.Problems {
		q := &p.Problems[i]
		if err := plausible("count of a problem", float64(q.Count)); err != nil {
			return err
		}
		if q.Kind == Violation && q.Count == 0 {
			return incredible("count of a problem of kind %s is 0, expected 1 or more", Violation)
		}
	}
	return nil
}
