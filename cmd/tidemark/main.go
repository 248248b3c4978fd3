// Command tidemark finds the schedule of faults under which a Kafka-style replicated log breaks its word.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history/plain"
)

// The exit codes. A violation outranks everything.
const (
	exitValid        = 0
	exitViolation    = 1
	exitInconclusive = 3
	exitHarness      = 4
	exitUsage        = 64
	exitInterrupted  = 130
)

// outcome is how a command ended, where that is not plain success.
type outcome struct {
	code int
	err  error // printed, if there is one
}

func (o *outcome) Error() string {
	if o.err == nil {
		return fmt.Sprintf("exit %d", o.code)
	}
	return o.err.Error()
}

func (o *outcome) Unwrap() error { return o.err }

// errInterrupted is why a command that was told to stop did not end.
var errInterrupted = errors.New("interrupted")

func usage(err error) error { return &outcome{exitUsage, err} }

func trouble(err error) error { return &outcome{exitHarness, err} }

// exitOf is the exit code of a verdict.
func exitOf(s checker.Status) int {
	switch s {
	case checker.Valid:
		return exitValid
	case checker.Invalid:
		return exitViolation
	default:
		return exitInconclusive
	}
}

// ended turns a code into the command's error.
func ended(code int) error {
	if code == exitValid {
		return nil
	}
	return &outcome{code: code}
}

func main() {
	debug.SetGCPercent(1000) // runs are short and allocate in bursts; even a tenfold heap is small
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs one command line and returns its exit code: results on stdout, logs and errors on stderr. Whatever stood in a file or was given as an
// argument, nothing of it steers the terminal. What of the results could not be written is told, and is trouble of the harness.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	given := &output{w: stdout}
	stderr = plain.NewWriter(stderr)
	code := carryLine(ctx, args, plain.NewWriter(given), stderr)
	if err := given.lost(); err != nil {
		fmt.Fprintln(stderr, "tidemark:", err)
		if code == exitValid || code == exitInconclusive {
			code = exitHarness
		}
	}
	return code
}

// carryLine carries out one command line.
func carryLine(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	if len(args) > 1 && args[0] == "help" {
		if found, _, err := root.Find(args[1:]); err != nil || found == root {
			fmt.Fprintf(stderr, "tidemark: no help on %q, expected one of the commands and topics that tidemark help lists\n", args[1])
			return exitUsage
		}
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var o *outcome
	switch {
	case err == nil:
		return exitValid
	case errors.As(err, &o):
		if o.err != nil {
			fmt.Fprintln(stderr, "tidemark:", err)
		}
		return o.code
	default: // cobra's own: an unknown command or flag
		fmt.Fprintln(stderr, "tidemark:", err)
		return exitUsage
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "tidemark",
		Short:         "Find the schedule of faults under which a Kafka-style replicated log breaks its word",
		Version:       harness.Version + " (build " + harness.BuildHash() + ")",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			if err := checkGiven(c, args); err != nil {
				return err
			}
			return checkWritten(c, args)
		},
	}
	root.SetFlagErrorFunc(unread)
	root.AddCommand(runCommand(), replayCommand(), checkCommand(), exportCommand(), huntCommand(), bugsCommand(), shrinkCommand(), historyCommand(), brokerCommand(),
		serveCommand(), indexCommand(), pruneCommand(), nightlyCommand(),
		planTopic(), optionsTopic(), targetsTopic(), anomaliesTopic())
	root.AddCommand(containerCommands()...)
	complete(root)
	decimalOnly(root)
	return root
}
