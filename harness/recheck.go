package harness

import (
	"fmt"
	"strings"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results"
)

// Recheck judges a stored history again, under run's contract. truncated says what a cut journal left out: what is gone might have told of anything, so what is left
// proves a violation, and nothing else.
func Recheck(d results.Dir, run history.Run) (res *Result, truncated string, err error) {
	h, truncated, err := d.History()
	if err != nil {
		return nil, "", err
	}
	v := Judge(run, h)
	if truncated != "" && v.Status != checker.Invalid {
		v.Status, v.Reason = checker.Unknown, fmt.Sprintf("The history is not whole: %s.", strings.TrimRight(truncated, "."))
	}
	return &Result{Run: run, History: h, Verdict: v}, truncated, nil
}
