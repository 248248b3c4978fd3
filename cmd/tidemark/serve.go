package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history/plain"
	"tidemark/results/index"
)

func serveCommand() *cobra.Command {
	var port int
	var asJSON bool
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Serve the index of runs and campaigns on 127.0.0.1",
		Long: "Serves what stands in DIR/runs and DIR/campaigns (DIR is . without one) to browsers on this machine alone: what is new, resolved, still\n" +
			"failing and known since the campaign before, failures by signature, the trend over nights, every run's report, and each run as one zip.\n" +
			"Nothing outside of DIR is served, nor through links that lead out of it. tidemark index writes the same as pages that need no server.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if port < 0 || port > 65535 {
				return usage(fmt.Errorf("--port %d, expected 0 (any that is free) to 65535", port))
			}
			s, err := index.NewServer(dirOf(args), time.Now)
			if err != nil {
				return usage(err)
			}
			defer s.Close() //nolint:errcheck // only read
			return serve(c, s, port, asJSON)
		},
	}
	c.Flags().IntVar(&port, "port", 7667, "the port on 127.0.0.1; 0 is any that is free")
	c.Flags().BoolVar(&asJSON, "json", false, "print the address as JSON")
	return c
}

// dirOf is the directory that a command line names, this one if it names none.
func dirOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// The bounds on one client of the server.
const (
	headerTime  = 10 * time.Second
	requestTime = 10 * time.Minute // a large archive takes its time
	closingTime = 2 * time.Second
)

func serve(c *cobra.Command, s *index.Server, port int, asJSON bool) error {
	var config net.ListenConfig
	listener, err := config.Listen(c.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return trouble(fmt.Errorf("%w; --port 0 takes any that is free", err))
	}
	address := "http://" + listener.Addr().String() + "/"
	if asJSON {
		if err := printJSON(c.OutOrStdout(), map[string]string{"address": address}, exitValid); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.OutOrStdout(), "serving on %s until interrupted\n", address)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: requestTime, MaxHeaderBytes: 16 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return trouble(err)
	case <-c.Context().Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), closingTime)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return trouble(err)
	}
	return nil // an interrupt is how it is meant to end
}

func indexCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "index [DIR]",
		Short: "Write the index of runs and campaigns as pages that need no server",
		Long: "Writes DIR/campaigns/index.html and a page of each campaign (DIR is . without one), which a browser opens from the disk and CI keeps as artefacts.\n" +
			"hunt and nightly do so themselves. With --json the index is printed and nothing is written.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			x, err := index.Read(dirOf(args), time.Now())
			if err != nil {
				return usage(err)
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), x.Listing(), exitValid)
			}
			if err := x.WritePages(dirOf(args)); err != nil {
				return trouble(err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s and %s\n", filepath.Join(dirOf(args), "campaigns", "index.html"), counted(len(x.Campaigns), "campaign"), counted(len(x.Runs), "run"))
			tellUnread(c.ErrOrStderr(), append(x.Unread, x.Damaged()...))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the index as JSON")
	return c
}

// retentionFlags are the bounds on what stays.
type retentionFlags struct {
	age   string
	bytes string
	count int
}

func (r *retentionFlags) register(c *cobra.Command, age string, count int, bytes string) {
	c.Flags().StringVar(&r.age, "keep-age", age, fmt.Sprintf("how long a run stays, such as 30d or 12h; one that failed stays %d times as long. 0 is no bound", index.FailingTimes))
	c.Flags().IntVar(&r.count, "keep-count", count, "how many runs stay, besides those that may be under way; those that failed longest. 0 is no bound")
	c.Flags().StringVar(&r.bytes, "keep-bytes", bytes, "how large all runs may be together, such as 2g; those that failed stay longest. 0 is no bound")
}

// retention reads the flags.
func (r *retentionFlags) retention() (index.Retention, error) {
	age, err := parseAge(r.age)
	if err != nil {
		return index.Retention{}, fmt.Errorf("--keep-age %w", err)
	}
	out := index.Retention{Age: age, Count: r.count}
	if r.bytes != "0" {
		if out.Bytes, err = harness.ParseBytes(r.bytes); err != nil {
			return out, fmt.Errorf("--keep-bytes %w", err)
		}
	}
	if r.count < 0 {
		return out, fmt.Errorf("--keep-count %d, expected a positive number, or 0 for no bound", r.count)
	}
	return out, out.Check()
}

// daysMax bounds an age in days.
const daysMax = 36_500

// parseAge reads a length of time, also in days.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > daysMax {
			return 0, fmt.Errorf("%q, expected a number of days from 0d to %dd", text, daysMax)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, fmt.Errorf("%q, expected a positive length of time such as 30d or 12h, or 0", text)
	}
	return age, nil
}

