package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/broker/near"
	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/history/plain"
)

func huntCommand() *cobra.Command {
	var o options
	var h harness.Hunt
	var master, configs, known, splits string
	var w huntWanted
	var hashes bool
	c := &cobra.Command{
		Use:   "hunt",
		Short: "Search seeds for one that breaks the contract",
		Long: "Draws seeds from a master seed and runs each, in the simulated world on all cores, in containers one at a time. The\n" +
			"first failing runs are kept, the others leave no directory; a hunt of one run (--max-seeds 1) keeps it whatever its verdict. A run's\n" +
			"configuration and plan are drawn for it, so that tidemark run with its seed is another one: the line behind again: repeats it. In the simulated\n" +
			"world every other run, after the first 200, goes on from an earlier one, around a moment at which something rare nearly happened (docs/generator.md).\n" +
			"--help shows the defaults of options that are not drawn (--configs default). With --twice every simulated seed is run again by another process with another\n" +
			"GOMAXPROCS, and the trace hashes must agree. With --plan all runs have the same plan, and the tally says how many of\n" +
			"them it broke.",
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
			if run.World == worldAuto {
				run.World = chooseWorld(c)
			}
			if run.World != harness.Simulated && (w.twice || hashes) {
				return usage(fmt.Errorf("--twice and --hashes compare trace hashes, expected --world %s: the world %s has none", harness.Simulated, run.World))
			}
			if !c.Flags().Changed("workers") {
				h.Workers = workersIn(run.World)
			}
			run.Plan = plan
			if _, err := harness.Expand(run, plan); err != nil {
				return usage(err)
			}
			if err := bounds(h, w.allowVacuous); err != nil {
				return usage(err)
			}
			if err := w.check(run.World); err != nil {
				return usage(err)
			}
			if run.World == harness.Contained {
				if err := admit(c, run); err != nil {
					return err
				}
			}
			h.Run, h.Master = run, seed
			if h.Draw, err = drawing(configs, run, c.Flags().Changed); err != nil {
				return usage(err)
			}
			if w.pursue {
				if run.World != harness.Simulated {
					return usage(fmt.Errorf("--pursue with --world %s, expected %s, where invariants are seen", run.World, harness.Simulated))
				}
				h.Pursue = true
			}
			if hashes && w.json {
				return usage(errors.New("--hashes with --json, expected either"))
			}
			if h.Splits, err = harness.ParseSplits(splits); err != nil {
				return usage(fmt.Errorf("--split %w", err))
			}
			if h.Draw != nil && h.Run.World == harness.Simulated && len(h.Splits) == 0 {
				h.SplitAfter = harness.SplitAfter
			}
			h.Whole = c.Flags().Changed("duration")
			if hashes {
				return printHashes(c, h)
			}
			if err := recall(c.ErrOrStderr(), &h, w.corpus, known); err != nil {
				return usage(err)
			}
			w.out = o.out
			return hunt(c, h, w)
		},
	}
	o.register(c)
	f := c.Flags()
	f.StringVar(&master, "master", "", "the seed that the runs' seeds are drawn from (default: drawn, and printed)")
	f.StringVar(&configs, "configs", "", "draw each run's configuration, but for the options that are given here (random), or take the defaults (default).\nWithout it: random in the simulated world where the plan is drawn too, else default")
	f.IntVar(&h.Seeds, "max-seeds", 1000, "at most so many runs")
	f.IntVar(&h.First, "first", 0, "number of the first run")
	f.StringVar(&splits, "split", "", "carry out the run that goes on from the first one at these splits, as the line that repeats it says")
	f.DurationVar(&h.Budget, "budget", 0, "search for so long, and cut off simulated runs that are under way then; in containers begin no run that is not to end before, unless it is the\nonly one. What is shrunk comes on top. 0 is no limit")
	f.IntVar(&h.Workers, "workers", 0, "runs at a time (default: one a core in the simulated world, one in containers)")
	f.BoolVar(&h.UntilFirst, "until-first", false, "stop at the first violation")
	f.StringVar((*string)(&h.UntilClass), "until-class", "", "stop at the first anomaly of this class, allowed or not:\n"+classes(",\n"))
	f.StringVar(&o.out, "out", ".", "directory in which runs/ stands")
	f.StringVar(&w.corpus, "corpus", "", "directory of scenarios that are carried out first, with the bug of --bug or none whatever bug they name (run --scenario carries out\none as it is); the first failure of each signature that it lacks is added")
	f.BoolVar(&w.pursue, "pursue", false, "judge by what clients and logs tell alone, and where an invariant was broken carry the run out once more with lines that may show it\nto them, as tidemark bugs does")
	f.BoolVar(&w.shrink, "shrink", false, "shrink the first failure of each signature")
	f.IntVar(&w.neighbours, "neighbours", 0, "of every failing run that is kept, carry out so many neighbours (its plan a little later, another seed), say how many fail alike,\nand let --shrink take of each signature the run of which most do, and no smaller one of which fewer do")
	f.DurationVar(&w.shrinking, "shrink-budget", time.Minute, "of shrinking one failure")
	f.StringVar(&known, "known", "", "file with known failures, which count as none until they expire: a JSON array of {signature, reason, expires}")
	f.BoolVar(&w.json, "json", false, "print the tally as JSON")
	f.BoolVar(&w.twice, "twice", false, "run each seed again in another process and compare")
	f.BoolVar(&hashes, "hashes", false, "print only number and trace hash of each run; ends with 0 whatever the runs came to")
	f.Float64Var(&w.allowVacuous, "allow-vacuous", 5, "per cent of the runs that may be vacuous")
	return c
}

