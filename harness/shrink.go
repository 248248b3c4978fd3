package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/world"
)

// Shrink makes a failing run smaller for as long as it fails with the same signature: fewer plan lines first, then fewer and simpler
// surroundings, then shorter times and plainer words. A run with a known bug on must also be valid with the bug off, or what is left would
// tell of something else. The outcome does not depend on the number of workers.
type Shrink struct {
	Run     history.Run // fully expanded, of the simulated world
	Blind   bool        // judge by clients and logs alone, with the invariants off
	Budget  time.Duration
	Workers int
	// Neighbours, if not 0, is how many neighbours of a smaller run are carried out, too: it is taken only if at least as many of them fail alike
	// as of the run before it.
	Neighbours int
	// Begin, if set, is where an earlier shrinking of the same run stopped.
	Begin *ShrinkState
	// Save, if set, is given the state after every step forward, and at the end.
	Save func(ShrinkState) error
	// Told, if set, is told of every step forward.
	Told func(what string, run history.Run)
}

// ShrinkState is how far a shrinking is: enough to go on with.
type ShrinkState struct {
	Format    int         `json:"format"` // 1
	Signature string      `json:"signature"`
	Best      history.Run `json:"best"`
	Tried     []uint64    `json:"tried"`           // hashes of the runs that need not be tried again
	Tries     int         `json:"tries"`           // runs carried out so far
	Alike     int         `json:"alike,omitempty"` // of the neighbours of Best, those that fail of its class
	Seconds   float64     `json:"seconds"`
	Done      bool        `json:"done"` // nothing smaller was found
}

// shrinkFormat is the version of ShrinkState.
const shrinkFormat = 1

// Lines is how many lines a run's plan has.
func Lines(run history.Run) int { return len(planOf(run).Lines) }

// otherSeeds is with how many further seeds a smaller run is tried where its own does not show the failure: a small plan needs some luck with
// its seed, and a short run costs little.
func otherSeeds(run history.Run) int { return int(min(12, max(2, 80*time.Second/run.Duration))) }

// triedMax bounds what a shrinking remembers.
const triedMax = 1 << 17

// shrinking is a Shrink under way.
type shrinking struct {
	Shrink
	state ShrinkState
	tried map[uint64]bool
	begun time.Time
	spent float64 // seconds before this sitting
	err   error   // of saving the state
	class checker.Class
}

// Go shrinks until nothing smaller fails alike, the budget is spent, or ctx ends, and returns the smallest run with its result. The error is
// of a run that does not fail, fails without its bug too, or could not be carried out.
func (s Shrink) Go(ctx context.Context) (ShrinkState, *Result, error) {
	x := &shrinking{Shrink: s, tried: map[uint64]bool{}, begun: time.Now()}
	x.state = ShrinkState{Format: shrinkFormat, Best: s.Run}
	if s.Begin != nil {
		x.state = *s.Begin
		x.spent = s.Begin.Seconds
		for _, h := range s.Begin.Tried {
			x.tried[h] = true
		}
	}
	res, err := x.first(ctx)
	if err != nil {
		return x.state, res, err
	}
	if x.Budget > 0 { // a try that its end cuts off is one that was not made
		within, over := context.WithDeadline(ctx, x.begun.Add(x.Budget))
		defer over()
		ctx = within
	}
	for !x.state.Done && !x.over(ctx) {
		x.state.Done = true
		idle := pass{name: "idle lines", smaller: func(run history.Run) []history.Run { return fewerIdle(run, res.History) }}
		sure := pass{name: "certain", firmer: true, reseed: true, smaller: func(run history.Run) []history.Run { return certain(run, res.Verdict) }}
		for _, p := range slices.Concat([]pass{idle}, passes, []pass{sure}) {
			for x.step(ctx, p, &res) {
				x.state.Done = false
			}
		}
		x.state.Done = x.state.Done && !x.over(ctx)
	}
	x.save()
	return x.state, res, x.err
}

// first carries out the run that shrinking begins with, and takes its signature.
func (x *shrinking) first(ctx context.Context) (*Result, error) {
	run := x.state.Best
	if run.World != Simulated {
		return nil, fmt.Errorf("the run is of the world %q, expected %s: only there does a smaller run fail for a reason", run.World, Simulated)
	}
	x.tried[identity(run)] = true
	res, err := Simulate(ctx, run, Watch{Blind: x.Blind})
	if err != nil {
		return res, err
	}
	x.state.Tries++
	signature := Signature(res.Verdict)
	switch {
	case signature == "":
		return res, fmt.Errorf("seed %d: the run is %s, expected an %s one: %s", run.Seed, res.Verdict.Status, checker.Invalid, res.Verdict.Reason)
	case x.state.Signature != "" && x.state.Signature != signature:
		return res, fmt.Errorf("seed %d: the run fails as %q, the shrinking that is to go on had %q", run.Seed, signature, x.state.Signature)
	}
	x.state.Signature, x.class = signature, storedClass(res.Verdict)
	if off, err := x.without(ctx, run); err != nil || off != checker.Valid && off != checker.Vacuous {
		return res, fmt.Errorf("seed %d: without the bug %s the run is %s, expected %s (%v)", run.Seed, run.Bug, off, checker.Valid, err)
	}
	x.state.Alike, _ = neighboursAlike(ctx, run, x.class, x.Neighbours, 0, x.Workers)
	x.state.Tries += x.Neighbours
	return res, nil
}

