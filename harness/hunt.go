package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/world"
)

// Hunt is a search over seeds, one run a seed.
type Hunt struct {
	Run     history.Run   // options; the seed is set for each run
	Master  uint64        // the seeds are drawn from it
	Seeds   int           // at most so many runs
	First   int           // the number of the first of them, to hand parts to other processes
	Budget  time.Duration // of the whole, see pace; 0 is no limit
	Workers int
	// Corpus is carried out before any seed, under numbers below 0: -1 is the first of it.
	Corpus []CorpusRun
	// Known lists failures that are expected, Today says on which day.
	Known []Known
	Today time.Time
	// UntilFirst stops at the first violation that is not known, UntilClass at the first anomaly of that class, also where the contract allows it. First is
	// by number: runs with lower numbers that are under way come to their end, those with higher ones are cut off.
	UntilFirst bool
	UntilClass checker.Class
	// Until, if set, stops at the first run that it is true of, likewise.
	Until func(*Result) bool
	// Draw, if set, makes of a seed and Run the run to carry out, but for its plan; nil takes Run as it is.
	Draw func(seed uint64, run history.Run) history.Run
	// SplitAfter, if above 0, is after how many runs every other one goes on from an earlier one in which something nearly happened; Carry must keep that
	// (Watch.Near). Splits, if set, lead from each run to the one to carry out instead.
	SplitAfter int
	Whole      bool // runs that go on from others last as long as these; else they end soon after that moment
	Splits     []Split
	// Pursue carries out what Pursue does of each run, for as long as the budget lets runs begin.
	Pursue bool
	// Carry carries out one run; nil is Simulate.
	Carry func(context.Context, history.Run) (*Result, error)
	// Each, if set, is called with every result, one at a time, in no particular order; an error of the run is with it.
	Each func(number int, res *Result, err error)
	// After, if set, is called behind Each with every run that came to its end and does not end the hunt, several at a time: what takes long there holds
	// up no other run, and is within the budget.
	After func(number int, res *Result)

	pace *pace // once the hunt has begun
}

// Tally is what a hunt found, over all its runs.
type Tally struct {
	Runs       int     `json:"runs"`
	Valid      int     `json:"valid"`
	Invalid    int     `json:"invalid"`
	Known      int     `json:"known"` // of those invalid, the ones that are expected
	Vacuous    int     `json:"vacuous"`
	Unknown    int     `json:"unknown"`
	Errors     int     `json:"errors"`
	Cut        int     `json:"cutOff,omitempty"`  // runs that the end of the budget cut off: they are none of Runs
	Stopped    string  `json:"stopped,omitempty"` // why the budget let no further run begin before its end
	Seconds    float64 `json:"seconds"`
	Virtual    float64 `json:"worldSeconds"` // on the runs' own clocks
	Events     uint64  `json:"events"`
	AckedShare float64 `json:"medianAckedShare"` // of the writes of a run, the median over runs
	Acked      int64   `json:"medianAcked"`
	// FirstAck and LastFirst are how long after the start runs in containers had their first write acknowledged, in seconds: the median of runs, and the
	// longest.
	FirstAck  float64        `json:"medianFirstAckSeconds,omitempty"`
	LastFirst float64        `json:"longestFirstAckSeconds,omitempty"`
	Bites     map[string]int `json:"runsWith"` // in how many runs each kind of fault, and each protocol step, was seen
	Applied   int            `json:"faultsApplied"`
	Undone    int            `json:"faultsVerifiedUndone"` // of those
	Allowed   map[string]int `json:"runsWithAllowed"`      // anomalies that the contract allows, by class
	Classes   map[string]int `json:"runsWithViolation"`    // violations, by class
	Busy      int            `json:"runsWithThousand"`     // runs with 1,000 acknowledged writes or more (sent, under acks=0)
	Failures  []Failure      `json:"failures"`
	Left      int            `json:"failuresLeft,omitempty"` // failing runs that are neither listed nor counted with one that is, for want of room
	Groups    []Group        `json:"groups"`                 // the violations among those listed, by signature
	shares    []float64
	acked     []int64
	firstAcks []time.Duration
	told      map[int]bool // scenarios of the corpus, by number, whose verdict says something
}

