package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/results"
)

func replayCommand() *cobra.Command {
	var t traceFlags
	var f carryFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "replay DIR",
		Short: "Carry out a stored run again",
		Long: "For the same build the trace must be the same, event by event; a difference is shown and is trouble of the harness.\n" +
			"Another build carries out the stored plan and options and reports its own verdict, and so does any build with a run in\n" +
			"containers, which gets a directory of its own and ends by comparing its verdict with the stored one.\n" +
			"With --world or --target the plan is carried over unchanged: roles, events and brokers' numbers mean there what they mean here. The\n" +
			"end says how many of --times runs failed as the stored one did; exit codes are those of run.",
		Args: exactly("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			d, run, err := openRun(args[0])
			if err != nil {
				return usage(err)
			}
			if err := harness.Verify(run); err != nil {
				return usage(fmt.Errorf("%s: %w", filepath.Join(d.Path, "run.json"), err))
			}
			switch err := d.OwnPlan(run); {
			case errors.Is(err, results.ErrAnotherPlan):
				fmt.Fprintf(c.ErrOrStderr(), "tidemark: %v: what is carried out is the plan in run.json (run --plan FILE carries out another)\n", err)
			case err != nil:
				return usage(err)
			}
			if err := d.OwnReport(run); err != nil {
				fmt.Fprintln(c.ErrOrStderr(), "tidemark:", err)
			}
			if err := t.check(run.World, run.Brokers); err != nil {
				return usage(err)
			}
			if f.given(c) {
				if t.on {
					return usage(fmt.Errorf("--trace with --world, --target or --times, expected it alone: an exact replay has a trace"))
				}
				return replayCarried(c, f, d, run, asJSON)
			}
			if run.World == harness.Contained {
				return replayContained(c, f.out, d, run, asJSON)
			}
			if asJSON && t.on {
				return usage(errors.New("--json and --trace exclude each other"))
			}
			if c.Flags().Changed("out") {
				return usage(fmt.Errorf("--out is for a run in containers, this one is of the world %s and its replay writes nothing", run.World))
			}
			rep, err := harness.Again(c.Context(), d, t.watch(c.OutOrStdout()))
			if c.Context().Err() != nil {
				return &outcome{exitInterrupted, errInterrupted}
			}
			if err != nil {
				return trouble(err)
			}
			w := c.OutOrStdout()
			stored := rep.Stored.Verdict.Status
			if asJSON {
				if err := printJSON(w, map[string]any{
					"seed": fmt.Sprint(run.Seed), "verdict": rep.Result.Verdict, "hash": fmt.Sprintf("%016x", rep.Result.Hash), "storedHash": rep.Stored.Hash,
					"storedStatus": stored, "sameBuild": rep.Exact, "sameHash": rep.Matches, "sameEvents": rep.Alike, "differs": rep.Differs, "trailChanged": rep.Changed,
				}, exitValid); err != nil {
					return err
				}
				w = c.ErrOrStderr() // stdout holds the JSON alone
			} else {
				fmt.Fprint(w, harness.Account(rep.Result))
			}
			switch {
			case rep.Matches && rep.Exact && stored != rep.Result.Verdict.Status:
				return trouble(fmt.Errorf("the same build replayed to the same trace hash %s and judges it %s, results.json says %s: it was changed, or judged by another checker",
					rep.Stored.Hash, rep.Result.Verdict.Status, stored))
			case rep.Matches && rep.Exact && rep.Changed != "":
				return trouble(fmt.Errorf("the same build replayed to the trace hash %s that is stored; trace.hashes beside it was changed: %s", rep.Stored.Hash, rep.Changed))
			case rep.Matches:
				fmt.Fprintf(w, "exact replay: trace hash %s as stored, verdict %s as stored\n", rep.Stored.Hash, stored)
			case rep.Alike && rep.Exact && stored != checker.Unknown && stored != rep.Result.Verdict.Status:
				return trouble(fmt.Errorf("the same build replayed to the same events and judges them %s, results.json says %s: it was changed, or judged by another checker",
					rep.Result.Verdict.Status, stored))
			case rep.Alike && rep.Exact:
				fmt.Fprintf(w, "exact replay: no trace hash is stored, all %d events are as trace.hashes tells; trace hash %016x, verdict %s, stored %s\n",
					len(rep.Result.Trail), rep.Result.Hash, rep.Result.Verdict.Status, stored)
			case rep.Exact && rep.Stored.Hash == "" && (stored == checker.Unknown || rep.Stored.Truncated != ""):
				fmt.Fprintf(w, "the stored run did not come to its end, so there is no trace hash to compare with; this one came to %016x\n", rep.Result.Hash)
			case rep.Exact:
				return trouble(fmt.Errorf("the same build replayed to trace hash %016x, stored is %s; the first event that differs:\n  %s",
					rep.Result.Hash, cmp.Or(rep.Stored.Hash, "none"), rep.Differs))
			default:
				fmt.Fprintf(w, "another build made the stored run (%s, this is %s): its plan and options were carried out again\n", rep.Stored.Run.Build, harness.BuildHash())
				fmt.Fprintf(w, "trace hash %016x, stored %s; verdict %s, stored %s\n", rep.Result.Hash, cmp.Or(rep.Stored.Hash, "none"), rep.Result.Verdict.Status, stored)
			}
			return ended(exitOf(rep.Result.Verdict.Status))
		},
	}
	t.register(c)
	f.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the outcome as JSON")
	return c
}

// exactly asks for one argument by name.
func exactly(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage(fmt.Errorf("%d arguments, expected one: %s\n  usage: %s", len(args), name, c.UseLine()))
		}
		return nil
	}
}

func splitLines(text string) iter.Seq[string] {
	return strings.SplitSeq(strings.TrimRight(text, "\n"), "\n")
}
