package harness

import (
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"tidemark/checker"
	"tidemark/results/index"
)

// The checks of a part that are no class of anomaly, scenario or bug.
const (
	checkConclusive = "conclusive"  // enough of the runs say something
	checkHarness    = "the harness" // every run could be carried out
	checkCanary     = "the canary"  // what must be found is
)

// The doubts about a part, whose name follows, that a list of known failures may excuse.
const (
	doubtVacuous = "too many vacuous runs"
	doubtNoRun   = "no run"
)

// Kept is where a run of a hunt is found again.
type Kept struct {
	Run    string // the name of its directory under runs/, "" if none was kept
	Replay string // the line that carries it out again
	Again  string // the line that does so without its directory, if it has one
}

// Part is the hunt as a part of a campaign. done says that it came to its end; more than allowVacuous per cent of vacuous runs make it
// inconclusive; kept says where the run of a number is.
func (h Hunt) Part(name string, t Tally, done bool, allowVacuous float64, kept func(n int) Kept) index.Part {
	p := tallied(name, t)
	p.Subject, p.Done = h.Run.Target, done && !h.stopped(t)
	p.First, p.Real = h.First, h.Run.World == Contained
	for i, run := range h.Corpus {
		p.Checks = append(p.Checks, index.Check{Name: run.Name, Signature: run.Signature, Unlooked: !t.told[-1-i]})
	}
	if h.Seeds > 0 {
		for _, class := range checker.Classes {
			p.Checks = append(p.Checks, index.Check{Name: string(class)})
		}
	}
	p.Checks = append(p.Checks, index.Check{Name: checkConclusive}, index.Check{Name: checkHarness})
	for _, f := range t.Failures {
		h.count(&p, f, kept)
	}
	if share := 100 * p.VacuousShare(); share > allowVacuous && t.Vacuous > 0 {
		h.doubt(&p, doubtVacuous, fmt.Sprintf("%d of %d runs were vacuous, %.1f %%, at most %v %% may be", t.Vacuous, t.Runs, share, allowVacuous), t.Vacuous)
	}
	if t.Runs == 0 && h.Seeds+len(h.Corpus) > 0 {
		h.doubt(&p, doubtNoRun, "no run came to its end", 0)
	}
	p.Settle()
	return p
}

// tallied is a part with the counts of a tally.
func tallied(name string, t Tally) index.Part {
	known := ""
	if t.Known > 0 {
		known = fmt.Sprintf(" (%d known)", t.Known)
	}
	p := index.Part{
		Name: name, Runs: t.Runs, Valid: t.Valid, Invalid: t.Invalid, Known: t.Known, Vacuous: t.Vacuous, Unknown: t.Unknown, Errors: t.Errors,
		Seconds: t.Seconds, World: t.Virtual, Checks: []index.Check{}, Problems: []index.Problem{},
		Reason: fmt.Sprintf("%d valid, %d invalid%s, %d vacuous, %d unknown, %d errors", t.Valid, t.Invalid, known, t.Vacuous, t.Unknown, t.Errors),
	}
	if told := t.ending(); told != "" {
		p.Reason += "; " + told
	}
	if told := t.unlisted(); told != "" {
		p.Reason += "; without " + told
	}
	return p
}

// stopped reports whether the hunt ended because it found what it was to stop at.
func (h Hunt) stopped(t Tally) bool {
	return h.UntilFirst && t.Invalid > t.Known || h.UntilClass != "" && t.Classes[string(h.UntilClass)]+t.Allowed[string(h.UntilClass)] > 0
}

// count takes one failure into a part's problems.
func (h Hunt) count(p *index.Part, f Failure, kept func(n int) Kept) {
	q := index.Problem{Count: 1 + f.More, Reason: f.Reason, Witness: f.Witness, Seed: f.Seed, Known: f.Known, Until: f.Until, Expired: f.Expired}
	switch f.Status {
	case checker.Invalid:
		q.Kind, q.Signature = index.Violation, f.Signature
		q.Check = index.ClassOf(f.Signature)
		if f.Number < 0 {
			q.Check = h.Corpus[-1-f.Number].Name
		}
	case checker.Unknown:
		q.Kind, q.Check, q.Signature = index.Doubt, checkConclusive, "verdict unknown in "+p.Name
	case checker.Vacuous:
		return // a share of them is to be expected
	default:
		q.Kind, q.Check, q.Signature = index.Broken, checkHarness, "trouble of the harness in "+p.Name
	}
	if f.Scenario != "" {
		q.Reason = f.Name() + ": " + q.Reason
	}
	same := func(o index.Problem) bool { return o.Check == q.Check && o.Signature == q.Signature }
	if i := slices.IndexFunc(p.Problems, same); i >= 0 {
		p.Problems[i].Count += q.Count
		return
	}
	k := kept(f.Number)
	q.Run, q.Replay, q.Again = k.Run, k.Replay, k.Again
	p.Problems = append(p.Problems, q)
}

