package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

// carryFlags say where a stored run is carried out once more, and how often.
type carryFlags struct {
	world, target string
	times         int
	out           string
}

func (f *carryFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.world, "world", "", "carry the plan over to another world: docker, or sim (default: the stored run's)")
	c.Flags().StringVar(&f.target, "target", "", "carry the plan over to these brokers, such as apache-kafka:4.1.0 or a FILE.yaml, in containers (default: the stored run's)")
	c.Flags().IntVar(&f.times, "times", 1, "carry it out so often, and say how many failed alike")
	c.Flags().StringVar(&f.out, "out", ".", "directory in which runs/ stands; an exact replay writes nothing")
}

// given reports whether the command line asks for more than the stored run once more.
func (f *carryFlags) given(c *cobra.Command) bool {
	return c.Flags().Changed("world") || c.Flags().Changed("target") || c.Flags().Changed("times")
}

// timesMax bounds how often one command carries a run out.
const timesMax = 1000

// where is the ground that the flags name, for a stored run.
func (f *carryFlags) where(stored history.Run) (w harness.Where, err error) {
	w = harness.Where{World: stored.World, Target: stored.Target, Template: stored.Template}
	if f.times < 1 || f.times > timesMax {
		return w, fmt.Errorf("--times %d, expected 1 to %d", f.times, timesMax)
	}
	switch {
	case f.target != "":
		w.World = harness.Contained
		w.Target, w.Template, err = readTarget(f.target)
	case f.world == harness.Simulated:
		w = harness.Where{World: harness.Simulated}
	}
	switch f.world {
	case "":
	case harness.Simulated, harness.Contained:
		if f.target != "" && f.world != harness.Contained {
			return w, fmt.Errorf("--world %s with --target %s, expected %s", f.world, f.target, harness.Contained)
		}
		w.World = f.world
	default:
		return w, fmt.Errorf("--world %q, expected %s or %s", f.world, harness.Simulated, harness.Contained)
	}
	return w, err
}

// readTarget is a target as --target names it: by its name, or by a file, whose text is the template.
func readTarget(given string) (name, template string, err error) {
	ext := filepath.Ext(given)
	if ext != ".yaml" && ext != ".yml" {
		return given, "", nil
	}
	text, err := readBounded(given)
	if err != nil {
		return given, "", fmt.Errorf("--target: %w", err)
	}
	return strings.TrimSuffix(filepath.Base(given), ext), string(text), nil
}

// replayCarried carries a stored run's plan out on other ground, as often as is asked for, and says how many runs failed as the stored one.
func replayCarried(c *cobra.Command, f carryFlags, stored results.Dir, run history.Run, asJSON bool) error {
	where, err := f.where(run)
	if err != nil {
		return usage(err)
	}
	before, err := stored.Outcome()
	if err != nil {
		return usage(fmt.Errorf("%w; expected a run with a verdict to compare with", err))
	}
	carried, err := harness.Carried(run, where)
	if err != nil {
		return usage(fmt.Errorf("carrying the plan over: %w", err))
	}
	if carried.World == harness.Contained {
		if err := admit(c, carried); err != nil {
			return err
		}
	}
	log, out := c.ErrOrStderr(), c.OutOrStdout()
	if asJSON {
		out = log // stdout holds the JSON alone
	}
	fmt.Fprintf(log, "the plan of %s, which was %s, on %s\n%s", stored.Path, harness.Told(before.Verdict), groundWords(carried), indented(carried.Plan))
	alike := harness.Alike{Stored: before.Verdict}
	var again string // the line that repeats the last run
	carry := carryAnywhere(f.out, log, &again)
	for n := range f.times {
		next := carried
		next.Started = time.Now().UTC()
		if carried.World == harness.Simulated {
			next.Seed += uint64(n) // the same would be the same run
		}
		res, err := carry(c.Context(), next)
		if c.Context().Err() != nil {
			fmt.Fprintln(out, alike.String())
			return &outcome{exitInterrupted, fmt.Errorf("interrupted after %s", counted(alike.Runs, "run"))}
		}
		if err != nil {
			alike.Errors++
			fmt.Fprintf(log, "%d of %d: %v\n", n+1, f.times, err)
			continue
		}
		alike.Add(res.Verdict)
		if f.times == 1 {
			fmt.Fprint(out, harness.Account(res))
		}
		fmt.Fprintf(out, "%d of %d: %s\n  again: %s\n", n+1, f.times, harness.Told(res.Verdict), again)
	}
	fmt.Fprintln(out, alike.String())
	worst := alike.Worst()
	if asJSON {
		if err := printJSON(c.OutOrStdout(), &alike, exitValid); err != nil {
			return err
		}
	}
	switch {
	case worst != checker.Invalid && alike.Errors > 0:
		return trouble(fmt.Errorf("%s came to no verdict", counted(alike.Errors, "run")))
	default:
		return ended(exitOf(worst))
	}
}

// groundWords names where a run is carried out.
func groundWords(run history.Run) string {
	switch {
	case run.Target != "":
		return run.Target
	case run.World == harness.Contained:
		return "this program's own brokers, in containers"
	}
	return "the simulator"
}

// carryAnywhere carries out runs of either world, keeps their directories and tells the line that repeats the last.
func carryAnywhere(out string, log io.Writer, again *string) func(context.Context, history.Run) (*harness.Result, error) {
	contained := carryContained(out, log, func(_ *harness.Result, d results.Dir) bool {
		*again = harness.ReplayLine(d)
		return true
	}, nil)
	return func(ctx context.Context, run history.Run) (*harness.Result, error) {
		if run.World == harness.Contained {
			return contained(ctx, run)
		}
		res, err := harness.Simulate(ctx, run, harness.Watch{Trail: true})
		if err != nil {
			return nil, err
		}
		d, err := results.Create(out, run)
		if err != nil {
			return nil, err
		}
		*again = harness.ReplayLine(d)
		return res, harness.Save(d, res)
	}
}
