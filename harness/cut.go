package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results"
)

// errBegun is all that is known of a run as long as it has neither a verdict nor trouble.
var errBegun = errors.New("no verdict was written; it is under way, or its harness was killed")

// SaveBegun writes results and page of a run that is about to start, so that there is a page whatever happens.
func SaveBegun(d results.Dir, run history.Run) error {
	why := errBegun
	if run.World == Simulated {
		why = fmt.Errorf("%w; a simulated run writes its history at its end alone, and the replay line has all of it", errBegun)
	}
	o := cutOutcome(d, run, &history.History{}, "", why)
	o.UnderWay = true
	return d.Finish(o, &history.History{})
}

// SaveCut writes results and page of a run that why kept from coming to its end, by what its history tells. h is nil where the directory has
// it, as the journal of a run in containers. A violation is one, however the run ended; without one nothing is known.
func SaveCut(d results.Dir, run history.Run, h *history.History, why error) error {
	truncated := ""
	if h != nil {
		if err := d.WriteHistory(h); err != nil {
			return err
		}
	} else {
		var err error
		if h, truncated, err = d.History(); errors.Is(err, fs.ErrNotExist) {
			h = &history.History{}
		} else if err != nil {
			return err
		}
	}
	return d.Finish(cutOutcome(d, run, h, truncated, why), h)
}

// cutOutcome is what is known of a run that did not come to its end.
func cutOutcome(d results.Dir, run history.Run, h *history.History, truncated string, why error) results.Outcome {
	res := &Result{Run: run, History: h, Verdict: Judge(run, h)}
	o := res.Outcome(d)
	o.Hash, o.Truncated = "", truncated // a trace that was cut has none to compare with
	text := fmt.Sprintf("The run did not come to its end: %s%v.", reached(h), why)
	if o.Verdict.Status != checker.Invalid {
		o.Verdict.Status, o.Verdict.Reason = checker.Unknown, text
		return o
	}
	if truncated != "" {
		text += " " + truncated
	}
	o.Truncated = text
	return o
}

// reached says how far a run came.
func reached(h *history.History) string {
	if len(h.Marks) == 0 {
		return ""
	}
	last := h.Marks[len(h.Marks)-1]
	at := last.Time
	for i := range h.Ops {
		at = max(at, h.Ops[i].Invoke, h.Ops[i].Return)
	}
	return fmt.Sprintf("it was in its phase %q, %v after its start: ", last.Name, at.Round(time.Millisecond))
}