// keptTold bounds what is told of that pruning left alone.
const keptTold = 100

// tellStaying tells what pruning left alone, and why.
func tellStaying(w io.Writer, kept []string) {
	for _, what := range kept[:min(len(kept), keptTold)] {
		fmt.Fprintln(w, "tidemark:", plain.Line("kept runs/"+what))
	}
	if left := len(kept) - keptTold; left > 0 {
		fmt.Fprintf(w, "tidemark: and kept %d more\n", left)
	}
}

// isDir reports whether a directory has another in it.
func isDir(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.IsDir()
}

func pruneCommand() *cobra.Command {
	var keep retentionFlags
	var dry, asJSON bool
	c := &cobra.Command{
		Use:   "prune [DIR]",
		Short: "Remove runs that are too old or too many; failing ones stay longest",
		Long: "Removes directories of DIR/runs (DIR is . without one) until the bounds hold: first what is too old, then runs that were killed, then those that\n" +
			"did not fail, then failing ones of whose signature there is a newer run, and last the newest of each signature, the oldest first. Campaigns stay:\n" +
			"they are small, and the trend is made of them. A run that may be under way, one of the last twelve hours that has not told how it ended, is left\n" +
			"alone and is none of those counted. What is no run of this program stays, and is named: a directory that has not\n" +
			"the name that its run.json calls for, such as a copy, and one that holds a file that this program did not write there.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := keep.retention()
			if err != nil {
				return usage(err)
			}
			if info, err := os.Stat(dirOf(args)); err != nil {
				return usage(err)
			} else if !info.IsDir() {
				return usage(fmt.Errorf("%s is a file, expected the directory that runs/ stands in", dirOf(args)))
			}
			if !isDir(dirOf(args), "runs") && !isDir(dirOf(args), "campaigns") {
				return usage(fmt.Errorf("%s has neither runs/ nor campaigns/, so nothing that could be removed: expected the directory that they stand in", dirOf(args)))
			}
			pruned, err := index.Prune(dirOf(args), r, time.Now(), dry)
			names := pruned.Removed
			tellStaying(c.ErrOrStderr(), pruned.Kept)
			if asJSON {
				if err := printJSON(c.OutOrStdout(), map[string]any{"removed": append([]string{}, names...), "kept": append([]string{}, pruned.Kept...), "dry": dry}, exitValid); err != nil {
					return err
				}
			} else {
				word := "removed"
				if dry {
					word = "would be removed:"
				}
				for _, name := range names {
					fmt.Fprintln(c.OutOrStdout(), word, plain.Line(filepath.Join(dirOf(args), "runs", name)))
				}
				if len(names) == 0 && err == nil {
					fmt.Fprintln(c.OutOrStdout(), "all runs are within the bounds")
				}
			}
			if err != nil {
				return trouble(err)
			}
			return nil
		},
	}
	keep.register(c, "30d", 200, "2g")
	c.Flags().BoolVar(&dry, "dry", false, "remove nothing, only say what would be")
	c.Flags().BoolVar(&asJSON, "json", false, "print the names as JSON")
	return c
}