// Failure is one run that was not green for a reason of its own.
type Failure struct {
	Seed   uint64 `json:"seed,string"`
	Number int    `json:"number"`
	// Scenario is where the scenario of the corpus stands that it is, as FILE:LINE; "" of a run that has a number of its own.
	Scenario string         `json:"scenario,omitempty"`
	Status   checker.Status `json:"status"`
	Reason   string         `json:"reason"`
	From     Descent        `json:"from,omitzero"` // if it goes on from other runs
	// Signature groups violations, see Signature; "" for a run that is not green for another reason.
	Signature string `json:"signature,omitempty"`
	Witness   string `json:"witness,omitempty"` // of its first violation, in words
	// Known is why it is expected, Until the last day on which it is, Expired that it was and is no longer; "" if nobody knows it.
	Known   string `json:"known,omitempty"`
	Until   string `json:"until,omitempty"`
	Expired string `json:"expired,omitempty"`
	// More is how many further runs failed alike that are not listed, for want of room: a tally lists a thousand, and of each signature one at least.
	More int `json:"more,omitempty"`
}

// busy is how many acknowledged writes make a run a busy one.
const busy = 1000

// failuresMax bounds the failures that a tally lists, but for the first of each signature, of which there may be as many again.
const failuresMax = 1000

// SeedOf is the seed of run number n of a hunt.
func SeedOf(master uint64, n int) uint64 { return world.Stream(master, "hunt", n).Uint64() }

// RunName is a run of the hunt in words: its number, or where the scenario of the corpus stands that it is.
func (h Hunt) RunName(n int) string { return Failure{Number: n, Scenario: h.scenarioAt(n)}.Name() }

// scenarioAt is where the scenario of a number below 0 stands; "" for another number.
func (h Hunt) scenarioAt(n int) string {
	if n >= 0 {
		return ""
	}
	return h.Corpus[-1-n].At()
}

// Name is the run in words.
func (f Failure) Name() string {
	if f.Scenario != "" {
		return "scenario " + f.Scenario
	}
	return fmt.Sprintf("run %d", f.Number)
}

// Go carries out the hunt; it returns early when ctx ends.
func (h Hunt) Go(ctx context.Context) Tally {
	begun := time.Now()
	t := newTally()
	h.pace = newPace(begun, h.Budget, h.Run)
	ctx, over := h.pace.within(ctx)
	defer over()
	var mu sync.Mutex
	told := func(n int, res *Result, err error) (ends bool) {
		mu.Lock()
		defer mu.Unlock()
		unknown := t.add(h, n, res, err)
		if h.Each != nil {
			h.Each(n, res, err)
		}
		return h.UntilFirst && unknown || err == nil && (h.UntilClass != "" && res.Shows(h.UntilClass) || h.Until != nil && h.Until(res))
	}
	try := func(ctx context.Context, n int, run func() (*Result, error)) (ends bool) {
		began := time.Now()
		res, err := run()
		h.pace.took(time.Since(began))
		switch spent := context.Cause(ctx) == errSpent; {
		case spent && errors.Is(err, ctx.Err()): // cut off in the middle: it says nothing
			mu.Lock()
			defer mu.Unlock()
			t.Cut++
			return false
		case ctx.Err() != nil && !spent: // likewise; a run that came to its end as the budget did counts
			return false
		}
		if ends = told(n, res, err); !ends && err == nil && h.After != nil {
			h.After(n, res)
		}
		return ends
	}
	ended := race(ctx, 0, len(h.Corpus), h.Workers, h.more, func(ctx context.Context, i int) bool {
		run := h.Corpus[i].Run
		run.Bug, run.Started = h.Run.Bug, h.Run.Started
		return try(ctx, -1-i, func() (*Result, error) { return h.carry(ctx, run) })
	})
	if ended < 0 {
		s := newSplits(h)
		race(ctx, h.First, h.First+h.Seeds, h.Workers, h.more, func(ctx context.Context, n int) bool {
			return try(ctx, n, func() (*Result, error) { return s.one(ctx, n) })
		})
	}
	t.Stopped = h.pace.stopped()
	t.finish(time.Since(begun))
	return t
}

// draw is the run of a number.
func (h Hunt) draw(n int) (history.Run, error) {
	run := h.Run
	run.Seed = SeedOf(h.Master, n)
	if h.Draw != nil {
		run = h.Draw(run.Seed, run)
	}
	drawn, err := Expand(run, run.Plan)
	if err == nil && run.Plan == "" && run.World == Contained {
		drawn.Plan = planWith(drawn, n)
	}
	return drawn, err
}

// planWith draws the plan of a run that takes a minute, of which there will be few: so that they have every kind of fault between them, each has half
// of the kinds in any case, by its number in turn.
func planWith(run history.Run, n int) string {
	space := Space(run)
	space.Due = inTurn(space.Useful(), n)
	return nemesis.Generate(world.Stream(run.Seed, "plan", 0), space).String()
}

