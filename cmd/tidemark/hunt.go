package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/results"
)

// keepMax bounds the failing runs that one hunt keeps on disk.
const keepMax = 20

func huntCommand() *cobra.Command {
	var o options
	var h harness.Hunt
	var master string
	var asJSON, twice, hashes bool
	var allowVacuous float64
	c := &cobra.Command{
		Use:   "hunt",
		Short: "Search seeds for one that breaks the contract",
		Long: "Draws seeds from a master seed and runs each in the simulated world, on all cores. The first failing runs are kept.\n" +
			"With --twice every seed is run again by another process with another GOMAXPROCS, and the trace hashes must agree.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			seed, err := parseSeed("master", master)
			if err != nil {
				return err
			}
			run, plan, err := o.complete()
			if err != nil {
				return err
			}
			if run.World != harness.Simulated {
				return usage(fmt.Errorf("--world %q, expected %s: hunts are simulated", run.World, harness.Simulated))
			}
			run.Plan = plan
			if _, err := harness.Expand(run, plan); err != nil {
				return usage(err)
			}
			if h.Seeds < 1 || h.Workers < 1 || h.First < 0 {
				return usage(fmt.Errorf("--max-seeds %d, --workers %d, --first %d: expected 1 or more, 1 or more, 0 or more", h.Seeds, h.Workers, h.First))
			}
			h.Run, h.Master = run, seed
			if hashes {
				return printHashes(c, h)
			}
			return hunt(c, h, o.out, asJSON, twice, allowVacuous)
		},
	}
	o.register(c)
	f := c.Flags()
	f.StringVar(&master, "master", "", "the seed that the runs' seeds are drawn from (default: drawn, and printed)")
	f.IntVar(&h.Seeds, "max-seeds", 1000, "at most so many runs")
	f.IntVar(&h.First, "first", 0, "number of the first run")
	f.DurationVar(&h.Budget, "budget", 0, "start no run after so long; 0 is no limit")
	f.IntVar(&h.Workers, "workers", runtime.NumCPU(), "runs at a time")
	f.BoolVar(&h.UntilFirst, "until-first", false, "stop at the first violation")
	f.StringVar((*string)(&h.UntilClass), "until", "", "stop at the first anomaly of this class, allowed or not, such as \"lost acknowledged write\"")
	f.StringVar(&o.out, "out", ".", "directory in which runs/ stands")
	f.BoolVar(&asJSON, "json", false, "print the tally as JSON")
	f.BoolVar(&twice, "twice", false, "run each seed again in another process and compare")
	f.BoolVar(&hashes, "hashes", false, "print only number and trace hash of each run")
	f.Float64Var(&allowVacuous, "allow-vacuous", 5, "per cent of the runs that may be vacuous")
	return c
}

// printHashes is what the second process of --twice does.
func printHashes(c *cobra.Command, h harness.Hunt) error {
	out := bufio.NewWriter(c.OutOrStdout())
	h.Each = func(n int, res *harness.Result, _ error) { fmt.Fprintf(out, "%d %016x\n", n, res.Hash) }
	h.Go(c.Context())
	return out.Flush()
}

func hunt(c *cobra.Command, h harness.Hunt, outDir string, asJSON, twice bool, allowVacuous float64) error {
	log := c.ErrOrStderr()
	fmt.Fprintf(log, "tidemark %s, hunt from master seed %d: %d seeds of %v on %d workers\n", harness.Version, h.Master, h.Seeds, h.Run.Duration, h.Workers)
	found := map[int]uint64{}
	var failing []*harness.Result
	bar := startProgress(h.Seeds)
	h.Each = func(n int, res *harness.Result, err error) {
		bar.step()
		found[n] = res.Hash
		if err == nil && len(failing) < keepMax && worthKeeping(res, h.UntilClass) {
			failing = append(failing, res)
		}
	}
	tally := h.Go(c.Context())
	bar.end()
	for _, res := range failing {
		d, err := keep(c.Context(), outDir, res)
		if err != nil {
			return trouble(err)
		}
		fmt.Fprintf(log, "%s, seed %d: %s\n  replay: %s\n", res.Verdict.Status, res.Run.Seed, res.Verdict.Reason, harness.ReplayLine(d))
	}
	if asJSON {
		if err := printJSON(c.OutOrStdout(), tally, exitValid); err != nil {
			return err
		}
	} else {
		fmt.Fprint(c.OutOrStdout(), tally)
		for _, f := range tally.Failures {
			fmt.Fprintf(c.OutOrStdout(), "%s: run %d, seed %d: %s\n", f.Status, f.Number, f.Seed, f.Reason)
		}
	}
	if twice && c.Context().Err() == nil {
		if err := compareHashes(c, h, found); err != nil {
			return trouble(err)
		}
		fmt.Fprintf(c.OutOrStdout(), "%d seeds run again by another process with another GOMAXPROCS: the same hashes\n", len(found))
	}
	return ended(huntExit(c.Context(), tally, allowVacuous))
}

// worthKeeping reports whether somebody will want to look at a run: it failed, or it shows what the hunt was for.
func worthKeeping(res *harness.Result, class checker.Class) bool {
	failed := res.Verdict.Status == checker.Invalid || res.Verdict.Status == checker.Unknown
	return failed || class != "" && res.Shows(class)
}

func huntExit(ctx context.Context, t harness.Tally, allowVacuous float64) int {
	switch {
	case t.Invalid > 0:
		return exitViolation
	case ctx.Err() != nil:
		return exitInterrupted
	case t.Errors > 0:
		return exitHarness
	case t.Runs == 0 || t.Unknown > 0 || 100*float64(t.Vacuous) > allowVacuous*float64(t.Runs):
		return exitInconclusive
	default:
		return exitValid
	}
}

// keep writes a failing run's directory; its trail comes from running it once more.
func keep(ctx context.Context, outDir string, res *harness.Result) (results.Dir, error) {
	again, err := harness.Simulate(context.WithoutCancel(ctx), res.Run, harness.Watch{Trail: true})
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

// compareHashes runs every seed again in another process of this program, with another number of scheduler threads.
func compareHashes(c *cobra.Command, h harness.Hunt, found map[int]uint64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{}, os.Args[1:]...)
	args = append(args, "--hashes", "--master", strconv.FormatUint(h.Master, 10), "--twice=false")
	again := exec.CommandContext(c.Context(), self, args...)
	other := 1
	if runtime.GOMAXPROCS(0) == 1 {
		other = 4
	}
	again.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", other))
	again.Stderr = c.ErrOrStderr()
	text, err := again.Output()
	if err != nil {
		return fmt.Errorf("the second process: %w", err)
	}
	seen := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		number, hash, _ := strings.Cut(lines.Text(), " ")
		n, err1 := strconv.Atoi(number)
		second, err2 := strconv.ParseUint(hash, 16, 64)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("the second process printed %q, expected a number and a hash", lines.Text())
		}
		first, ok := found[n]
		if !ok {
			continue
		}
		seen++
		if first != second {
			return fmt.Errorf("run %d, seed %d: trace hash %016x, in another process %016x", n, harness.SeedOf(h.Master, n), first, second)
		}
	}
	if seen != len(found) {
		return fmt.Errorf("the second process ran %d of %d seeds", seen, len(found))
	}
	return nil
}
