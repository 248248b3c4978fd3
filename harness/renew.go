package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark/broker/bug"
	"tidemark/checker"
	"tidemark/history"
)

// Shown reports whether a scenario's outcome, as Tell tells it, is what a known bug's must be: a violation of a class that the registry
// names, and a valid run without the bug.
func Shown(e bug.Entry, told string) bool {
	first, rest, _ := strings.Cut(told, "\n")
	status, signature, _ := strings.Cut(first, ": ")
	class, _, _ := strings.Cut(signature, ":")
	return status == string(checker.Invalid) && slices.Contains(e.Shows, class) && rest == "without the bug: valid\n"
}

// Renew finds a seed with which a scenario of a known bug shows it: its own, else the first of 1, 2 and so on. A change of the broker shifts
// what a seed brings, and then a small plan needs another one. It returns the run and what it tells; the error says that no seed did.
func Renew(ctx context.Context, run history.Run, seeds, workers int) (history.Run, string, error) {
	e, ok := bug.Find(bug.Name(run.Bug))
	if !ok {
		return run, "", fmt.Errorf("bug %q, expected a known one", run.Bug)
	}
	told := make([]string, seeds+1)
	seeded := func(n int) history.Run {
		run := run
		if n > 0 {
			run.Seed = uint64(n)
		}
		return run
	}
	won := race(ctx, 0, seeds+1, workers, nil, func(ctx context.Context, n int) bool {
		text, err := Tell(ctx, seeded(n))
		told[n] = text
		return err == nil && Shown(e, text)
	})
	if won < 0 {
		return run, told[0], fmt.Errorf("none of %d seeds shows %s (%v)", seeds+1, e.Name, ctx.Err())
	}
	return seeded(won), told[won], nil
}
