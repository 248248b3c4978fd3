package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/history/plain"
	"tidemark/results"
)

// announce says what is about to run, so that it can be run again whatever happens.
func announce(log io.Writer, d results.Dir, run history.Run) {
	fmt.Fprintf(log, "tidemark %s, seed %d, world %s: %d brokers, %s for %v\n%s", harness.Version, run.Seed, run.World, run.Brokers, run.Topic, run.Duration, setting(run))
	fmt.Fprintf(log, "options in %s/run.json; the plan of faults:\n", d.Path)
	if run.Plan == "" {
		fmt.Fprintln(log, "  no faults: a baseline")
		return
	}
	fmt.Fprint(log, indent(run.Plan))
	warnLate(log, run)
}

// setting is what a run promises and where it is not like any other, in a line or two.
func setting(run history.Run) string {
	acks := strconv.Itoa(int(run.Acks))
	if run.Acks == -1 {
		acks = "all"
	}
	text := fmt.Sprintf("  acks=%s, replication factor %d, min.insync.replicas %d", acks, run.Factor, run.MinISR)
	if run.Bug != "" {
		text += ", bug on: " + run.Bug
	}
	if unusual := harness.Unusual(run); len(unusual) > 0 {
		text += "\n  unlike the defaults: " + strings.Join(unusual, " ")
	}
	return text + "\n"
}

// lateMax bounds the lines of a plan that warnLate tells of.
const lateMax = 5

// warnLate says which lines of a plan come too late to strike, or cannot for another reason.
func warnLate(log io.Writer, run history.Run) {
	hopeless := harness.Hopeless(run)
	for _, line := range hopeless[:min(len(hopeless), lateMax)] {
		fmt.Fprintf(log, "warning: will be refused: %s\n", line)
	}
	late := harness.Late(run)
	for i, line := range late {
		if i == lateMax {
			fmt.Fprintf(log, "warning: and %d more lines of the plan\n", len(late)-lateMax)
			return
		}
		fmt.Fprintf(log, "warning: too late to strike: %s; with --duration %v a fault may begin until %v\n", line, run.Duration, harness.LastFault(run))
	}
}

// show prints the verdict block and ends with its exit code.
func show(w io.Writer, d results.Dir, res *harness.Result, asJSON bool) error {
	code := exitOf(res.Verdict.Status)
	if asJSON {
		return printJSON(w, map[string]any{
			"seed": fmt.Sprint(res.Run.Seed), "verdict": res.Verdict, "hash": res.Outcome(d).Hash,
			"directory": d.Path, "report": d.ReportPath(), "replay": harness.ReplayLine(d),
		}, code)
	}
	fmt.Fprint(w, harness.Account(res))
	if res.Run.World == harness.Simulated {
		fmt.Fprintf(w, "  %v simulated in %v; trace hash %016x over %d events\n", res.Virtual.Round(time.Millisecond), res.Wall.Round(time.Millisecond), res.Hash, res.Events)
	} else {
		fmt.Fprintf(w, "  in containers for %v; the first write was acknowledged %v after the start\n", res.Wall.Round(time.Millisecond), res.FirstAck().Round(time.Millisecond))
	}
	fmt.Fprintf(w, "report: %s\n%s: %s\n", d.ReportPath(), harness.ReplayWord(res.Run), harness.ReplayLine(d))
	if res.Run.World == harness.Simulated && res.Verdict.Status == checker.Invalid {
		fmt.Fprintf(w, "make it smaller: %s\n", harness.Line("shrink", d))
	}
	return ended(code)
}

func printJSON(w io.Writer, value any, code int) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return trouble(err)
	}
	if _, err := plain.Raw(w).Write(plain.JSON(out.Bytes())); err != nil {
		return trouble(err)
	}
	return ended(code)
}

func indent(text string) string {
	out := ""
	for line := range splitLines(text) {
		out += "  " + line + "\n"
	}
	return out
}
