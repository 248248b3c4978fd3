package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tidemark/broker/bug"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/results/index"
)

// search is a hunt of this night over configurations that are drawn.
func (n *night) search(bug string) harness.Hunt {
	run := harness.Defaults()
	run.Bug, run.Started = bug, n.started
	kept := func(string) bool { return false }
	return harness.Hunt{
		Run: run, Master: n.master, Workers: n.workers, Known: n.known, Today: n.today,
		Draw:       func(seed uint64, run history.Run) history.Run { return harness.Draw(seed, run, kept) },
		SplitAfter: harness.SplitAfter,
	}
}

func (n *night) canary(c *cobra.Command, share time.Duration) (index.Part, error) {
	h := n.search(canaryBug)
	h.Known, h.Seeds, h.UntilFirst, h.Budget = nil, canarySeeds, true, canaryTime
	if share > 0 { // a minute of the whole night's, as it decides about all others
		h.Budget = max(share, min(canaryTime, time.Until(n.until)))
	}
	tally := h.Go(c.Context())
	p := h.CanaryPart(harness.NightCanary, tally, c.Context().Err() == nil)
	p.Again = harness.Line("hunt", "--bug", canaryBug, "--master", n.master, "--max-seeds", canarySeeds, "--until-first")
	return p, nil
}

func (n *night) corpus(c *cobra.Command, share time.Duration) (index.Part, error) {
	h := n.search(n.bug)
	if n.w.corpus != "" {
		var err error
		if h.Corpus, err = harness.ReadCorpus(n.w.corpus); err != nil {
			return index.Part{}, fmt.Errorf("--corpus: %w", err)
		}
	}
	h.Budget = share
	carried := carryOut(c, h, n.w)
	p := h.Part(harness.NightCorpus, carried.tally, c.Context().Err() == nil, 100, carried.kept)
	switch {
	case len(h.Corpus) == 0:
		p.Reason = "the corpus has no scenario yet"
	case p.Done && p.Runs < len(h.Corpus):
		p = harness.Doubted(p, "not the whole corpus", fmt.Sprintf("there was time for %d of %d scenarios", p.Runs, len(h.Corpus)))
	}
	return p, carried.lost
}

func (n *night) hunt(c *cobra.Command, share time.Duration) (index.Part, error) {
	h := n.search(n.bug)
	h.Seeds = nightSeeds
	var until time.Time
	if share > 0 {
		h.Seeds, h.Budget, until = seedsUnbounded, harness.NightSearch(share), time.Now().Add(share)
	}
	if n.seeds > 0 {
		h.Seeds = n.seeds
	}
	w := n.w
	if n.bug != "" {
		w.options = []string{"--bug", n.bug}
	}
	carried := carryOut(c, h, w)
	p := h.Part(harness.NightHunt, carried.tally, c.Context().Err() == nil, n.w.allowVacuous, carried.kept)
	p.Again = harness.OptionsLine("hunt", w.options, "--master", n.master, "--max-seeds", carried.tally.Runs)
	wanted, err := n.reduce(c, h, carried, until)
	for i := range p.Problems {
		if d, shrunk := carried.smallest[p.Problems[i].Signature]; shrunk {
			p.Problems[i].Smallest, p.Problems[i].Unfinished = filepath.Base(d.Path), !carried.ended[p.Problems[i].Signature]
		}
	}
	p.Reason += reducedWord(carried, wanted, n.w.corpus != "")
	return p, errors.Join(carried.lost, err)
}

// reduce shrinks the first failures that nobody knows, one of each class before the others, and takes them into the corpus. For as long as until is,
// if it is not zero: what there is no time to shrink is taken in as it is.
// It returns how many signatures there were that nobody knows.
func (n *night) reduce(c *cobra.Command, h harness.Hunt, carried *hunted, until time.Time) (wanted int, err error) {
	w, log := n.w, c.ErrOrStderr()
	w.shrink, w.shrinking = true, time.Minute
	if w.corpus != "" {
		if h.Corpus, err = harness.ReadCorpus(w.corpus); err != nil {
			return 0, err
		}
	}
	groups := slices.DeleteFunc(slices.Clone(carried.tally.Groups), func(g harness.Group) bool {
		return g.First.Known != "" || slices.ContainsFunc(h.Corpus, func(r harness.CorpusRun) bool { return r.Signature == g.Signature })
	})
	wanted = len(groups)
	groups = harness.Varied(groups, nightShrunk)
	for i := range groups {
		if !until.IsZero() { // half of what is left for each: the last try may begin at its end
			w.shrinking = min(time.Minute, time.Until(until)/time.Duration(2*(len(groups)-i)))
			w.shrink = w.shrinking >= time.Second
		}
		if w.shrink {
			fmt.Fprintf(log, "shrinking for %v: %s\n", w.shrinking.Round(time.Second), groups[i].Signature)
		} else {
			fmt.Fprintf(log, "no time to shrink: %s\n", groups[i].Signature)
		}
		if err := w.reduce(c, h, log, groups[i:i+1], carried); err != nil {
			return wanted, err
		}
	}
	return wanted, nil
}

