package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/results"
)

func runCommand() *cobra.Command {
	var o options
	var t traceFlags
	var asJSON, tour, keep bool
	var scenario string
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a cluster under faults and judge what it did",
		Long: "Runs brokers, producers and consumers under a plan of faults, checks the history against the contract of the\n" +
			"configuration, and leaves a directory with the history, the verdict and report.html.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			run, plan, err := o.seeded()
			if scenario != "" {
				run, plan, err = o.ofScenario(c, scenario)
			}
			if err != nil {
				return err
			}
			if run.World == worldAuto {
				run.World = chooseWorld(c)
			}
			if tour && o.run.Faults == faultless {
				return usage(fmt.Errorf("--faults %s and --tour exclude each other: each is the plan of the run", faultless))
			}
			if tour && o.planFile != "" {
				return usage(errors.New("--plan and --tour exclude each other: each is the plan of the run"))
			}
			if err := t.check(run.World, run.Brokers); err != nil {
				return usage(err)
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
				if err := admit(c, run); err != nil {
					return err
				}
				if tour {
					fmt.Fprintln(c.ErrOrStderr(), "the tour leaves out the power failure of a leader: containers share the machine's page cache; --world sim has it")
				}
				_, err := runContained(c, o.out, run, keep, asJSON)
				return err
			}
			if keep {
				return usage(fmt.Errorf("--keep is of the world %s, this run is of the world %s", harness.Contained, run.World))
			}
			d, err := results.Create(o.out, run)
			if err != nil {
				return trouble(err)
			}
			if err := harness.SaveBegun(d, run); err != nil {
				return trouble(err)
			}
			announce(c.ErrOrStderr(), d, run)
			watch := t.watch(c.OutOrStdout())
			shown := watchRun(c.ErrOrStderr(), run.Duration)
			if onTerminal() { // it is over in a second
				watch.Progress = shown.tell
			}
			res, err := harness.Simulate(c.Context(), run, watch)
			shown.end()
			if err != nil {
				return cut(c, d, run, simulated(res), err)
			}
			if err := harness.Save(d, res); err != nil {
				return trouble(err)
			}
			compared, err := o.compare(c, res)
			if err != nil {
				return trouble(err)
			}
			ending := show(c.OutOrStdout(), d, res, asJSON)
			if asJSON { // which stands alone
				fmt.Fprint(c.ErrOrStderr(), compared)
			} else {
				fmt.Fprint(c.OutOrStdout(), compared)
			}
			return ending
		},
	}
	o.register(c)
	t.register(c)
	c.Flags().BoolVar(&tour, "tour", false, "draw a plan that shows what faults do: a leader is cut off, one is killed, one loses power (not in containers, which share the\nmachine's page cache), then others")
	c.Flags().StringVar(&scenario, "scenario", "", "carry out a scenario, as shrink --as-scenario and bugs --scenarios write them: a file with options, plan and outcome. Beside it only\n--seed, --bug and --target say something of the run; --bug '' is the broker without the bug. The last line says whether it came out\nas the file tells; the exit code is that of the verdict all the same")
	c.Flags().StringVar(&o.seed, "seed", "", "the seed of the run (default: drawn, and printed)")
	c.Flags().StringVar(&o.out, "out", ".", "directory in which runs/ stands")
	c.Flags().BoolVar(&asJSON, "json", false, "print the outcome as JSON")
	c.Flags().BoolVar(&keep, "keep", false, "leave the containers for a look inside, until tidemark cleanup, and say at the end where they are found (--world docker)")
	return c
}
