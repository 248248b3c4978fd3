package harness

import (
	"tidemark/history"
	"tidemark/results"
)

// Recheck judges a stored history again, under run's contract. truncated says what a cut journal left out.
func Recheck(d results.Dir, run history.Run) (res *Result, truncated string, err error) {
	h, truncated, err := d.History()
	if err != nil {
		return nil, "", err
	}
	return &Result{Run: run, History: h, Verdict: Judge(run, h)}, truncated, nil
}
