package harness

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/world"
)

// What a bug shows may need half a dozen faults that fit to within milliseconds, which no draw has at once. But a run in which some of them fit is no rarer than
// any: there a rule of the protocol refuses what it has to refuse seldom (package refused). So a hunt keeps the runs in which something nearly happened that nearly
// happens seldom, and every other of its runs goes on from one of those, by the same seed, with a plan that differs around that moment (nemesis.Vary). What nearly
// happens then is kept in turn. This is importance splitting, of rare events; the rules are told alike, whichever bug is on.

// Split is one step of a run's descent: run Run went on from the one before it, at the Near'th of what that nearly did.
type Split struct {
	Run  int `json:"run"`
	Near int `json:"near"`
}

// Descent is how a run of a hunt came about that goes on from earlier ones: run First was drawn, the others split one from the other. Without splits it was drawn
// itself.
type Descent struct {
	First  int     `json:"first"`
	Splits []Split `json:"splits"`
}

// String is the splits as a flag writes them.
func (d Descent) String() string {
	words := make([]string, len(d.Splits))
	for i, s := range d.Splits {
		words[i] = fmt.Sprintf("%d@%d", s.Near, s.Run)
	}
	return strings.Join(words, ",")
}

// ParseSplits reads what Descent's String writes.
func ParseSplits(text string) (splits []Split, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		near, run, ok := strings.Cut(word, "@")
		s := Split{}
		if s.Near, err = strconv.Atoi(near); err == nil {
			s.Run, err = strconv.Atoi(run)
		}
		if !ok || err != nil || s.Near < 0 || s.Run < 0 || len(splits) == splitsMax {
			return nil, fmt.Errorf("%q, expected at most %d pairs like 4@1502 with commas between: of what nearly happened, and of the run that was split there",
				text[:min(len(text), 80)], splitsMax)
		}
		splits = append(splits, s)
	}
	return splits, nil
}

// SplitAfter is after how many runs a search splits: by then it is known what is rare, and what any draw finds is found.
const SplitAfter = 200

// The measures of a hunt that splits.
const (
	splitLag   = 32              // a run builds on those that are so far behind it, and on no later ones: they have come to their end, however many workers there are
	splitEvery = 2               // one of so many runs is split from another
	sparksMax  = 8               // starting points that are kept of a kind
	splitsMax  = 8               // one after the other
	splitTail  = 3 * time.Second // so much longer than until there a run goes on
)

// spark is a run to go on from.
type spark struct {
	run    history.Run
	struck []time.Duration // when each line of its plan did, less than 0 for never
	from   Descent
	near   int
	at     Near
}

// splits is what a hunt knows of what nearly happened. A run's number alone says what it may know: so a hunt is the same however many workers it has.
type splits struct {
	Hunt
	mu      sync.Mutex
	changed *sync.Cond
	next    int           // the number that may begin
	over    map[int]ended // runs that ended, until they are learned from
	seen    map[NearKind]int
	tries   map[NearKind]int
	sparks  map[NearKind][]spark
}

// ended is what is to be learned from a run; nothing if it failed.
type ended struct {
	run    history.Run
	struck []time.Duration
	from   Descent
	at     NearKind // that it was split at
	near   []Near
}

