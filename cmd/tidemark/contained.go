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
	"tidemark/harness"
	"tidemark/history"
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

// runContained carries out a run in containers.
func runContained(c *cobra.Command, outDir string, run history.Run, keep, asJSON bool) error {
	d, err := results.Create(outDir, run)
	if err != nil {
		return trouble(err)
	}
	log := c.ErrOrStderr()
	announce(log, d, run)
	res, err := harness.Contain(c.Context(), run, d, harness.Look{
		Keep: keep, Progress: progressLine(run.Duration), Say: func(line string) { fmt.Fprintln(log, line) },
	})
	clearLine()
	if c.Context().Err() != nil {
		return &outcome{exitInterrupted, fmt.Errorf("interrupted; again: %s", harness.ReplayLine(d))}
	}
	if res == nil {
		return trouble(fmt.Errorf("%w\n  again: %s", err, harness.ReplayLine(d)))
	}
	if err := harness.Save(d, res); err != nil {
		return trouble(err)
	}
	shown := show(c.OutOrStdout(), d, res, asJSON)
	if err != nil && res.Verdict.Status != checker.Invalid {
		return trouble(err)
	}
	return shown
}

// carryContained carries out one run of a hunt in containers. Its directory stays if keep, which is called for one run at a time and
// told the line that replays it, says so; an interrupted run and one with trouble keep theirs.
func carryContained(outDir string, log io.Writer, keep func(res *harness.Result, replay string) bool) func(context.Context, history.Run) (*harness.Result, error) {
	var mu sync.Mutex
	say := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(log, line)
	}
	return func(ctx context.Context, run history.Run) (*harness.Result, error) {
		d, err := results.Create(outDir, run)
		if err != nil {
			return &harness.Result{Run: run}, err
		}
		res, err := harness.Contain(ctx, run, d, harness.Look{Say: say})
		if res == nil {
			return &harness.Result{Run: run}, fmt.Errorf("%w (%s)", err, harness.ReplayLine(d))
		}
		if err != nil {
			return res, errors.Join(err, harness.Save(d, res))
		}
		mu.Lock()
		stays := keep(res, harness.ReplayLine(d))
		mu.Unlock()
		if stays {
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

// replayContained carries out the options and the plan of a run in containers again. What happens is never quite the same.
func replayContained(c *cobra.Command, outDir string, run history.Run) error {
	run.Started = time.Now().UTC()
	run.Tool, run.Build = harness.Version, harness.BuildHash()
	return runContained(c, outDir, run, false, false)
}

// firstAck is when the first write was acknowledged, 0 if none was.
func firstAck(h *history.History) time.Duration {
	var first time.Duration
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Kind == history.Send && op.Outcome == history.OK && (first == 0 || op.Return < first) {
			first = op.Return
		}
	}
	return first
}

// containerCommands are those that only the container world needs.
func containerCommands() []*cobra.Command {
	return []*cobra.Command{doctorCommand(), cleanupCommand(), agentCommand()}
}
