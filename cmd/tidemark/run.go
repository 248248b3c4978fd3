package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
	"tidemark/sim"
)

func runCommand() *cobra.Command {
	var o options
	var t traceFlags
	var asJSON, tour, keep bool
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a cluster under faults and judge what it did",
		Long: "Runs brokers, producers and consumers under a plan of faults, checks the history against the contract of the\n" +
			"configuration, and leaves a directory with the history, the verdict and report.html.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			seed, err := parseSeed("seed", o.seed)
			if err != nil {
				return err
			}
			run, plan, err := o.complete()
			if err != nil {
				return err
			}
			run.Seed = seed
			if run.World == worldAuto {
				run.World = chooseWorld(c)
			}
			if tour {
				if plan, err = harness.Tour(run); err != nil {
					return usage(err)
				}
			}
			if run, err = harness.Expand(run, plan); err != nil {
				return usage(err)
			}
			if asJSON && t.on {
				return usage(fmt.Errorf("--json and --trace exclude each other"))
			}
			if run.World == harness.Contained {
				if t.on {
					return usage(fmt.Errorf("--trace is of the simulated world, this run is of the world %s", run.World))
				}
				return runContained(c, o.out, run, keep, asJSON)
			}
			if keep {
				return usage(fmt.Errorf("--keep is of the world %s, this run is of the world %s", harness.Contained, run.World))
			}
			d, err := results.Create(o.out, run)
			if err != nil {
				return trouble(err)
			}
			announce(c.ErrOrStderr(), d, run)
			watch := t.watch(c.OutOrStdout())
			watch.Progress = progressLine(run.Duration)
			res, err := harness.Simulate(c.Context(), run, watch)
			clearLine()
			if c.Context().Err() != nil {
				return &outcome{exitInterrupted, fmt.Errorf("interrupted; again: %s run --seed %d (options in %s/run.json)", harness.Program(), run.Seed, d.Path)}
			}
			if err != nil {
				return trouble(fmt.Errorf("%w\n  again: %s run --seed %d (options in %s/run.json)", err, harness.Program(), run.Seed, d.Path))
			}
			if err := harness.Save(d, res); err != nil {
				return trouble(err)
			}
			return show(c.OutOrStdout(), d, res, asJSON)
		},
	}
	o.register(c)
	t.register(c)
	c.Flags().BoolVar(&tour, "tour", false, "draw a plan that shows what faults do: a leader is cut off, one is killed, one loses power, then others")
	c.MarkFlagsMutuallyExclusive("tour", "plan")
	c.Flags().StringVar(&o.seed, "seed", "", "the seed of the run (default: drawn, and printed)")
	c.Flags().StringVar(&o.out, "out", ".", "directory in which runs/ stands")
	c.Flags().BoolVar(&asJSON, "json", false, "print the outcome as JSON")
	c.Flags().BoolVar(&keep, "keep", false, "leave the containers for a look inside, until tidemark cleanup")
	return c
}

// announce says what is about to run, so that it can be run again whatever happens.
func announce(log io.Writer, d results.Dir, run history.Run) {
	fmt.Fprintf(log, "tidemark %s, seed %d, world %s: %d brokers, %s for %v\n", harness.Version, run.Seed, run.World, run.Brokers, run.Topic, run.Duration)
	fmt.Fprintf(log, "options in %s/run.json; the plan of faults:\n%s", d.Path, indent(run.Plan))
}

// show prints the verdict block and ends with its exit code.
func show(w io.Writer, d results.Dir, res *harness.Result, asJSON bool) error {
	code := exitOf(res.Verdict.Status)
	if asJSON {
		return printJSON(w, map[string]any{
			"seed": fmt.Sprint(res.Run.Seed), "verdict": res.Verdict, "hash": res.Outcome(d).Hash,
			"directory": d.Path, "report": d.ReportPath(), "replay": harness.ReplayLine(d),
		}, code)
	}
	fmt.Fprint(w, harness.Summary(res.Verdict))
	if res.Run.World == harness.Simulated {
		fmt.Fprintf(w, "  %v simulated in %v; trace hash %016x over %d events\n", res.Virtual.Round(time.Millisecond), res.Wall.Round(time.Millisecond), res.Hash, res.Events)
	} else {
		fmt.Fprintf(w, "  in containers for %v; the first write was acknowledged %v after the start\n", res.Wall.Round(time.Millisecond), firstAck(res.History).Round(time.Millisecond))
	}
	fmt.Fprintf(w, "report: %s\nreplay: %s\n", d.ReportPath(), harness.ReplayLine(d))
	return ended(code)
}

func printJSON(w io.Writer, value any, code int) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return trouble(err)
	}
	return ended(code)
}

// traceFlags ask for a readable trace of events.
type traceFlags struct {
	on          bool
	from, until time.Duration
}

func (t *traceFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&t.on, "trace", false, "print every event of the simulated run: number, time, broker, hash, what happened")
	c.Flags().DurationVar(&t.from, "from", 0, "with --trace: leave out what happened before")
	c.Flags().DurationVar(&t.until, "until", 0, "with --trace: leave out what happened after (0: nothing)")
}

func (t *traceFlags) watch(w io.Writer) harness.Watch {
	watch := harness.Watch{Trail: true}
	if t.on {
		watch.Trace = func(e sim.Event) {
			if e.Time >= t.from && (t.until == 0 || e.Time <= t.until) {
				fmt.Fprintln(w, harness.EventLine(e))
			}
		}
	}
	return watch
}

func indent(text string) string {
	out := ""
	for line := range splitLines(text) {
		out += "  " + line + "\n"
	}
	return out
}
