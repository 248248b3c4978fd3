//go:build simonly

// This file stands in for the container world in a program that is built without it, in a third of the time.

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history"
)

const worldAuto = "auto"

var errSimOnly = errors.New("this program was built without the container world (make run); make build builds the whole")

func chooseWorld(*cobra.Command) string { return harness.Simulated }

func runContained(*cobra.Command, string, history.Run, bool, bool) error { return trouble(errSimOnly) }

func replayContained(*cobra.Command, string, history.Run) error { return trouble(errSimOnly) }

func firstAck(*history.History) time.Duration { return 0 }

func containerCommands() []*cobra.Command { return nil }
