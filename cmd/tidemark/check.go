package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/history/edn"
	"tidemark/results"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	var contract string
	c := &cobra.Command{
		Use:   "check DIR|FILE.edn",
		Short: "Judge a stored run again, or a history of Jepsen's",
		Long: "Reads the history of a run directory, checks it with this build's checker, and writes results.json and report.html anew.\n" +
			"With --as the history is judged under another contract, and nothing is written.\n" +
			"A file is read as a history in the format of Jepsen's Kafka workload (EDN) and judged as Jepsen's checker assumes, under acks=all with\n" +
			"clean elections; nothing is written.",
		Args: exactly("DIR or FILE.edn"),
		RunE: func(c *cobra.Command, args []string) error {
			if isFile(args[0]) {
				return checkJepsen(c, args[0], contract, asJSON)
			}
			d, run, err := results.Open(args[0])
			if err != nil {
				return usage(err)
			}
			if err := harness.Verify(run); err != nil {
				return usage(fmt.Errorf("%s: %w", filepath.Join(d.Path, "run.json"), err))
			}
			if contract != "" {
				if run, err = asAnother(run, contract); err != nil {
					return usage(err)
				}
			}
			before, stored := d.Outcome()
			res, truncated, err := harness.Recheck(d, run, before)
			if err != nil {
				return usage(err)
			}
			if truncated != "" {
				fmt.Fprintln(c.ErrOrStderr(), "tidemark: the history is cut:", truncated)
			}
			if contract == "" {
				o := res.Outcome(d)
				o.Hash, o.Wall, o.Truncated = before.Hash, before.Wall, truncated
				if err := d.Finish(o, res.History); err != nil {
					return trouble(err)
				}
				fmt.Fprintf(c.ErrOrStderr(), "rewrote %s and %s\n", filepath.Join(d.Path, "results.json"), d.ReportPath())
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), res.Verdict, exitOf(res.Verdict.Status))
			}
			fmt.Fprint(c.OutOrStdout(), harness.Account(res))
			if stored == nil && before.Verdict.Status != res.Verdict.Status {
				fmt.Fprintf(c.OutOrStdout(), "the stored verdict was %s, by checker %s; this is checker %s\n",
					before.Verdict.Status, before.Verdict.Checker, res.Verdict.Checker)
			}
			return ended(exitOf(res.Verdict.Status))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	c.Flags().StringVar(&contract, "as", "", "judge under another contract: acks=all, acks=1 or acks=0")
	return c
}

// jepsenSteps is the second judge's budget for a history from elsewhere.
const jepsenSteps = 5_000_000

// checkJepsen judges a history in the format of Jepsen's Kafka workload.
func checkJepsen(c *cobra.Command, path, contract string, asJSON bool) error {
	run, h, err := readJepsen(c.ErrOrStderr(), path, contract)
	if err != nil {
		return usage(err)
	}
	v := checker.Check(run, h, nil, checker.Options{PorcupineSteps: jepsenSteps})
	if run.World == "" && v.Contract.Acks == -1 {
		v.Contract.Because = edn.Assumed
	}
	if asJSON {
		return printJSON(c.OutOrStdout(), v, exitOf(v.Status))
	}
	fmt.Fprint(c.OutOrStdout(), harness.Summary(v))
	return ended(exitOf(v.Status))
}

// asAnother is the run as if its producers had waited for other acknowledgements.
func asAnother(run history.Run, contract string) (history.Run, error) {
	switch contract {
	case "acks=all":
		run.Acks = -1
	case "acks=1":
		run.Acks = 1
	case "acks=0":
		run.Acks = 0
	default:
		return run, fmt.Errorf("--as %q, expected acks=all, acks=1 or acks=0", contract)
	}
	return run, nil
}
