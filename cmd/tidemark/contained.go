//go:build !simonly

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/docker"
	"tidemark/docker/targets"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/history/plain"
	"tidemark/results"
)

// worldAuto stands for containers where they can be had.
const worldAuto = "auto"

// chooseWorld is the container world if an engine answers, else the simulated one, and says why.
func chooseWorld(c *cobra.Command) string {
	engine, err := docker.Connect(c.Context())
	if err != nil {
		fmt.Fprintf(c.ErrOrStderr(), "running the simulator: %v\n", err)
		return harness.Simulated
	}
	_ = engine.Close() // the run connects anew
	fmt.Fprintf(c.ErrOrStderr(), "running containers on Docker Engine %s\n", engine.Version)
	return harness.Contained
}

// admit looks whether a run in containers can start, before anything of it is written.
func admit(c *cobra.Command, run history.Run) error {
	err := harness.Admit(c.Context(), run)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, docker.ErrLimit):
		return usage(err)
	default:
		return trouble(err)
	}
}

// runContained carries out a run in containers that was admitted, and shows its verdict; res is nil if it came to none.
func runContained(c *cobra.Command, outDir string, run history.Run, keep, asJSON bool) (res *harness.Result, err error) {
	d, err := results.Create(outDir, run)
	if err != nil {
		return nil, trouble(err)
	}
	if err := harness.SaveBegun(d, run); err != nil {
		return nil, trouble(err)
	}
	log := c.ErrOrStderr()
	announce(log, d, run)
	shown := watchRun(log, run.Duration)
	res, err = harness.Contain(c.Context(), run, d, harness.Look{Keep: keep, Progress: shown.tell, Say: shown.say})
	shown.end()
	if res == nil {
		return nil, cut(c, d, run, nil, err)
	}
	if err := harness.Save(d, res); err != nil {
		return nil, trouble(err)
	}
	ended := show(c.OutOrStdout(), d, res, asJSON)
	tellKept(log, res.Kept)
	if err != nil && res.Verdict.Status != checker.Invalid {
		return res, trouble(err)
	}
	return res, ended
}

// tellKept says where the brokers of a cluster that was kept are.
func tellKept(log io.Writer, kept []string) {
	if len(kept) > 0 {
		fmt.Fprintf(log, "the cluster is kept, until tidemark cleanup:\n%s", indent(strings.Join(kept, "\n")))
	}
}

// carryContained carries out one run of a hunt in containers, and tells how far it is. Its directory stays if keep says so; an interrupted run
// and one with trouble keep theirs.
func carryContained(outDir string, log io.Writer, keep func(*harness.Result, results.Dir) bool, tell func(harness.Progress)) func(context.Context, history.Run) (*harness.Result, error) {
	var mu sync.Mutex
	say := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(log, line)
	}
	return func(ctx context.Context, run history.Run) (*harness.Result, error) {
		d, err := results.Create(outDir, run)
		if err == nil {
			err = harness.SaveBegun(d, run)
		}
		if err != nil {
			return &harness.Result{Run: run}, err
		}
		res, err := harness.Contain(ctx, run, d, harness.Look{Say: say, Progress: tell})
		if res == nil {
			err = errors.Join(err, harness.SaveCut(d, run, nil, err))
			return &harness.Result{Run: run}, fmt.Errorf("%w (%s: %s)", err, harness.ReplayWord(run), harness.ReplayLine(d))
		}
		if err != nil {
			return res, errors.Join(err, harness.Save(d, res))
		}
		if keep(res, d) {
			return res, harness.Save(d, res)
		}
		return res, os.RemoveAll(d.Path)
	}
}

// leftByContainers says that nothing is left in the engine of this process's runs; the error is what is.
func leftByContainers() (string, error) {
	ctx := context.Background() // also after an interrupt
	engine, err := docker.Connect(ctx)
	if err != nil {
		return "", err
	}
	defer engine.Close() //nolint:errcheck // only asked
	left, err := engine.Own(ctx)
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		return "", fmt.Errorf("left behind: %s", strings.Join(left, ", "))
	}
	return "no container, network or volume is left of these runs", nil
}

// replayContained carries out the options and the plan of a stored run in containers again, and compares the verdicts: what happens is
// never quite the same.
func replayContained(c *cobra.Command, outDir string, stored results.Dir, run history.Run, asJSON bool) error {
	if err := admit(c, run); err != nil {
		return err
	}
	run.Started = time.Now().UTC()
	run.Tool, run.Build = harness.Version, harness.BuildHash()
	res, err := runContained(c, outDir, run, false, asJSON)
	if res == nil {
		return err
	}
	out := c.OutOrStdout()
	if asJSON {
		out = c.ErrOrStderr() // stdout holds the JSON alone
	}
	before, missing := stored.Outcome()
	if missing != nil {
		fmt.Fprintf(out, "the stored run has no verdict to compare with: %v\n", missing)
		return err
	}
	fmt.Fprintln(out, compared(before.Verdict, res.Verdict))
	return err
}

// compared says in words how the verdict of a run that was carried out again in containers stands to the stored one.
func compared(before, now checker.Verdict) string {
	switch {
	case before.Status != now.Status:
		return fmt.Sprintf("carried out again, not exactly: %s now, the stored run was %s: %s", now.Status, before.Status, plain.Line(before.Reason))
	case before.Status == checker.Invalid && before.Reason != now.Reason:
		return fmt.Sprintf("carried out again, not exactly: invalid, as the stored run was, by other findings; the stored run's: %s", plain.Line(before.Reason))
	default:
		return fmt.Sprintf("carried out again, not exactly: %s, as the stored run was", now.Status)
	}
}

// containerCommands are those that only the container world needs.
func containerCommands() []*cobra.Command {
	return []*cobra.Command{doctorCommand(), cleanupCommand(), agentCommand(), targetCommand()}
}

// admitted says why a run in containers cannot start, if it cannot.
func admitted(ctx context.Context, run history.Run) error { return harness.Admit(ctx, run) }

// buildTarget makes the image of a release of Apache Kafka that a run names, unless it is there.
func buildTarget(ctx context.Context, target string, log io.Writer) error {
	name, ok := strings.CutPrefix(target, "apache-kafka:")
	if !ok {
		return nil // an image that is pulled by its name
	}
	release, err := targets.ParseRelease(name)
	if err != nil {
		return err
	}
	engine, err := docker.Connect(ctx)
	if err != nil {
		return err
	}
	defer engine.Close() //nolint:errcheck // nothing is under way
	_, err = engine.BuildTarget(ctx, release, "", func(line string) { fmt.Fprintln(log, line) })
	return err
}