// inTurn is the half of some kinds whose turn it is. One run's half begins one before the last one's ended, so that kinds meet others each time.
func inTurn(kinds []world.Ability, n int) (out []world.Ability) {
	half := (len(kinds) + 1) / 2
	for i := range half {
		out = append(out, kinds[(n%max(1, len(kinds))*max(1, half-1)+i)%len(kinds)])
	}
	return out
}

// more reports whether another run may begin.
func (h Hunt) more() bool { return h.pace.more(time.Now()) }

func (h Hunt) carry(ctx context.Context, run history.Run) (*Result, error) {
	switch {
	case h.Carry != nil:
		return h.Carry(ctx, run)
	case h.Pursue:
		return Pursue(ctx, run, h.more)
	default:
		return Simulate(ctx, run, Watch{Near: h.SplitAfter > 0})
	}
}

// Shows reports whether the verdict has an anomaly of a class, whether or not the contract allows it or another implies it.
func (r *Result) Shows(class checker.Class) bool {
	return slices.ContainsFunc(r.Verdict.Findings, func(f checker.Finding) bool {
		return f.Class == class || slices.ContainsFunc(f.Implied, func(m checker.Implied) bool { return m.Class == class })
	})
}

func newTally() Tally {
	return Tally{Bites: map[string]int{}, Allowed: map[string]int{}, Classes: map[string]int{}, told: map[int]bool{}}
}

// add counts a run, and reports whether it broke its contract as nobody expects.
func (t *Tally) add(h Hunt, n int, res *Result, err error) (unknown bool) {
	t.Runs++
	if err != nil {
		f := Failure{Number: n, Scenario: h.scenarioAt(n), Status: "error", Reason: err.Error()}
		if n < 0 {
			f.Seed = h.Corpus[-1-n].Run.Seed
		}
		if res != nil {
			f.Seed, f.From = res.Run.Seed, res.From
		}
		t.Errors++
		t.fail(f)
		return false
	}
	v := res.Verdict
	if n < 0 && (v.Status == checker.Valid || v.Status == checker.Invalid) {
		t.told[n] = true
	}
	t.Virtual += res.Virtual.Seconds()
	t.Events += res.Events
	switch v.Status {
	case checker.Valid:
		t.Valid++
	case checker.Invalid:
		t.Invalid++
	case checker.Vacuous:
		t.Vacuous++
	default:
		t.Unknown++
	}
	if v.Status != checker.Valid {
		f := Failure{Seed: res.Run.Seed, Number: n, Scenario: h.scenarioAt(n), Status: v.Status, Reason: v.Reason, From: res.From, Signature: Signature(v)}
		if v.Status == checker.Invalid && len(v.Findings) > 0 {
			f.Witness = v.Findings[0].Text
		}
		f.Known, f.Until, f.Expired = knownOn(h.Known, f.Signature, h.Today)
		if v.Status == checker.Invalid && f.Known != "" {
			t.Known++
		}
		unknown = v.Status == checker.Invalid && f.Known == ""
		t.fail(f)
	}
	t.acked = append(t.acked, v.Stats.Acked)
	if v.Stats.Acked >= busy || res.Run.Acks == 0 && v.Stats.Sends >= busy {
		t.Busy++
	}
	if v.Stats.Sends > 0 {
		t.shares = append(t.shares, float64(v.Stats.Acked)/float64(v.Stats.Sends))
	}
	if res.Run.World == Contained {
		if first := res.FirstAck(); first > 0 {
			t.firstAcks = append(t.firstAcks, first)
		}
		for _, a := range Space(res.Run).Useful() {
			t.Bites["fault "+string(a)] += 0 // that none was seen of it is said, too: these runs are few
		}
	}
	t.seen(v)
	t.faults(res.History)
	return unknown
}

// faults counts those that were applied, and how many of them a probe saw undone.
func (t *Tally) faults(h *history.History) {
	striking := map[string]bool{}
	applied := map[int]bool{}
	for _, e := range h.Faults {
		switch e.Phase {
		case history.FaultApplied:
			t.Applied++
			applied[e.Fault] = true
		case history.FaultVerified:
			if applied[e.Fault] {
				t.Undone++
			}
		case history.FaultObserved:
			switch {
			case strings.Contains(e.Line, " on port "):
				striking["fault partition, of which at one port"] = true
			case e.Kind == string(world.CanPartition) && strings.Contains(e.Line, "->"):
				striking["fault partition, of which one way"] = true
			}
		}
	}
	for name := range striking {
		t.Bites[name]++
	}
}

