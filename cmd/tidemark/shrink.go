package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

// shrinkFile holds, in the directory of a run, how far its shrinking is.
const shrinkFile = "shrink.json"

// shrinkBytesMax bounds it, in bytes.
const shrinkBytesMax = 16 << 20

func shrinkCommand() *cobra.Command {
	var s harness.Shrink
	var out, scenario string
	var asJSON bool
	c := &cobra.Command{
		Use:   "shrink DIR",
		Short: "Make a failing run smaller while it fails alike",
		Long: "Leaves out lines of the plan, clients, partitions, brokers and options, then shortens times and simplifies targets, for as long as the\n" +
			"run fails with the same signature (with a known bug on, it must also end valid with the bug off). What is left becomes a run\n" +
			"directory of its own, which replays exactly. Where a smaller run does not show the failure with its seed, a few others are tried, so what is left\n" +
			"may have another seed, and says so. Called again after its budget or an interruption, it goes on where it stopped.",
		Args: exactly("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			d, run, err := openRun(strings.TrimSuffix(args[0], "run.json"))
			if err != nil {
				return usage(err)
			}
			if err := harness.Verify(run); err != nil {
				return usage(fmt.Errorf("%s: %w", filepath.Join(d.Path, "run.json"), err))
			}
			if s.Budget < 0 {
				return usage(fmt.Errorf("--budget %v, expected a positive duration, or 0s for no limit", s.Budget))
			}
			if err := cmp.Or(wholeWithin("workers", s.Workers, 1, workersMax), wholeWithin("neighbours", s.Neighbours, 0, neighboursMax)); err != nil {
				return usage(err)
			}
			free, err := alone(d.Path)
			if err != nil {
				return usage(err)
			}
			defer free()
			s.Run = run
			return shrink(c, s, d, out, scenario, asJSON)
		},
	}
	f := c.Flags()
	f.DurationVar(&s.Budget, "budget", 2*time.Minute, "tries that are under way after so long are cut off; 0 is no limit")
	f.IntVar(&s.Workers, "workers", runtime.NumCPU(), "runs at a time")
	f.BoolVar(&s.Blind, "no-invariants", false, "judge by what clients and logs tell alone")
	f.IntVar(&s.Neighbours, "neighbours", 0, "carry out so many neighbours of every smaller run, too: its plan a little later, another seed. It is taken only if no fewer of\nthem fail alike, and one line more if more of them do, so that what is left is due to the plan, not to luck")
	f.BoolVar(&asJSON, "json", false, "print what is left as JSON")
	f.StringVar(&out, "out", ".", "directory in which runs/ stands")
	f.StringVar(&scenario, "as-scenario", "", "also write what is left to this file, as a scenario: options, plan and outcome as text. The words at the head of a\nfile that is there already stay")
	return c
}

func shrink(c *cobra.Command, s harness.Shrink, d results.Dir, outDir, scenario string, asJSON bool) error {
	path := filepath.Join(d.Path, shrinkFile)
	begin, err := readShrinkState(path, s.Run)
	if err != nil {
		return usage(err)
	}
	s.Begin = begin
	s.Save = func(state harness.ShrinkState) error { return writeJSON(path, state) }
	log := c.ErrOrStderr()
	if begin != nil {
		fmt.Fprintf(log, "going on where %s ends: %s, %s\n", path, counted(harness.Lines(begin.Best), "line"), counted(begin.Tries, "run"))
	}
	s.Told = func(what string, run history.Run) { fmt.Fprintf(log, "%-12s %s\n", what, sizeOf(run)) }
	state, res, err := s.Go(c.Context())
	if err != nil {
		return trouble(err)
	}
	if err := showShrunk(c, s, state, res, d, outDir, scenario, asJSON); err != nil {
		return err
	}
	if c.Context().Err() != nil {
		return &outcome{code: exitInterrupted}
	}
	return nil
}

// alone keeps other processes from shrinking the run of a directory meanwhile; free ends that, and so does the end of the process.
func alone(dir string) (free func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // it was only read
		return nil, fmt.Errorf("%s: another process is shrinking this run (%w)", dir, err)
	}
	return func() { _ = f.Close() }, nil // it was only read
}

