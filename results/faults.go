package results

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// life is a fault's phases, each at its first time; a negative time is a phase that it never reached.
type life struct {
	fault                                                           int
	kind, line, detail                                              string
	targets                                                         []history.BrokerID
	requested, applied, observed, undone, verified, refused, failed time.Duration
	begun                                                           time.Duration // when it began to strike, as a witness tells it
}

// faultLives gathers each plan line's phases, in order of the plan. The steps tell when some began to strike.
func faultLives(events []history.FaultEvent, steps []history.Step) []life {
	index := map[int]int{}
	var lives []life
	for _, e := range events {
		i, ok := index[e.Fault]
		if !ok {
			i = len(lives)
			index[e.Fault] = i
			lives = append(lives, life{fault: e.Fault, requested: -1, applied: -1, observed: -1, undone: -1, verified: -1, refused: -1, failed: -1})
		}
		l := &lives[i]
		l.kind, l.line = e.Kind, e.Line
		if len(e.Targets) > 0 {
			l.targets = e.Targets
		}
		if e.Detail != "" && len(l.detail) < 2*textRunesMax {
			if l.detail != "" {
				l.detail += "; "
			}
			l.detail += string(e.Phase) + ": " + e.Detail
		}
		if t := l.phase(e.Phase); t != nil && *t < 0 {
			*t = e.Time
		}
	}
	for i := range lives {
		l := &lives[i]
		s := checker.Strike{Kind: l.kind, Line: l.line, Brokers: l.targets, Requested: int64(l.requested), Applied: int64(l.applied), Observed: int64(l.observed)}
		l.begun = time.Duration(s.Begun(steps))
	}
	slices.SortStableFunc(lives, func(a, b life) int { return a.fault - b.fault })
	return lives
}

func (l *life) phase(p history.FaultPhase) *time.Duration {
	switch p {
	case history.FaultRequested:
		return &l.requested
	case history.FaultApplied:
		return &l.applied
	case history.FaultObserved:
		return &l.observed
	case history.FaultUndone:
		return &l.undone
	case history.FaultVerified:
		return &l.verified
	case history.FaultRefused:
		return &l.refused
	case history.FaultFailed:
		return &l.failed
	default:
		return nil
	}
}

// fate says in a word how far the fault came. Only an observed fault counts.
func (l *life) fate() string {
	switch {
	case l.failed >= 0:
		return "failed"
	case l.refused >= 0:
		return "refused"
	case l.struck() && l.verified >= 0:
		return "took effect"
	case l.struck():
		return "left behind"
	case l.applied >= 0:
		return "not seen to take effect"
	default:
		return "not applied"
	}
}

// struck reports whether the fault took effect: a probe saw it in force, and nobody found that it did not last. It is what Stats counts, too.
func (l *life) struck() bool { return l.observed >= 0 && l.failed < 0 }

// whom says which brokers the fault struck. A ring names none, as it is about all.
func (l *life) whom() string {
	switch {
	case len(l.targets) > 0:
		return brokersWord(l.targets)
	case l.kind == "partition" && l.applied >= 0:
		return "all"
	default:
		return "–"
	}
}

// faultView is a fault's life as a row.
type faultView struct {
	Number                                         int // of the plan's faults, from 1
	Kind, Line, Fate, Targets, Detail              string
	Requested, Applied, Observed, Undone, Verified string
}

func faultViews(lives []life) (views []faultView, struck int) {
	for i := range lives {
		l := &lives[i]
		if l.struck() {
			struck++
		}
		if i >= faultsMax {
			continue
		}
		views = append(views, faultView{
			Number: l.fault + 1, Kind: clip(l.kind, 40), Line: clip(l.line, 300), Fate: l.fate(), Targets: l.whom(), Detail: clip(l.detail, 400),
			Requested: phaseWord(l.requested), Applied: phaseWord(l.applied), Observed: phaseWord(l.observed),
			Undone: phaseWord(l.undone), Verified: phaseWord(l.verified),
		})
	}
	return views, struck
}

func phaseWord(t time.Duration) string {
	if t < 0 {
		return "–"
	}
	return strconv.FormatFloat(t.Seconds(), 'f', 3, 64)
}

// band is a fault in force, drawn behind the charts.
type band struct {
	From    seconds `json:"from"`
	To      seconds `json:"to"`
	Applied seconds `json:"applied,omitempty"` // when it was applied whole, where that was much later than From
	Fault   int     `json:"fault"`             // of the plan's faults, from 1
	Kind    string  `json:"kind"`
	Line    string  `json:"line"`
}

// bandsOf lists the faults that demonstrably took effect, from when they began to strike to their undoing.
func bandsOf(lives []life, end time.Duration) []band {
	bands := []band{}
	for i := range lives {
		l := &lives[i]
		if !l.struck() || len(bands) == faultsMax {
			continue
		}
		from, to := l.begun, l.ended()
		if to < from {
			to = end
		}
		b := band{From: seconds(from), To: seconds(to), Fault: l.fault + 1, Kind: clip(l.kind, 40), Line: clip(l.line, 200)}
		if l.late() {
			b.Applied = seconds(l.applied)
		}
		bands = append(bands, b)
	}
	return bands
}

// late reports whether the fault was applied whole much later than it began to strike.
func (l *life) late() bool { return checker.AppliedLate(l.kind, int64(l.begun), int64(l.applied)) }

// ended is when a fault was undone, negative if it was not.
func (l *life) ended() time.Duration {
	if l.undone < 0 {
		return l.verified
	}
	return l.undone
}

// over is an index before all others of its moment for what ends a fault, for that is what lets go of what comes at the same time; index is
// the journal's. A fault that was seen in force at the moment at which it ends has its end behind that.
func (l *life) over(index int64) int64 {
	if max(l.applied, l.observed) >= l.ended() {
		return index
	}
	return -1
}

// lateWord tells when a fault was applied whole that began to strike much earlier.
func (l *life) lateWord() string {
	if !l.late() {
		return ""
	}
	return fmt.Sprintf(" (from %s, applied whole at %s)", at(l.begun), at(l.applied))
}

// named reports whether a finding's witness names the fault.
func (l *life) named(f checker.Finding) bool {
	return slices.ContainsFunc(f.Witness.Faults, func(in checker.InForce) bool { return in.Number == l.fault+1 })
}

// deed is what the fault does, without when and for how long.
func (l *life) deed() string { return clip(checker.Deed(l.kind, l.line), 200) }

// hueOf numbers the colour of a fault's kind, one for each kind that took effect, as the page's script does.
func hueOf(lives []life, kind string) int {
	var kinds []string
	for i := range lives {
		if k := clip(lives[i].kind, 40); lives[i].struck() && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	slices.Sort(kinds)
	return (slices.Index(kinds, clip(kind, 40)) + 3) % hues
}

// hues is how many colours there are to tell brokers, and kinds of faults, apart.
const hues = 6