// reducedWord says what became of the signatures that nobody knew, for the sentence of the part: how many were shrunk, to the end or not, and how many the
// corpus got; "" if there were none.
func reducedWord(carried *hunted, wanted int, corpus bool) string {
	if wanted == 0 {
		return ""
	}
	ended := 0
	for _, done := range carried.ended {
		if done {
			ended++
		}
	}
	stopped := len(carried.ended) - ended
	text := fmt.Sprintf("; of %s that nobody knew %d shrunk", counted(wanted, "signature"), ended)
	if stopped > 0 {
		text += fmt.Sprintf(", %d shrunk in part", stopped)
	}
	if left := wanted - ended - stopped; left > 0 {
		text += fmt.Sprintf(", %d not shrunk", left)
	}
	if corpus {
		text += fmt.Sprintf("; %d added to the corpus", carried.added)
		if left := wanted - carried.added; left > 0 {
			text += fmt.Sprintf(", %d not", left)
		}
	}
	return text
}

func (n *night) bugs(c *cobra.Command, share time.Duration) (index.Part, error) {
	entries, ctx := bug.Registry, c.Context()
	left := func() time.Duration { return time.Duration(len(entries)) * nightBug }
	if share > 0 {
		entries = drawn(entries, nightDrawn, uint64(n.today.Unix()/int64((24*time.Hour)/time.Second)))
		until := time.Now().Add(share)
		within, over := context.WithDeadline(ctx, until)
		defer over()
		ctx, left = within, func() time.Duration { return time.Until(until) }
	}
	interrupted := func() bool { return c.Context().Err() != nil }
	p := harness.Proof{Base: harness.Defaults(), Master: n.master, Seeds: seedsUnbounded, Workers: n.workers}
	rows := harness.SearchFairly(entries, nightBug, func() time.Duration {
		if interrupted() {
			return 0
		}
		return left()
	}, func(e bug.Entry, budget time.Duration) harness.BugRow {
		used := processorTime()
		p.Budget = budget
		row, err := p.Search(ctx, e)
		switch {
		case err != nil: // cut off, before whatever was found could be told from what a correct broker does
			row.Status = harness.BugShort
		case row.Status == harness.BugMissed && harness.Starved(processorTime()-used, row.Seconds, min(n.workers, runtime.NumCPU())):
			row.Status = harness.BugStarved
		}
		return row
	})
	p.Budget = nightBug
	part := p.Part(harness.NightBugs, rows, !interrupted(), n.known, n.today)
	again := []any{"bugs", "--budget", nightBug, "--no-shrink", "--master", n.master}
	for _, e := range entries {
		if share > 0 { // else it is the whole table
			again = append(again, e.Name)
		}
	}
	part.Again = harness.Line(again...)
	return part, nil
}

// contained is a part that needs a container engine: runs of this program's own brokers, or of a target's.
func (n *night) contained(c *cobra.Command, part, target string, share time.Duration) (index.Part, error) {
	runs := 10
	if target != "" {
		runs = 3
	}
	if n.budget > 0 {
		runs = min(2, int(share/nightRunTime))
		if target != "" {
			runs = min(1, runs)
		}
	}
	h := harness.Hunt{Run: harness.Defaults(), Master: n.master, Seeds: runs, Workers: 1, Known: n.known, Today: n.today}
	h.Run.World, h.Run.Duration, h.Run.Target, h.Run.Started = harness.Contained, nightLoad, target, n.started
	if target == "" {
		h.Run.Bug = n.bug
	} else {
		h.Run.Rate, h.Run.Writers = harness.TargetRate, harness.TargetWriters
	}
	h.Budget = share
	skipped := func(why string) index.Part {
		p := h.Part(part, harness.Tally{}, false, 100, nil)
		p.Status, p.Reason, p.Problems = index.Skipped, why, []index.Problem{}
		p.Settle()
		return p
	}
	untimely := func(why string) index.Part { // nobody can tell what it would have found
		return harness.Doubted(h.Part(part, harness.Tally{}, true, 100, nil), "no time", why)
	}
	if runs == 0 {
		return untimely(fmt.Sprintf("a run takes some %v, and there were %v left for it", nightRunTime, share.Round(time.Second))), nil
	}
	if err := admitted(c.Context(), h.Run); err != nil {
		if n.needed {
			return index.Part{}, err
		}
		return skipped(err.Error()), nil
	}
	within := *c
	if share > 0 { // a run takes as long as the machine lets it: what does not end within the part's time is cut off
		ctx, over := context.WithTimeout(c.Context(), share)
		defer over()
		within.SetContext(ctx)
	}
	if target != "" {
		switch err := buildTarget(within.Context(), target, c.ErrOrStderr()); {
		case err == nil:
		case within.Context().Err() != nil && c.Context().Err() == nil:
			return untimely(fmt.Sprintf("its image was not made within the %v that there were", share.Round(time.Second))), nil
		case n.needed && c.Context().Err() == nil:
			return index.Part{}, err
		default:
			return skipped(err.Error()), nil
		}
	}
	w := n.w
	w.options = []string{"--world", harness.Contained, "--duration", nightLoad.String()}
	if target != "" {
		w.options = append(w.options, "--target", target)
	}
	if h.Run.Bug != "" {
		w.options = append(w.options, "--bug", h.Run.Bug)
	}
	carried := carryOut(&within, h, w)
	p := h.Part(part, carried.tally, c.Context().Err() == nil, max(n.w.allowVacuous, 50), carried.kept)
	if left := runs - carried.tally.Runs; within.Context().Err() != nil && c.Context().Err() == nil && left > 0 {
		p.Reason = fmt.Sprintf("%d of %d runs came to their end within the %v that there were; %s", carried.tally.Runs, runs, share.Round(time.Second), p.Reason)
	}
	p.Again = harness.OptionsLine("hunt", w.options, "--master", n.master, "--max-seeds", runs)
	_, left := leftByContainers()
	return p, errors.Join(carried.lost, left)
}
