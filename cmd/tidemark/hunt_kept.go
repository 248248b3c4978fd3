package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/results"
	"tidemark/results/index"
)

// keepMax bounds the failing runs that one hunt keeps on disk.
const keepMax = 20

// hunted is a hunt that was carried out.
type hunted struct {
	tally    harness.Tally
	mu       sync.Mutex              // of failing, dirs, shown and lost, while it goes on
	shown    map[string]bool         // classes of which a run is kept
	found    map[int]uint64          // trace hashes, by number
	failing  map[int]*harness.Result // those of which a directory was kept
	dirs     map[int]results.Dir     // where they are
	first    firsts
	smallest map[string]results.Dir  // what shrinking left of the first of a signature
	ended    map[string]bool         // of those, whether shrinking came to its end
	added    int                     // scenarios that the corpus got
	from     map[int]harness.Descent // how they came about
	lost     error                   // why something of it could not be kept
	again    func(n int) string      // the line that carries out run n once more
	name     func(n int) string      // run n in words
}

// kept says where a run of the hunt is found again.
func (h *hunted) kept(n int) harness.Kept {
	d, ok := h.dirs[n]
	if !ok {
		return harness.Kept{Replay: h.again(n)}
	}
	return harness.Kept{Run: filepath.Base(d.Path), Replay: harness.ReplayLine(d), Again: h.again(n)}
}

// carryOut carries out a hunt and keeps the first runs that failed, within its budget but for the one that ended it.
func carryOut(c *cobra.Command, h harness.Hunt, w huntWanted) *hunted {
	log := c.ErrOrStderr()
	out := &hunted{found: map[int]uint64{}, failing: map[int]*harness.Result{}, dirs: map[int]results.Dir{}, first: firsts{}, smallest: map[string]results.Dir{}, ended: map[string]bool{}}
	out.from, out.shown = map[int]harness.Descent{}, map[string]bool{}
	out.again = func(n int) string { return h.Again(w.options, n, out.from[n]) }
	out.name = h.RunName
	kept := newKeeper(h.UntilClass, ofOneRun(h))
	bar := startProgress(log, h.Seeds+len(h.Corpus), h.Budget, unitOf(h))
	contained := h.Run.World == harness.Contained
	if contained {
		h.Carry = carryContained(w.out, log, kept.keep, bar.tell)
	}
	h.Each = func(n int, res *harness.Result, err error) {
		bar.step(res, err)
		if err != nil {
			return
		}
		out.mu.Lock()
		defer out.mu.Unlock()
		out.found[n], out.from[n] = res.Hash, res.From
		out.first.note(n, res)
		if d, ok := kept.dir(res); ok {
			out.failing[n], out.dirs[n] = res, d
		} else if !contained && worthKeeping(res, h.UntilClass, ofOneRun(h)) {
			out.want(n, res)
		}
	}
	begun := time.Now()
	spent := func() bool { return h.Budget > 0 && time.Since(begun) >= h.Budget }
	h.After = func(n int, _ *harness.Result) {
		if !spent() {
			out.write(c.Context(), n, w)
		}
	}
	out.tally = h.Go(c.Context())
	bar.end()
	for _, n := range slices.Sorted(maps.Keys(out.failing)) {
		if spent() {
			out.spare(n)
		}
		out.write(c.Context(), n, w)
	}
	return out
}

// spare lets a run go that has no directory yet, where another of its class has: there is its line to have it again.
func (h *hunted) spare(n int) {
	if _, there := h.dirs[n]; there {
		return
	}
	for other := range h.dirs {
		if classOf(h.failing[other]) == classOf(h.failing[n]) {
			delete(h.failing, n)
			return
		}
	}
}

// classOf is the class of a run's first violation; "" if it has none.
func classOf(res *harness.Result) string { return index.ClassOf(harness.Signature(res.Verdict)) }

// want takes a run into those that are kept: while there is room, or if none of its class is, as the first twenty may all be of one. The lock is held.
func (h *hunted) want(n int, res *harness.Result) {
	class := classOf(res)
	if len(h.failing) < keepMax || class != "" && !h.shown[class] {
		h.failing[n], h.shown[class] = res, true
	}
}

// write writes the directory of a run that is kept, unless it is there: one in containers, which cannot be had once more, has its own already.
func (h *hunted) write(ctx context.Context, n int, w huntWanted) {
	h.mu.Lock()
	res, wanted := h.failing[n]
	_, there := h.dirs[n]
	h.mu.Unlock()
	if !wanted || there {
		return
	}
	d, err := keep(ctx, w.out, res, w.pursue)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		delete(h.failing, n)
		h.lost = errors.Join(h.lost, fmt.Errorf("%s, seed %d: its directory could not be written: %w", h.name(n), res.Run.Seed, err))
		return
	}
	h.dirs[n] = d
}

// keeper decides which runs in containers keep their directories, as they end, side by side.
type keeper struct {
	class checker.Class
	all   bool

	mu   sync.Mutex
	runs map[*harness.Result]results.Dir
}

func newKeeper(class checker.Class, all bool) *keeper {
	return &keeper{class: class, all: all, runs: map[*harness.Result]results.Dir{}}
}

// keep reports whether a run's directory stays.
func (k *keeper) keep(res *harness.Result, d results.Dir) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.runs) == keepMax || !worthKeeping(res, k.class, k.all) {
		return false
	}
	k.runs[res] = d
	return true
}

// dir is the directory of a run, if it stayed.
func (k *keeper) dir(res *harness.Result) (d results.Dir, kept bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, kept = k.runs[res]
	return d, kept
}

// worthKeeping reports whether somebody will want to look at a run: it failed, it shows what the hunt was for, or it is the only one.
func worthKeeping(res *harness.Result, class checker.Class, alone bool) bool {
	failed := alone || res.Verdict.Status == checker.Invalid || res.Verdict.Status == checker.Unknown
	return failed || class != "" && res.Shows(class)
}

// keep writes a failing run's directory, judged with the invariants or, blind, by what clients and logs tell; its trail comes from running it once more.
func keep(ctx context.Context, outDir string, res *harness.Result, blind bool) (results.Dir, error) {
	again, err := harness.Simulate(context.WithoutCancel(ctx), res.Run, harness.Watch{Trail: true, Blind: blind})
	if err != nil {
		return results.Dir{}, err
	}
	if again.Hash != res.Hash {
		return results.Dir{}, fmt.Errorf("seed %d ran to trace hash %016x, then to %016x", res.Run.Seed, res.Hash, again.Hash)
	}
	d, err := results.Create(outDir, res.Run)
	if err != nil {
		return d, err
	}
	return d, harness.Save(d, again)
}