func newSplits(h Hunt) *splits {
	s := &splits{Hunt: h, next: h.First, over: map[int]ended{}, seen: map[NearKind]int{}, tries: map[NearKind]int{}, sparks: map[NearKind][]spark{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// one carries out the run of a number.
func (s *splits) one(ctx context.Context, n int) (*Result, error) {
	if s.SplitAfter <= 0 {
		run, err := s.drawn(ctx, n)
		if err != nil {
			return &Result{Run: run}, err
		}
		return s.carry(ctx, run)
	}
	from, what := s.begin(ctx, n)
	e := ended{from: Descent{First: n}, at: what}
	defer func() { s.end(n, e) }()
	var run history.Run
	var err error
	if from == nil {
		run, err = s.drawn(ctx, n)
	} else {
		e.from = Descent{from.from.First, append(slices.Clone(from.from.Splits), Split{n, from.near})}
		run, err = varied(s.Master, n, from.run, from.struck, from.at, s.Whole)
	}
	if err != nil {
		return &Result{Run: run}, err
	}
	res, err := s.carry(ctx, run)
	if res != nil && from != nil {
		res.From = e.from
	}
	if err == nil && res.Verdict.Status != checker.Invalid {
		e.near = res.Near
		e.run, e.struck = beyond(res)
	}
	return res, err
}

// drawn is the run of a number, or where Splits lead from it.
func (s *splits) drawn(ctx context.Context, n int) (history.Run, error) {
	run, err := s.draw(n)
	for _, step := range s.Splits {
		if err != nil {
			return run, err
		}
		var res *Result
		if res, err = Simulate(ctx, run, Watch{Blind: true, Near: true}); err != nil {
			return run, err
		}
		if step.Near >= len(res.Near) {
			return run, fmt.Errorf("split %d@%d: only %d things nearly happened in the run before it", step.Near, step.Run, len(res.Near))
		}
		on, struck := beyond(res)
		run, err = varied(s.Master, step.Run, on, struck, res.Near[step.Near], s.Whole)
	}
	return run, err
}

// varied is a run that goes like another until about a time, and ends soon after it unless it is to be whole.
func varied(master uint64, n int, run history.Run, struck []time.Duration, near Near, whole bool) (history.Run, error) {
	plan, err := nemesis.Parse(run.Plan)
	if err != nil {
		return run, err
	}
	space := Space(run)
	space.Duration = (near.At + splitTail) * 6 / 5 // a generator leaves the last part to recovery
	run.Plan = nemesis.Vary(world.Stream(master, "split", n), space, plan, struck, near.At, near.About).String()
	if !whole {
		run.Duration = min(run.Duration, (near.At + splitTail + tailOfNemesis).Round(time.Second))
	}
	return run, Verify(run)
}

// begin waits until it is a number's turn and everything is known that it may know, and draws what it goes on from; nil for nothing.
func (s *splits) begin(ctx context.Context, n int) (*spark, NearKind) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := n - splitLag
	for ctx.Err() == nil {
		if _, known := s.over[behind]; s.next == n && (known || behind < s.First) {
			break
		}
		s.changed.Wait()
	}
	if ctx.Err() != nil {
		return nil, NearKind{}
	}
	s.next++
	s.changed.Broadcast()
	if behind >= s.First {
		s.learn(behind, s.over[behind])
		delete(s.over, behind)
	}
	if n%splitEvery != 0 || n-s.First < s.SplitAfter {
		return nil, NearKind{}
	}
	return s.choose(n)
}

// end hands in what a run has come to.
func (s *splits) end(n int, e ended) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over[n] = e
	s.changed.Broadcast()
}

// learn takes in what a run nearly did.
func (s *splits) learn(n int, e ended) {
	if !durable(e.run) {
		return
	}
	had := map[NearKind]bool{}
	for i, near := range e.near {
		if len(e.from.Splits) == 0 && !had[near.NearKind] {
			s.seen[near.NearKind]++
		}
		if had[near.NearKind] || near.NearKind == e.at || len(e.from.Splits) == splitsMax {
			continue
		}
		had[near.NearKind] = true
		x := spark{run: e.run, struck: e.struck, from: e.from, near: i, at: near}
		kept := s.sparks[near.NearKind]
		if len(kept) < sparksMax {
			s.sparks[near.NearKind] = append(kept, x)
		} else {
			kept[world.Stream(s.Master, "spark", n).IntN(sparksMax)] = x
		}
	}
}

// choose draws a starting point: of what nearly happens seldom and was tried little, more often than of others.
func (s *splits) choose(n int) (*spark, NearKind) {
	kinds := slices.SortedFunc(maps.Keys(s.sparks), func(a, b NearKind) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Effect, b.Effect), cmp.Compare(order(a.Untrue), order(b.Untrue)))
	})
	if len(kinds) == 0 {
		return nil, NearKind{}
	}
	weights := make([]float64, len(kinds))
	for i, k := range kinds {
		weights[i] = s.worth(k)
	}
	d := dice{world.Stream(s.Master, "start", n)}
	what := pick(d, kinds, weights...)
	s.tries[what]++
	x := s.sparks[what][d.rnd.IntN(len(s.sparks[what]))]
	return &x, what
}

// worthUntrue is how much more it is worth where what was refused said what was not so.
const worthUntrue = 6

// worth is how much a kind of starting point is worth.
func (s *splits) worth(k NearKind) float64 {
	known := float64(1 + s.seen[k] + s.tries[k])
	if k.Untrue { // nothing but the rule stands between it and a loss
		return worthUntrue / (known * known)
	}
	return 1 / (known * known)
}

// order puts what is false before what is true.
func order(b bool) int {
	if b {
		return 1
	}
	return 0
}
