package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

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
	found    map[int]uint64          // trace hashes, by number
	failing  map[int]*harness.Result // those of which a directory was kept
	dirs     map[int]results.Dir     // where they are
	first    firsts
	smallest map[string]results.Dir  // what shrinking left of the first of a signature
	from     map[int]harness.Descent // how they came about
	lost     error                   // why something of it could not be kept
	again    func(n int) string      // the line that carries out run n once more
}

// kept says where a run of the hunt is found again.
func (h *hunted) kept(n int) harness.Kept {
	d, ok := h.dirs[n]
	switch {
	case !ok && n < 0: // of a corpus, whose file is a scenario
		return harness.Kept{}
	case !ok:
		return harness.Kept{Replay: h.again(n)}
	}
	return harness.Kept{Run: filepath.Base(d.Path), Replay: harness.ReplayLine(d)}
}

// carryOut carries out a hunt and keeps the first runs that failed.
func carryOut(c *cobra.Command, h harness.Hunt, w huntWanted) *hunted {
	log := c.ErrOrStderr()
	out := &hunted{found: map[int]uint64{}, failing: map[int]*harness.Result{}, dirs: map[int]results.Dir{}, first: firsts{}, smallest: map[string]results.Dir{}}
	out.from = map[int]harness.Descent{}
	out.again = func(n int) string { return harness.RepeatLine(w.options, h.Master, n, out.from[n]) }
	kept := newKeeper(h.UntilClass, h.Seeds == 1)
	bar := startProgress(log, h.Seeds+len(h.Corpus), h.Budget)
	if h.Run.World == harness.Contained {
		h.Carry = carryContained(w.out, log, kept.keep, bar.tell)
	}
	h.Each = func(n int, res *harness.Result, err error) {
		bar.step(res, err)
		if err == nil {
			out.found[n], out.from[n] = res.Hash, res.From
			out.first.note(n, res)
		}
		switch {
		case err != nil:
		case h.Run.World == harness.Contained:
			if d, ok := kept.dir(res); ok {
				out.failing[n], out.dirs[n] = res, d
			}
		case len(out.failing) < keepMax && worthKeeping(res, h.UntilClass, h.Seeds == 1):
			out.failing[n] = res
		}
	}
	out.tally = h.Go(c.Context())
	bar.end()
	if h.Run.World != harness.Contained {
		out.represent()
	}
	for _, n := range slices.Sorted(maps.Keys(out.failing)) {
		if _, ok := out.dirs[n]; ok {
			continue // a run in containers, which cannot be had once more
		}
		d, err := keep(c.Context(), w.out, out.failing[n], w.pursue)
		if err != nil {
			out.lost = errors.Join(out.lost, fmt.Errorf("%s, seed %d: its directory could not be written: %w", harness.RunName(n), out.failing[n].Run.Seed, err))
			continue
		}
		out.dirs[n] = d
	}
	return out
}

// represent takes the first run of each class of which none is kept into those that are: the first twenty may all be of one.
func (h *hunted) represent() {
	shown := map[string]bool{}
	for _, res := range h.failing {
		shown[index.ClassOf(harness.Signature(res.Verdict))] = true
	}
	for _, g := range h.tally.Groups {
		first := h.first[g.Signature]
		if of := index.ClassOf(g.Signature); first.res != nil && !shown[of] {
			shown[of], h.failing[first.n] = true, first.res
		}
	}
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