// over reports whether no further try may begin, by a context that ends with the budget.
func (x *shrinking) over(ctx context.Context) bool {
	return ctx.Err() != nil || x.err != nil
}

// step looks for a smaller run among those that a pass proposes, and takes the first that fails alike.
func (x *shrinking) step(ctx context.Context, p pass, res **Result) bool {
	least := x.state.Alike
	if p.firmer {
		if least++; least > x.Neighbours {
			return false
		}
	}
	var smaller []history.Run
	for _, run := range p.smaller(x.state.Best) {
		run, err := Expand(run, planText(run))
		if id := identity(run); err == nil && !x.tried[id] {
			x.tried[id] = true
			smaller = append(smaller, run)
		}
	}
	found := make([]*Result, len(smaller))
	alike := make([]int, len(smaller))
	tries := make([]int, len(smaller))
	more := func() bool { return !x.over(ctx) }
	at := race(ctx, 0, len(smaller), x.Workers, more, func(ctx context.Context, n int) bool {
		seeds := 0
		if p.reseed {
			seeds = otherSeeds(smaller[n])
		}
		found[n], tries[n] = x.fails(ctx, smaller[n], seeds)
		if found[n] != nil && x.Neighbours > 0 {
			enough := false
			tries[n] += x.Neighbours
			if alike[n], enough = neighboursAlike(ctx, found[n].Run, x.class, x.Neighbours, least, 1); !enough {
				found[n] = nil
			}
		}
		if ctx.Err() != nil {
			found[n], tries[n] = nil, 0 // cut off: it says nothing
		}
		return found[n] != nil
	})
	for n, run := range smaller {
		x.state.Tries += tries[n]
		if tries[n] == 0 || at >= 0 && n > at {
			delete(x.tried, identity(run)) // not tried, or cut off
		}
	}
	if at < 0 {
		return false
	}
	*res = found[at]
	x.state.Best, x.state.Alike = found[at].Run, alike[at]
	if x.Told != nil {
		x.Told(p.name, x.state.Best)
	}
	x.save()
	return true
}

// fails carries out a run with its own seed, then with others, and returns the first that fails with the signature and, with its bug off,
// does not; nil if none does.
func (x *shrinking) fails(ctx context.Context, run history.Run, seeds int) (found *Result, tries int) {
	own := run.Seed
	for i := range seeds + 1 {
		if i > 0 {
			run.Seed = world.Stream(own, "shrink", i).Uint64()
		}
		res, err := Simulate(ctx, run, Watch{Blind: x.Blind})
		tries++
		if err != nil || Signature(res.Verdict) != x.state.Signature {
			if ctx.Err() != nil {
				break
			}
			continue
		}
		if run.Bug != "" {
			tries++
		}
		if off, err := x.without(ctx, run); err == nil && off == checker.Valid {
			return res, tries
		}
	}
	return nil, tries
}

// without is the verdict of a run with its bug off, as strict as verdicts come; Valid if it has none.
func (x *shrinking) without(ctx context.Context, run history.Run) (checker.Status, error) {
	if run.Bug == "" {
		return checker.Valid, nil
	}
	run.Bug = ""
	res, err := Simulate(ctx, run, Watch{})
	if err != nil {
		return "", err
	}
	return res.Verdict.Status, nil
}

// save hands the state out.
func (x *shrinking) save() {
	x.state.Seconds = x.spent + time.Since(x.begun).Seconds()
	if x.Save == nil || x.err != nil {
		return
	}
	x.state.Tried = slices.Sorted(maps.Keys(x.tried))
	x.state.Tried = x.state.Tried[:min(len(x.state.Tried), triedMax)]
	x.err = x.Save(x.state)
}

// identity tells runs apart by all that they are but their seed and when they began.
func identity(run history.Run) uint64 {
	run.Seed, run.Started = 0, time.Time{}
	text, _ := json.Marshal(run) // a run is plain data
	return xxhash.Sum64(text)
}

// planText is a run's plan as Expand takes it: an empty one is drawn.
func planText(run history.Run) string {
	if run.Plan == "" {
		return "# no faults\n"
	}
	return run.Plan
}
