package harness

import (
	"tidemark/checker"
	"tidemark/history"
	"tidemark/results"
)

// Recheck judges a stored history again, under run's contract. Invariants that the simulator saw broken are taken from the stored outcome: a
// history does not hold the states that they were seen in. truncated says what a cut journal left out.
func Recheck(d results.Dir, run history.Run, stored results.Outcome) (res *Result, truncated string, err error) {
	h, truncated, err := d.History()
	if err != nil {
		return nil, "", err
	}
	return &Result{Run: run, History: h, Verdict: Judge(run, h, checker.BrokenOf(stored.Verdict))}, truncated, nil
}
