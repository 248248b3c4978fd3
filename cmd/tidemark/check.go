package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/history/plain"
	"tidemark/results"
)

func checkCommand() *cobra.Command {
	var asJSON, outcomes, write bool
	var contract string
	c := &cobra.Command{
		Use:   "check DIR|FILE.edn",
		Short: "Judge a stored run again, or a history of Jepsen's",
		Long: "Reads the history of a run directory and checks it with this build's checker. Where the verdict differs from the stored one, both are shown,\n" +
			"with the versions of the checkers that gave them. Nothing is written: with --write results.json and report.html of the directory are written\n" +
			"anew. Files of the directory that are of another run than run.json's are refused.\n" +
			"With --as the history is judged under another contract.\n" +
			"A file is read as a history in the format of Jepsen's Kafka workload (EDN) and judged as Jepsen's checker assumes, under acks=all with\n" +
			"clean elections; nothing is written. Its operations are named by their :index. Fewer than 100 of them prove nothing and are vacuous, unless\n" +
			"they break the contract; what the contract allows is then told all the same.",
		Args: exactly("DIR or FILE.edn"),
		RunE: func(c *cobra.Command, args []string) error {
			if isFile(args[0]) && !ofRun(args[0]) && !isArchive(args[0]) {
				if write {
					return usage(errors.New("--write with a file, expected the directory of a run: of a file nothing is written"))
				}
				return checkJepsen(c, args[0], contract, asJSON, outcomes)
			}
			d, run, err := openRun(args[0])
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
			if write && contract != "" {
				return usage(errors.New("--write and --as exclude each other: what a run's directory holds is judged under the run's own contract"))
			}
			before, stored := d.Outcome()
			if errors.Is(stored, results.ErrAnotherRun) {
				return usage(stored)
			}
			if err := d.OwnReport(run); err != nil && !write {
				return usage(fmt.Errorf("%w; --write writes it anew", err))
			}
			if err := d.OwnPlan(run); err != nil {
				fmt.Fprintln(c.ErrOrStderr(), "tidemark:", err)
			}
			if err := d.Judged(before); err != nil {
				fmt.Fprintln(c.ErrOrStderr(), "tidemark:", err)
			}
			if err := d.LogsAsWritten(before); err != nil {
				fmt.Fprintln(c.ErrOrStderr(), "tidemark:", err)
			}
			res, truncated, err := harness.Recheck(d, run)
			if err != nil {
				return usage(err)
			}
			if truncated != "" {
				fmt.Fprintln(c.ErrOrStderr(), "tidemark: the history is cut:", truncated)
			}
			if write {
				o := res.Outcome(d)
				o.Hash, o.Wall, o.Truncated, o.Ground, o.Logs = before.Hash, before.Wall, truncated, before.Ground, before.Logs
				o.UnderWay = before.UnderWay && (o.Verdict.Status == checker.Unknown || o.Verdict.Status == checker.Invalid) // a history that is whole tells how it ended
				o.Shrunk = before.Shrunk
				if err := d.Finish(o, res.History); err != nil {
					return trouble(err)
				}
				if stored != nil {
					fmt.Fprintln(c.ErrOrStderr(), "tidemark: what stood in results.json alone is lost: the trace hash or what the containers stood on, and how long the run took")
				}
				fmt.Fprintf(c.ErrOrStderr(), "rewrote %s and %s\n", filepath.Join(d.Path, "results.json"), d.ReportPath())
				if len(res.Verdict.Findings) > 0 && before.Logs == nil {
					fmt.Fprintln(c.ErrOrStderr(), "tidemark: lines of broker-N.log in the report are as the files beside the run say; not checked")
				}
			}
			if stored != nil && contract == "" {
				fmt.Fprintln(c.ErrOrStderr(), "tidemark: there was no stored verdict to compare with:", stored)
			}
			if stored == nil && contract == "" {
				differences := checker.Differences(before.Verdict, res.Verdict)
				if differences == "" {
					differences = "as stored: the same status, contract, and findings by class, place, value and severity\n"
				}
				fmt.Fprint(c.ErrOrStderr(), differences)
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), res.Verdict, exitOf(res.Verdict.Status))
			}
			fmt.Fprint(c.OutOrStdout(), harness.Account(res))
			tellAs(c.OutOrStdout(), contract, res.Verdict)
			if outcomes {
				printOutcomes(c.OutOrStdout(), run, res.History, func(op int64) string { return fmt.Sprintf("operation %d", op) })
			}
			return ended(exitOf(res.Verdict.Status))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	c.Flags().BoolVar(&outcomes, "outcomes", false, "tell of each send of unknown outcome what became of it, by which evidence")
	c.Flags().BoolVar(&write, "write", false, "write results.json and report.html of the directory anew")
	c.Flags().StringVar(&contract, "as", "", "judge under another contract: acks=all, acks=1 or acks=0")
	return c
}

// tellAs says under which contract a history was judged, if it is another than the run's own.
func tellAs(w io.Writer, contract string, v checker.Verdict) {
	switch {
	case contract == "":
	case strings.Contains(v.Reason, v.Contract.Because):
		fmt.Fprintf(w, "judged under %s\n", contract)
	default:
		fmt.Fprintf(w, "judged under %s: %s\n", contract, v.Contract.Because)
	}
}

// printOutcomes tells of each send of unknown outcome what evidence says; name is what an operation is called.
func printOutcomes(w io.Writer, run history.Run, h *history.History, name func(op int64) string) {
	resolved := checker.Resolve(run, h)
	if len(resolved) == 0 {
		fmt.Fprintln(w, "no send has an unknown outcome")
		return
	}
	fmt.Fprintln(w, "sends of unknown outcome (no answer, or an error that does not say whether the record was appended), by the evidence:")
	for _, r := range resolved {
		op := &h.Ops[r.Op]
		raw := "no answer"
		if op.Error != "" {
			raw = op.Error
		}
		told := r.String()
		if len(r.Read) > 0 {
			told = strings.Replace(told, fmt.Sprintf("read by operation %d", r.Read[0]), "read by "+name(r.Read[0]), 1)
		}
		if len(r.Read) > 1 {
			told = strings.Replace(told, fmt.Sprintf("at the end by %d", r.Read[1]), "at the end by "+name(r.Read[1]), 1)
		}
		fmt.Fprintln(w, " ", plain.Line(fmt.Sprintf("%s, %s to %s (%s): %s", name(r.Op), op.Value, op.Partition, raw, told)))
	}
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