func (h Hunt) doubt(p *index.Part, what, reason string, count int) {
	signature := what + " in " + p.Name
	q := index.Problem{Check: checkConclusive, Kind: index.Doubt, Signature: signature, Reason: reason, Count: count}
	q.Known, q.Until, q.Expired = knownOn(h.Known, signature, h.Today)
	p.Problems = append(p.Problems, q)
}

// Doubted is a part that says less than it was to say, and why.
func Doubted(p index.Part, what, why string) index.Part { return doubted(p, what, why, p.Runs) }

// doubted is Doubted by so many runs.
func doubted(p index.Part, what, why string, runs int) index.Part {
	p.Reason = why
	if !slices.ContainsFunc(p.Checks, func(c index.Check) bool { return c.Name == checkConclusive }) {
		p.Checks = append(p.Checks, index.Check{Name: checkConclusive})
	}
	p.Problems = append(p.Problems, index.Problem{Check: checkConclusive, Kind: index.Doubt, Signature: what + " in " + p.Name, Reason: why, Count: runs})
	p.Settle()
	return p
}

// CanaryPart is a hunt with a known bug on, which must find it, as a part of a campaign: not to find it is trouble of the harness.
func (h Hunt) CanaryPart(name string, t Tally, done bool) index.Part {
	p := tallied(name, t)
	p.Done = done
	p.Known = p.Invalid // they are what was wanted
	p.Checks = append(p.Checks, index.Check{Name: checkCanary})
	if t.Invalid > 0 {
		p.Reason = fmt.Sprintf("%s was found in run %d", h.Run.Bug, t.Groups[0].First.Number)
	} else if done && t.Runs == 0 && t.Errors == 0 {
		return Doubted(p, "no time", "no run came to its end in the time that there was")
	} else if done {
		p.Reason = fmt.Sprintf("%s is on and was not found in %d runs (%d errors): what the other parts do not find proves nothing", h.Run.Bug, t.Runs, t.Errors)
		p.Problems = append(p.Problems, index.Problem{Check: checkCanary, Kind: index.Broken, Signature: "the canary was not found", Reason: p.Reason, Count: 1})
	}
	p.Settle()
	return p
}

// Part is the proof as a part of a campaign, a check a bug: one that was not found, or as another class, or with no bug on, is a problem. Bugs of which
// their search cannot tell are named and count for neither.
func (p Proof) Part(name string, rows []BugRow, done bool, known []Known, today time.Time) index.Part {
	out := index.Part{Name: name, Done: done, Checks: []index.Check{}, Problems: []index.Problem{}}
	found, told, starved := 0, 0, false
	for i := range rows {
		r := &rows[i]
		out.Runs += r.Runs + r.Pursued
		out.Errors += r.Errors
		out.Seconds += r.Seconds
		out.World += r.Simulated
		if r.Shrunk != nil {
			out.Seconds += r.Shrunk.Seconds
		}
		starved = starved || r.Status == BugStarved
		silent := r.Status == BugShort || r.Status == BugStarved
		out.Checks = append(out.Checks, index.Check{Name: string(r.Bug), Unlooked: silent})
		if silent {
			continue
		}
		told++
		if r.Status == BugFound {
			found++
			continue
		}
		q := index.Problem{Check: string(r.Bug), Kind: index.Missed, Signature: fmt.Sprintf("%s: %s", r.Status, r.Bug), Reason: r.Outcome(), Count: 1, Seed: r.Seed}
		q.Known, q.Until, q.Expired = knownOn(known, q.Signature, today)
		if r.Seed != 0 {
			q.Replay = r.Again(p.Master)
		} else { // no run showed it
			q.Again = Line("bugs", "--budget", p.Budget, "--no-shrink", "--master", p.Master, r.Bug)
		}
		out.Problems = append(out.Problems, q)
	}
	doubt := "no search that tells"
	switch {
	case told > 0:
		out.Reason, doubt = fmt.Sprintf("%d of %d known bugs found", found, len(rows)), ""
	case out.Runs > 0:
		out.Reason = "no search was long enough to tell"
	default:
		out.Reason, doubt = "no known bug was looked for", "no bug was looked for"
	}
	if what := untold(rows); what != "" {
		out.Reason += "; " + what
	}
	if starved {
		doubt = "searches that were starved"
	}
	if doubt != "" {
		return doubted(out, doubt, out.Reason, out.Runs)
	}
	out.Settle()
	return out
}

// NewCampaign is a campaign of this program that begins now.
func NewCampaign(label string, started time.Time, master uint64, again string) index.Campaign {
	return index.Campaign{
		Format: index.Format, Label: label, Started: started.UTC().Truncate(time.Second), Tool: Version, Build: BuildHash(), Commit: Commit(), Master: master, Again: again,
		Parts: []index.Part{},
	}
}

// Commit is the commit of the sources that this program was built from: as GitHub's CI tells it, else as the build noted it; "" if nobody did.
var Commit = sync.OnceValue(func() string {
	noted, changed := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				noted = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = ", with changes"
			}
		}
	}
	if noted == "" {
		changed = ""
	}
	return cmp.Or(os.Getenv("GITHUB_SHA"), noted+changed)
})
