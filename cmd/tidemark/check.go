package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	var contract string
	c := &cobra.Command{
		Use:   "check DIR",
		Short: "Judge a stored run again",
		Long: "Reads the history of a run directory, checks it with this build's checker, and writes results.json and report.html anew.\n" +
			"With --as the history is judged under another contract, and nothing is written.",
		Args: exactly("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
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