func (t *Tally) seen(v checker.Verdict) {
	for kind, count := range v.Stats.FaultsByKind {
		if count > 0 {
			t.Bites["fault "+kind]++
		}
	}
	for name, count := range map[string]int64{
		"ISR shrink": v.Stats.ISRShrinks, "ISR growth": v.Stats.ISRGrowths, "leader change": v.Stats.LeaderChanges,
		"truncation": v.Stats.Truncations, "torn tail recovered": v.Stats.TornRecoveries, "unknown outcome": v.Stats.Unknown,
	} {
		if count > 0 {
			t.Bites[name]++
		}
	}
	allowed, broken := map[string]bool{}, map[string]bool{}
	for _, f := range v.Findings {
		switch f.Severity {
		case checker.Violation:
			broken[string(f.Class)] = true
		case checker.Allowed:
			allowed[string(f.Class)] = true
		}
	}
	for class := range allowed {
		t.Allowed[class]++
	}
	for class := range broken {
		t.Classes[class]++
	}
}

// fail lists a failure. Vacuous runs take half of the room at most: others are what a hunt is for.
func (t *Tally) fail(f Failure) {
	room := failuresMax
	if f.Status == checker.Vacuous {
		room /= 2
	}
	alike := -1
	if len(t.Failures) >= room {
		alike = slices.IndexFunc(t.Failures, func(o Failure) bool { return o.Status == f.Status && o.Signature == f.Signature })
	}
	switch {
	case alike >= 0:
		t.Failures[alike].More++
	case len(t.Failures) < 2*room:
		t.Failures = append(t.Failures, f)
	default:
		t.Left++
	}
}

// unlisted tells of the failures that are counted and not listed, "" if there are none.
func (t Tally) unlisted() string {
	if t.Left == 0 {
		return ""
	}
	return fmt.Sprintf("%s that failed otherwise than any that is listed, for which there was no room behind %d", runsWord(t.Left), len(t.Failures))
}

func (t *Tally) finish(wall time.Duration) {
	t.Seconds = wall.Seconds()
	slices.Sort(t.shares)
	slices.Sort(t.acked)
	if n := len(t.shares); n > 0 {
		t.AckedShare = t.shares[n/2]
	}
	if n := len(t.acked); n > 0 {
		t.Acked = t.acked[n/2]
	}
	slices.Sort(t.firstAcks)
	if n := len(t.firstAcks); n > 0 {
		t.FirstAck, t.LastFirst = t.firstAcks[n/2].Seconds(), t.firstAcks[n-1].Seconds()
	}
	slices.SortFunc(t.Failures, func(a, b Failure) int { return a.Number - b.Number })
	t.Groups = groups(t.Failures)
}

// String is the tally as a table for people.
func (t Tally) String() string {
	out := fmt.Sprintf("runs %d: valid %d, invalid %d, vacuous %d, unknown %d, errors %d\n", t.Runs, t.Valid, t.Invalid, t.Vacuous, t.Unknown, t.Errors)
	if t.Known > 0 {
		out += fmt.Sprintf("of those invalid, %d are known\n", t.Known)
	}
	if t.Events > 0 {
		out += fmt.Sprintf("simulated %.0f s in %.1f s (%.0f : 1), %d events (%.0f a second)\n",
			t.Virtual, t.Seconds, t.Virtual/t.Seconds, t.Events, float64(t.Events)/t.Seconds)
	} else {
		out += fmt.Sprintf("in %.1f s\n", t.Seconds)
	}
	if told := t.ending(); told != "" {
		out += told + "\n"
	}
	out += fmt.Sprintf("faults applied %d, of these verified undone %d\n", t.Applied, t.Undone)
	out += fmt.Sprintf("acknowledged writes, median of runs: %d, %.0f %% of those sent; %s with %d or more\n", t.Acked, 100*t.AckedShare, runsWord(t.Busy), busy)
	if t.FirstAck > 0 {
		out += fmt.Sprintf("first acknowledged write after the start, median of runs: %.1f s, longest %.1f s\n", t.FirstAck, t.LastFirst)
	}
	out += table("runs in which it was seen", t.Bites) + table("runs with an anomaly that the contract allows", t.Allowed) + table("runs with a violation", t.Classes)
	out += groupTable(t.Groups)
	if told := t.unlisted(); told != "" {
		out += "and " + told + "\n"
	}
	return out
}

func table(title string, counts map[string]int) string {
	if len(counts) == 0 {
		return ""
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	out := title + ":\n"
	for _, name := range names {
		out += fmt.Sprintf("  %-36s %6d\n", name, counts[name])
	}
	return out
}

// runsWord is a number of runs in words.
func runsWord(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
