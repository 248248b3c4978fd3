package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/history"
)

// TestAnomalies tells, in testdata/anomalies, a file for each class, small histories and what is found in them: the finding with its cause,
// and under it what it implies.
func TestAnomalies(t *testing.T) {
	datadriven.Walk(t, "testdata/anomalies", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run, h := toldStory(t, d)
			return findingsText(Check(run, h, Options{PorcupineSteps: 100_000}))
		})
	})
}

// TestUnknownOutcomes tells, in testdata/outcomes, what evidence says of sends whose outcome nobody learned, and that the raw outcome stays.
func TestUnknownOutcomes(t *testing.T) {
	datadriven.Walk(t, "testdata/outcomes", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run, h := toldStory(t, d)
			before := slices.Clone(h.Ops)
			var out strings.Builder
			for _, r := range Resolve(run, h) {
				fmt.Fprintf(&out, "%s: %s\n", h.Ops[r.Op].Value, r)
				if op := h.Ops[r.Op]; r.Raw != op.Outcome || op.Outcome != before[r.Op].Outcome {
					t.Errorf("%s: the raw outcome was %d, is %d and is told as %d", op.Value, before[r.Op].Outcome, op.Outcome, r.Raw)
				}
			}
			return out.String()
		})
	})
}

// toldStory is the history that a test's input tells.
func toldStory(t *testing.T, d *datadriven.TestData) (history.Run, *history.History) {
	run, err := storyRun(d)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	s := newStory(run)
	for line := range strings.SplitSeq(strings.TrimSpace(d.Input), "\n") {
		if err := s.tell(strings.TrimSpace(line)); err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
	}
	return run, s.h
}

// storyRun is the run that a story happens in: three replicas, acks=all and min.insync.replicas 2, unless the command's arguments say otherwise.
func storyRun(d *datadriven.TestData) (history.Run, error) {
	run := history.Run{Format: 1, World: "sim", Brokers: 3, Topic: "orders", Parts: 1, Factor: 3, MinISR: 2, Acks: -1, ELR: true,
		Writers: 90, Readers: 8}
	for _, arg := range d.CmdArgs {
		value := strings.Join(arg.Vals, ",")
		switch arg.Key {
		case "acks":
			n, err := strconv.Atoi(value)
			if err != nil {
				return run, err
			}
			run.Acks = int16(n)
		case "unclean":
			run.Unclean = true
		case "beyond-budget":
			run.Beyond = true
		case "retention":
			run.Config = map[string]string{"retention.ms": "1000"}
		case "retries":
			run.Client, run.Writers, run.Readers = history.ClientFranz, 99, 0
		case "jepsen":
			run = history.Run{Format: 1, Tool: "jepsen", Topic: "orders", Parts: 1, Acks: -1}
		case "read-bound":
			bound, err := time.ParseDuration(value)
			if err != nil {
				return run, err
			}
			run.ReadBound = bound
		default:
			return run, fmt.Errorf("argument %q, expected acks, unclean, beyond-budget, retention, retries, jepsen or read-bound", arg.Key)
		}
	}
	return run, nil
}

func findingsText(v Verdict) string {
	var out strings.Builder
	for i := range v.Findings {
		f := &v.Findings[i]
		fmt.Fprintf(&out, "%s: %s (%d), operations %s\n  %s\n", f.Severity, f.Class, f.Count, opsText(f.Ops), f.Told())
		for _, m := range f.Implied {
			fmt.Fprintf(&out, "  implies %s (%d), operations %s\n    %s\n", m.Class, m.Count, opsText(m.Ops), m.Text)
		}
	}
	if len(v.Findings) == 0 {
		return "nothing\n"
	}
	return out.String()
}

func opsText(ops []int64) string {
	parts := make([]string, len(ops))
	for i, op := range ops {
		parts[i] = strconv.FormatInt(op, 10)
	}
	return strings.Join(parts, ",")
}
