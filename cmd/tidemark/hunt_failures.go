package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/results"
)

// huntWanted is what a hunt is to do with what it finds.
type huntWanted struct {
	out          string // directory in which runs/ stands
	json, twice  bool
	allowVacuous float64
	corpus       string // directory, "" for none
	shrink       bool
	pursue       bool          // see harness.Pursue
	shrinking    time.Duration // budget
	neighbours   int           // of each failure, 0 for none
	options      []string      // of the command line that carries one run out again, see harness.RepeatLine
}

func (w huntWanted) check(world string) error {
	switch {
	case w.neighbours < 0 || w.neighbours > neighboursMax:
		return fmt.Errorf("--neighbours %d, expected 0 to %d", w.neighbours, neighboursMax)
	case w.neighbours > 0 && world != harness.Simulated:
		return fmt.Errorf("--neighbours %d, expected --world %s: a neighbour in containers takes a minute", w.neighbours, harness.Simulated)
	case w.shrink && w.shrinking <= 0:
		return fmt.Errorf("--shrink-budget %v, expected a positive duration", w.shrinking)
	case world != harness.Simulated && (w.shrink || w.corpus != ""):
		return fmt.Errorf("--shrink and --corpus repeat runs exactly, expected --world %s", harness.Simulated)
	case w.twice && w.corpus != "":
		return errors.New("--twice and --corpus exclude each other: the second process would find what the first one added")
	}
	return nil
}

// recall reads what a hunt is to know beforehand.
func recall(log io.Writer, h *harness.Hunt, corpus, known string) (err error) {
	h.Today = time.Now()
	if corpus != "" {
		if h.Corpus, err = readCorpus(corpus); err != nil {
			return err
		}
		if len(h.Corpus) == 0 {
			fmt.Fprintf(log, "the corpus %s has no scenario yet\n", corpus)
		}
	}
	if known == "" {
		return nil
	}
	text, err := readBounded(known)
	if err != nil {
		return fmt.Errorf("--known: %w", err)
	}
	if h.Known, err = harness.ReadKnown(text); err != nil {
		return fmt.Errorf("--known %s: %w", known, err)
	}
	return nil
}

// readCorpus reads the corpus of --corpus, whose directory must be there: a misspelt one would hold nothing, and everything in it would pass.
func readCorpus(dir string) ([]harness.CorpusRun, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--corpus %s: no such directory, expected one, which may be empty", dir)
	}
	corpus, err := harness.ReadCorpus(dir)
	if err != nil {
		return nil, fmt.Errorf("--corpus: %w", err)
	}
	return corpus, nil
}

// signaturesMax bounds the signatures of which a hunt keeps a run.
const signaturesMax = 100

// firsts holds the first failure of each signature, by the runs' numbers.
type firsts map[string]numbered

// numbered is a run of a hunt.
type numbered struct {
	n   int
	res *harness.Result
}

// note keeps a result if no run before it has its signature.
func (f firsts) note(n int, res *harness.Result) {
	s := harness.Signature(res.Verdict)
	if was, seen := f[s]; s != "" && (seen && n < was.n || !seen && len(f) < signaturesMax) {
		f[s] = numbered{n, res}
	}
}

// neighboursMax bounds the neighbours of one failure.
const neighboursMax = 1000

// firmest tells of every failure that was kept how many of its neighbours fail alike, the most first, and lets the firmest of each signature stand for it.
func (w huntWanted) firmest(ctx context.Context, h harness.Hunt, out io.Writer, carried *hunted) {
	type firm struct{ n, alike int }
	var all []firm
	for n, res := range carried.failing {
		if harness.Signature(res.Verdict) != "" {
			all = append(all, firm{n, harness.AlikeNeighbours(ctx, res, w.neighbours, h.Workers)})
		}
	}
	if ctx.Err() != nil {
		return
	}
	slices.SortFunc(all, func(a, b firm) int { return cmp.Or(b.alike-a.alike, a.n-b.n) })
	told := map[string]bool{}
	for _, f := range all {
		res := carried.failing[f.n]
		fmt.Fprintf(out, "firm: %s, seed %d: %d of %d neighbours fail alike\n", h.RunName(f.n), res.Run.Seed, f.alike, w.neighbours)
		if s := harness.Signature(res.Verdict); !told[s] {
			told[s] = true
			carried.first[s] = numbered{f.n, res}
		}
	}
}

// reduce shrinks the first failure of each signature that nobody knows, and adds it to the corpus, as far as that is wanted.
func (w huntWanted) reduce(c *cobra.Command, h harness.Hunt, out io.Writer, groups []harness.Group, carried *hunted) error {
	for _, g := range groups {
		first := carried.first[g.Signature]
		res := first.res
		if res == nil || g.First.Known != "" || c.Context().Err() != nil {
			continue
		}
		run := res.Run
		if w.shrink {
			state, small, err := harness.Shrink{Run: run, Blind: w.pursue, Budget: w.shrinking, Workers: h.Workers, Neighbours: w.neighbours}.Go(c.Context())
			if err != nil {
				fmt.Fprintf(out, "not shrunk: %s: %v\n", g.Signature, err)
			} else {
				run = state.Best
				d, err := keep(c.Context(), w.out, small, w.pursue)
				if err != nil {
					return err
				}
				fmt.Fprintf(out, "%s: %s\n  %s\n%s  replay: %s\n", shrunkWord(state), g.Signature, sizeOf(run), indented(run.Plan), harness.ReplayLine(d))
				if run.Seed != res.Run.Seed {
					fmt.Fprintf(out, "  %s\n", reseeded(res.Run.Seed, run.Seed))
				}
				carried.smallest[g.Signature], carried.ended[g.Signature] = d, state.Done
				if of, kept := carried.dirs[first.n]; kept {
					if err := harness.NoteShrunk(of, results.Shrunk{Plan: run.Plan, Replay: harness.ReplayLine(d), Done: state.Done}); err != nil {
						return err
					}
				}
				if w.neighbours > 0 {
					fmt.Fprintf(out, "  %d of %d neighbours fail alike\n", state.Alike, w.neighbours)
				}
			}
		}
		if w.corpus == "" {
			continue
		}
		path, err := harness.AddToCorpus(w.corpus, h.Corpus, run, g.Signature)
		if err != nil {
			return err
		}
		if path != "" {
			fmt.Fprintf(out, "added to the corpus: %s\n", path)
			carried.added++
		}
	}
	return nil
}

// shrunkWord says whether a run was shrunk to its end, or how far shrinking came.
func shrunkWord(state harness.ShrinkState) string {
	if state.Done {
		return "shrunk"
	}
	return fmt.Sprintf("shrinking stopped before its end, at %s", counted(harness.Lines(state.Best), "line"))
}

// reseeded says that shrinking took another seed.
func reseeded(from, to uint64) string {
	return fmt.Sprintf("with another seed, %d for %d: the smaller plan does not show the failure with the old one", to, from)
}
