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

// told is the run that a scenario describes, and its plan.
func (o *options) told(c *cobra.Command, path string) (history.Run, string, error) {
	var wrong error
	c.Flags().Visit(func(f *pflag.Flag) {
		if wrong == nil && !slices.Contains(besideScenario, f.Name) {
			wrong = fmt.Errorf("--%s with --scenario, expected --seed, --bug and --target at most: the scenario has the other options", f.Name)
		}
	})
	if wrong != nil {
		return history.Run{}, "", usage(wrong)
	}
	run, outcome, err := readScenario(path)
	if err != nil {
		return run, "", usage(fmt.Errorf("--scenario: %w", err))
	}
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
	return run, run.Plan + "# end\n", nil // an empty plan is none, not one to draw
}

// readScenario reads a scenario's file: its run and the first line of its outcome. The error names the file.
func readScenario(path string) (run history.Run, outcome string, err error) {
	text, err := readBounded(path)
	if err != nil {
		return run, "", err
	}
	options, plan, outcome, err := harness.ReadScenario(string(text))
	if err == nil {
		run, err = harness.ScenarioRun(options, plan)
	}
	if err != nil {
		return run, "", fmt.Errorf("%s: %w", path, err)
	}
	return run, outcome, nil
}
