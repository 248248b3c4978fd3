package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

// cut leaves a page of a run that came to no verdict, and ends with why: it was interrupted, or there was trouble. h is nil where the directory
// has the journal.
func cut(c *cobra.Command, d results.Dir, run history.Run, h *history.History, err error) error {
	again := fmt.Sprintf("%s: %s", harness.ReplayWord(run), harness.ReplayLine(d))
	if c.Context().Err() != nil {
		saved := harness.SaveCut(d, run, h, errors.New("it was interrupted"))
		return &outcome{exitInterrupted, errors.Join(fmt.Errorf("interrupted; %s\n  what there is of it: %s", again, d.ReportPath()), saved)}
	}
	return trouble(errors.Join(fmt.Errorf("%w\n  %s\n  what there is of it: %s", err, again, d.ReportPath()), harness.SaveCut(d, run, h, err)))
}

// simulated is the history of a simulated run, as far as it came.
func simulated(res *harness.Result) *history.History {
	if res == nil || res.History == nil {
		return &history.History{}
	}
	return res.History
}