// drawing is how a hunt draws its runs' configurations, nil for not at all. The options that the command line gives stay as they are.
func drawing(configs string, run history.Run, given func(flag string) bool) (func(seed uint64, run history.Run) history.Run, error) {
	switch {
	case configs == "random" && run.Like != "":
		return nil, fmt.Errorf("--configs random with --like %s, expected default: the times are that target's", run.Like)
	case configs == "random":
	case configs == "" && run.World == harness.Simulated && run.Plan == "" && run.Like == "":
	case configs == "" || configs == "default":
		return nil, nil
	default:
		return nil, fmt.Errorf("--configs %q, expected random or default", configs)
	}
	kept := func(option string) bool {
		_, key := run.Config[option]
		return key || given(option)
	}
	return func(seed uint64, run history.Run) history.Run { return harness.Draw(seed, run, kept) }, nil
}

// printHashes is what the second process of --twice does: the hashes by the runs' numbers, whatever else came of the runs.
func printHashes(c *cobra.Command, h harness.Hunt) error {
	hashes, failed := map[int]uint64{}, error(nil)
	h.Each = func(n int, res *harness.Result, err error) {
		if err != nil {
			failed = fmt.Errorf("%s: %w", h.RunName(n), err)
			return
		}
		hashes[n] = res.Hash
	}
	h.Go(c.Context())
	out := bufio.NewWriter(c.OutOrStdout())
	for _, n := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintf(out, "%d %016x\n", n, hashes[n])
	}
	if err := errors.Join(failed, out.Flush()); err != nil {
		return trouble(err)
	}
	return nil
}

