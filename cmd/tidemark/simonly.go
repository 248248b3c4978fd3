//go:build simonly

// This file stands in for the container world in a program that is built without it, which takes a third less time to build.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

const worldAuto = "auto"

var errSimOnly = errors.New("this program was built without the container world (make run); make build builds the whole")

func chooseWorld(c *cobra.Command) string {
	fmt.Fprintln(c.ErrOrStderr(), "running the simulator: this program was built without the container world, as no container engine was found")
	return harness.Simulated
}

func admit(*cobra.Command, history.Run) error { return trouble(errSimOnly) }

func runContained(*cobra.Command, string, history.Run, bool, bool) (*harness.Result, error) {
	return nil, trouble(errSimOnly)
}

func carryContained(string, io.Writer, func(*harness.Result, results.Dir) bool, func(harness.Progress)) func(context.Context, history.Run) (*harness.Result, error) {
	return func(_ context.Context, run history.Run) (*harness.Result, error) {
		return &harness.Result{Run: run}, errSimOnly
	}
}

func admitted(context.Context, history.Run) error { return errSimOnly }

func buildTarget(context.Context, string, io.Writer) error { return errSimOnly }

func leftByContainers() (string, error) { return "", errSimOnly }

func replayContained(*cobra.Command, string, results.Dir, history.Run, bool) error {
	return trouble(errSimOnly)
}

func containerCommands() []*cobra.Command { return nil }
