package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/history/edn"
	"tidemark/history/plain"
	"tidemark/results"
)

// readJepsen reads a history in the format of Jepsen's Kafka workload, and says what was read.
func readJepsen(log io.Writer, path, contract string) (history.Run, *history.History, edn.Origins, error) {
	run, h, origins, err := edn.ReadFile(path)
	if err != nil {
		return run, nil, nil, err
	}
	if run.World != "" { // tidemark's own
		if err := harness.Verify(run); err != nil {
			return run, nil, nil, fmt.Errorf("%s: the run that it is of: %w", path, err)
		}
		if d, beside, err := results.Open(filepath.Dir(path)); err == nil {
			if err := results.SameRun(run, beside); err != nil {
				return run, nil, nil, fmt.Errorf("%s: %w as in run.json of %s, which it lies in; elsewhere it is judged by itself", path, err, d.Path)
			}
		}
	}
	if contract != "" {
		run, err = asAnother(run, contract)
	}
	added := ""
	if n := origins.Added(); n > 0 {
		added = fmt.Sprintf("; %s of what all polls together showed of the log added", counted(n, "final read"))
	}
	fmt.Fprintf(log, "read a history of Jepsen's format: operations %d, partitions %d%s\n", len(h.Ops)-origins.Added(), run.Parts, added)
	return run, h, origins, err
}

// checkJepsen judges a history in the format of Jepsen's Kafka workload.
func checkJepsen(c *cobra.Command, path, contract string, asJSON, outcomes bool) error {
	run, h, origins, err := readJepsen(c.ErrOrStderr(), path, contract)
	if err != nil {
		return usage(err)
	}
	v := harness.Judge(run, h)
	if run.World == "" && v.Contract.Acks == -1 {
		v.Contract.Because = edn.Assumed
	}
	if asJSON {
		return printJSON(c.OutOrStdout(), v, exitOf(v.Status))
	}
	out := c.OutOrStdout()
	fmt.Fprint(out, harness.Summary(v))
	tellAs(out, contract, v)
	tellOrigins(out, v, origins)
	if outcomes {
		printOutcomes(out, run, h, func(op int64) string { return origin(origins, op) })
	}
	return ended(exitOf(v.Status))
}

// originsMax bounds the operations that are named of one finding.
const originsMax = 10

// tellOrigins names the operations that prove each finding as the file does.
func tellOrigins(w io.Writer, v checker.Verdict, origins edn.Origins) {
	for i := range v.Findings {
		f := &v.Findings[i]
		var names []string
		for _, op := range f.Ops[:min(len(f.Ops), originsMax)] {
			names = append(names, origin(origins, op))
		}
		if len(names) > 0 {
			fmt.Fprintln(w, plain.Line(fmt.Sprintf("%s on %s, seen in %s", f.Class, f.Partition, strings.Join(names, ", "))))
		}
	}
}

// origin names an operation of a file.
func origin(origins edn.Origins, op int64) string {
	if op < 0 || op >= int64(len(origins)) || origins[op] < 0 {
		return "what all polls showed"
	}
	return fmt.Sprintf(":index %d", origins[op])
}