// showShrunk prints what is left of the run in a directory, keeps it, and tells of it in that run's report.
func showShrunk(c *cobra.Command, s harness.Shrink, state harness.ShrinkState, res *harness.Result, of results.Dir, outDir, scenario string, asJSON bool) error {
	out := c.OutOrStdout()
	why := "nothing smaller fails alike"
	if !state.Done {
		why = "stopped; called again, it goes on"
	}
	res.Run.Started = time.Now().UTC() // a run of its own
	d, err := keep(c.Context(), outDir, res, s.Blind)
	if err != nil {
		return trouble(err)
	}
	if err := harness.NoteShrunk(of, results.Shrunk{Plan: state.Best.Plan, Replay: harness.ReplayLine(d), Done: state.Done}); err != nil {
		return trouble(err)
	}
	if asJSON {
		if err := printJSON(out, map[string]any{
			"signature": state.Signature, "lines": harness.Lines(state.Best), "plan": state.Best.Plan, "options": harness.ScenarioOptions(state.Best), "runs": state.Tries, "neighbours": s.Neighbours, "neighboursAlike": state.Alike,
			"seconds": state.Seconds, "done": state.Done, "directory": d.Path, "report": d.ReportPath(), "replay": harness.ReplayLine(d),
		}, exitValid); err != nil {
			return err
		}
		out = c.ErrOrStderr() // stdout holds the JSON alone
	}
	fmt.Fprintf(out, "%s after %s in %.1f s: %s\n%s%s\n", sizeOf(state.Best), counted(state.Tries, "run"), state.Seconds, why, indented(state.Best.Plan), state.Signature)
	if state.Best.Seed != s.Run.Seed {
		fmt.Fprintln(out, reseeded(s.Run.Seed, state.Best.Seed))
	}
	if s.Neighbours > 0 {
		fmt.Fprintf(out, "%d of %d neighbours fail alike\n", state.Alike, s.Neighbours)
	}
	fmt.Fprintf(out, "options, as a scenario has them (--as-scenario FILE, run --scenario FILE): %s\nreport: %s\nreplay: %s\n",
		strings.Join(harness.ScenarioOptions(state.Best), " "), d.ReportPath(), harness.ReplayLine(d))
	if scenario == "" {
		return nil
	}
	if err := writeScenario(c.Context(), scenario, state.Best); err != nil {
		return trouble(err)
	}
	fmt.Fprintf(out, "scenario: %s\n", scenario)
	return nil
}

// sizeOf is how much there is to a run.
func sizeOf(run history.Run) string {
	return fmt.Sprintf("%s, %v, %s, %s, %s, %s",
		counted(harness.Lines(run), "line"), run.Duration, counted(run.Brokers, "broker"), counted(run.Parts, "partition"),
		counted(run.Writers, "producer"), counted(run.Readers, "consumer"))
}

// indented sets a plan off from the text around it.
func indented(plan string) string {
	if plan == "" {
		return "    # no faults\n"
	}
	return "    " + strings.ReplaceAll(strings.TrimRight(plan, "\n"), "\n", "\n    ") + "\n"
}

// readShrinkState reads where an earlier shrinking stopped, nil if there was none.
func readShrinkState(path string, run history.Run) (*harness.ShrinkState, error) {
	f, err := history.OpenFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, shrinkBytesMax+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > shrinkBytesMax:
		return nil, fmt.Errorf("%s has more than %d bytes; without the file, shrinking begins anew", path, shrinkBytesMax)
	}
	var state harness.ShrinkState
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("%s: %w; without the file, shrinking begins anew", path, err)
	}
	if err := harness.Verify(state.Best); err != nil || state.Format != 1 || state.Best.Bug != run.Bug {
		return nil, fmt.Errorf("%s is of format %d and of the bug %q, expected 1 and %q (%v); without the file, shrinking begins anew",
			path, state.Format, state.Best.Bug, run.Bug, err)
	}
	return &state, nil
}

// writeScenario writes a run as a scenario, under the head of the file that is there already, if there is one.
func writeScenario(ctx context.Context, path string, run history.Run) error {
	told, err := harness.Tell(context.WithoutCancel(ctx), run)
	if err != nil {
		return err
	}
	var old []byte
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() { // of a device nothing is read
		if old, err = readBounded(path); err != nil {
			return err
		}
	}
	return putText(path, []byte(harness.ScenarioText(run, headOf(string(old)), told)))
}

// headOf is the comment at the head of a scenario.
func headOf(text string) (head string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		head += line
	}
	return head
}