func hunt(c *cobra.Command, h harness.Hunt, w huntWanted) error {
	log, out := c.ErrOrStderr(), c.OutOrStdout()
	fmt.Fprintf(log, "tidemark %s, hunt from master seed %d: %s%s%s on %s\n", harness.Version, h.Master, behindCorpus(h, w.corpus), counted(h.Seeds, "seed"), lasting(h),
		counted(h.Workers, "worker"))
	fmt.Fprint(log, huntSetting(h))
	warnLate(log, h.Run)
	begun := time.Now()
	named := nameGenerator(h)
	w.options = givenBut(c, huntsAlone...)
	carried := carryOut(c, h, w)
	tally := carried.tally
	generator := nameWithin(c.Context(), named, begun, h.Budget)
	if generator != "" {
		fmt.Fprintf(log, "  the configurations were drawn by generator %s\n", generator)
	}
	var err error
	var told campaignTold
	if !ofOneRun(h) {
		campaign := harness.NewCampaign(huntLabel(c), begun, h.Master, againLine(c, h.Master))
		part := h.Part("hunt", tally, c.Context().Err() == nil, w.allowVacuous, carried.kept)
		part.Again = campaign.Again
		campaign.Parts = append(campaign.Parts, part)
		if told, err = keepCampaign(w.out, log, campaign, begun, c.Context().Err() == nil); err != nil {
			carried.lost = errors.Join(carried.lost, err)
		}
	}
	if w.json {
		if err := printJSON(out, huntTold{tally, generator, told}, exitValid); err != nil {
			return err
		}
		out = log // stdout holds the tally alone
	} else {
		fmt.Fprint(out, tally)
		if c.Context().Err() != nil {
			fmt.Fprintln(out, "interrupted: runs that were under way count for nothing, and what was not seen may be there")
		}
		if tally.Runs == 0 && tally.Errors == 0 {
			fmt.Fprintln(out, "inconclusive: no run came to its end")
		}
		if h.Run.Plan != "" && h.Run.Plan != noFaults {
			fmt.Fprintf(out, "the plan broke the contract in %d of %d runs\n", tally.Invalid, tally.Runs)
		}
		for _, f := range tally.Failures {
			if _, kept := carried.dirs[f.Number]; !kept {
				fmt.Fprintf(out, "%s: %s, seed %d: %s\n%s", f.Status, f.Name(), f.Seed, plain.Line(f.Reason), repeat(c, h, f))
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(carried.dirs)) {
		v := carried.failing[n].Verdict
		fmt.Fprintf(out, "%s: %s, seed %d: %s\n  %s: %s\n", v.Status, h.RunName(n), carried.failing[n].Run.Seed, plain.Line(v.Reason), harness.ReplayWord(h.Run), harness.ReplayLine(carried.dirs[n]))
		if !ofOneRun(h) {
			fmt.Fprint(out, repeat(c, h, harness.Failure{Number: n, From: carried.from[n]}))
		}
	}
	if w.neighbours > 0 {
		w.firmest(c.Context(), h, out, carried)
	}
	if err := w.reduce(c, h, out, tally.Groups, carried); err != nil {
		carried.lost = errors.Join(carried.lost, err)
	}
	if h.Run.World == harness.Contained {
		left, err := leftByContainers()
		if err != nil {
			return trouble(err)
		}
		fmt.Fprintln(out, left)
	}
	if w.twice && c.Context().Err() == nil {
		if err := compareHashes(c, h, carried.found); err != nil {
			return trouble(err)
		}
		fmt.Fprintf(out, "%d seeds run again by another process with another GOMAXPROCS: the same hashes\n", len(carried.found))
	}
	if told.Page != "" {
		fmt.Fprintf(out, "campaign: %s: %s\n", told.Page, told.Difference.Sentence())
	}
	code := huntExit(c.Context(), tally, w.allowVacuous)
	if carried.lost == nil {
		return ended(code)
	}
	if code != exitViolation {
		code = exitHarness
	}
	return &outcome{code, carried.lost}
}

// ofOneRun reports whether a hunt is one run, which is kept whatever its verdict and leaves no campaign.
func ofOneRun(h harness.Hunt) bool { return h.Seeds == 1 && len(h.Corpus) == 0 }

// behindCorpus says what is carried out before any seed.
func behindCorpus(h harness.Hunt, dir string) string {
	if len(h.Corpus) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s, then ", counted(len(h.Corpus), "scenario"), dir)
}

// lasting says how long the runs of a hunt are, if they are all of one length.
func lasting(h harness.Hunt) string {
	if h.Draw != nil {
		return ""
	}
	return fmt.Sprintf(" of %v", h.Run.Duration)
}

// huntSetting is the configuration of a hunt's runs, as far as they have one in common.
func huntSetting(h harness.Hunt) string {
	if h.Draw == nil {
		return setting(h.Run)
	}
	text := "  configurations drawn, one a run"
	if h.Run.Bug != "" {
		text += ", bug on: " + h.Run.Bug
	}
	return text + "\n"
}

// nameGenerator begins to find the name of the generator that draws a hunt's configurations: beside its first runs, as it takes more than a second of a processor,
// which is to be none that the hunt's budget does not hold. One run, as of a line that repeats it, is over before. nil is no name.
func nameGenerator(h harness.Hunt) <-chan string {
	if h.Draw == nil || h.Seeds == 1 {
		return nil
	}
	named := make(chan string, 1)
	go func() { named <- harness.GeneratorHash() }()
	return named
}

// nameWithin is what comes of nameGenerator until the budget of a hunt that began then is over; "" if nothing does.
func nameWithin(ctx context.Context, named <-chan string, begun time.Time, budget time.Duration) string {
	if named == nil {
		return ""
	}
	select {
	case name := <-named:
		return name
	default:
	}
	var over <-chan time.Time
	if budget > 0 {
		over = time.After(time.Until(begun.Add(budget)))
	}
	select {
	case name := <-named:
		return name
	case <-ctx.Done():
	case <-over:
	}
	return ""
}

// counted is a number of things, in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// workersIn is how many runs of a world this machine carries out at a time: a simulated one takes a core, one in containers shares the
// machine's clock with its neighbours.
func workersIn(world string) int {
	if world == harness.Contained {
		return 1
	}
	return runtime.NumCPU()
}

// bounds looks at the flags that are the hunt's own.
func bounds(h harness.Hunt, allowVacuous float64) error {
	if err := cmp.Or(wholeWithin("max-seeds", h.Seeds, 1, seedsMax), wholeWithin("first", h.First, 0, seedsMax), wholeWithin("workers", h.Workers, 1, workersMax)); err != nil {
		return err
	}
	switch {
	case h.Budget < 0:
		return fmt.Errorf("--budget %v, expected a positive duration, or 0s for no limit", h.Budget)
	case !(allowVacuous >= 0 && allowVacuous <= 100):
		return fmt.Errorf("--allow-vacuous %s, expected 0 to 100 per cent", strconv.FormatFloat(allowVacuous, 'f', -1, 64))
	case h.UntilClass != "" && !slices.Contains(checker.Classes, h.UntilClass):
		return fmt.Errorf("--until-class %q%s, expected one of %s", h.UntilClass, near.Hint(string(h.UntilClass), strings.Split(classes("\n"), "\n")), classes(", "))
	}
	return nil
}

// classes lists the classes of anomaly.
func classes(between string) string {
	var names []string
	for _, class := range checker.Classes {
		names = append(names, string(class))
	}
	return strings.Join(names, between)
}

func huntExit(ctx context.Context, t harness.Tally, allowVacuous float64) int {
	switch {
	case t.Invalid > t.Known:
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
