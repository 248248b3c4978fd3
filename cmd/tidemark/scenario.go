package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemark/broker/bug"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/history/plain"
)

// seeded is the run that the flags describe, with its seed.
func (o *options) seeded() (history.Run, string, error) {
	seed, err := parseSeed("seed", o.seed)
	if err != nil {
		return history.Run{}, "", err
	}
	run, plan, err := o.complete()
	run.Seed = seed
	return run, plan, err
}

// besideScenario are the flags that go with --scenario: what is shown and where it is kept, another seed, another bug or none, and other brokers.
var besideScenario = []string{"scenario", "seed", "bug", "target", "out", "keep", "json", "trace", "from", "until", "broker"}

// ofScenario is the run that a scenario describes, and its plan.
func (o *options) ofScenario(c *cobra.Command, path string) (history.Run, string, error) {
	var wrong error
	c.Flags().Visit(func(f *pflag.Flag) {
		if wrong == nil && !slices.Contains(besideScenario, f.Name) {
			wrong = fmt.Errorf("--%s with --scenario, expected --seed, --bug and --target at most: the scenario has the other options", f.Name)
		}
	})
	if wrong != nil {
		return history.Run{}, "", usage(wrong)
	}
	run, text, err := readScenario(path)
	scenario := run
	if err != nil {
		return run, "", usage(fmt.Errorf("--scenario: %w", err))
	}
	_, _, outcome, _ := harness.ReadScenario(text) // which it is: it was read so before
	fmt.Fprintf(c.ErrOrStderr(), "scenario %s, which tells: %s\n", path, plain.Line(outcome))
	if o.given("seed") {
		if run.Seed, err = parseSeed("seed", o.seed); err != nil {
			return run, "", err
		}
	}
	if o.given("bug") {
		name, err := bug.Parse(o.run.Bug)
		if err != nil {
			return run, "", usage(err)
		}
		run.Bug = string(name)
	}
	if o.given("target") {
		where := harness.Where{World: harness.Contained}
		if where.Target, where.Template, err = readTarget(o.run.Target); err == nil {
			run, err = harness.Carried(run, where)
		}
		if err != nil {
			return run, "", usage(err)
		}
	}
	run.Started = time.Now().UTC()
	o.told, o.expected = path, harness.ToldOf(text, scenario, run)
	return run, run.Plan + "# end\n", nil // an empty plan is none, not one to draw
}

// compare says whether a run of a scenario came out as its file tells, so that "" ends what is not one. The exit code is the verdict's in any case.
func (o *options) compare(c *cobra.Command, res *harness.Result) (string, error) {
	switch {
	case o.told == "":
		return "", nil
	case o.expected == "":
		return fmt.Sprintf("%s tells nothing of such a run: with another bug, seed or world than its own\n", o.told), nil
	}
	same, err := harness.AsTold(c.Context(), res, o.expected)
	switch {
	case err != nil:
		return "", err
	case same:
		return fmt.Sprintf("as the file tells: %s\n", plain.Line(o.expected)), nil
	default:
		return fmt.Sprintf("not as the file tells: expected %s\n", plain.Line(o.expected)), nil
	}
}

// readScenario reads a scenario's file: its run and its text. The error names the file.
func readScenario(path string) (run history.Run, text string, err error) {
	content, err := readBounded(path)
	if err != nil {
		return run, "", err
	}
	options, plan, _, err := harness.ReadScenario(string(content))
	if err == nil {
		run, err = harness.ScenarioRun(options, plan)
	}
	if err != nil {
		return run, "", fmt.Errorf("%s: %w", path, err)
	}
	return run, string(content), nil
}
