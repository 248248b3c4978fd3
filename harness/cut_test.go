package harness

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results"
)

// TestARunThatWasInterruptedHasAPage ends a run in each of its phases: its results are unknown, and its page says where it ended. One that
// has only begun has a page too, and one that had broken its word before it was interrupted stays invalid.
func TestARunThatWasInterruptedHasAPage(t *testing.T) {
	run := Defaults()
	run.Duration = 3 * time.Second
	run = expand(t, run)
	res, err := Simulate(t.Context(), run, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	interrupted := errors.New("somebody wanted their machine back")
	save := func(h *history.History) (o results.Outcome, page string) {
		t.Helper()
		d, err := results.Create(t.TempDir(), run)
		if err != nil {
			t.Fatal(err)
		}
		if err := SaveBegun(d, run); err != nil {
			t.Fatal(err)
		}
		if o, err := d.Outcome(); err != nil || o.Verdict.Status != checker.Unknown || !o.UnderWay || !strings.Contains(o.Verdict.Reason, "under way, or its harness was killed") ||
			strings.Contains(o.Verdict.Reason, "the replay line has all of it") != (run.World == Simulated) {
			t.Fatalf("begun: %+v, %v", o.Verdict, err)
		}
		if err := SaveCut(d, run, h, interrupted); err != nil {
			t.Fatal(err)
		}
		if o, err = d.Outcome(); err != nil || o.UnderWay {
			t.Fatalf("it says that it is under way still: %t, %v", o.UnderWay, err)
		}
		text, err := os.ReadFile(d.ReportPath())
		if err != nil {
			t.Fatal(err)
		}
		return o, string(text)
	}
	for _, m := range append(slices.Clone(res.History.Marks), history.Mark{}) {
		o, page := save(until(res.History, m.Index))
		if o.Verdict.Status != checker.Unknown || !strings.Contains(o.Verdict.Reason, m.Name) || !strings.Contains(o.Verdict.Reason, "wanted their machine back") || o.Replay == "" {
			t.Errorf("ended in phase %q: %s, %q, replay %q", m.Name, o.Verdict.Status, o.Verdict.Reason, o.Replay)
		}
		if !strings.Contains(page, "Unknown: no verdict was reached") || !strings.Contains(page, "wanted their machine back") {
			t.Errorf("ended in phase %q: the page does not tell", m.Name)
		}
	}
	broken := until(res.History, res.History.Marks[2].Index)
	broken.Ops = slices.Clone(broken.Ops)
	for i := range broken.Ops {
		if op := &broken.Ops[i]; op.Kind == history.Poll && len(op.Records) > 0 {
			op.Records = []history.Record{{Offset: op.Records[0].Offset, Value: "nobody sent this"}}
			break
		}
	}
	o, page := save(broken)
	if o.Verdict.Status != checker.Invalid || !strings.Contains(o.Truncated, "wanted their machine back") || !strings.Contains(page, "Invalid: ") {
		t.Errorf("broken before it was interrupted: %s, %q, not whole: %q", o.Verdict.Status, o.Verdict.Reason, o.Truncated)
	}
}

// TestARunWithoutAJournalHasAPage: a run in containers may end before its journal is begun.
func TestARunWithoutAJournalHasAPage(t *testing.T) {
	run := expand(t, Defaults())
	d, err := results.Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := SaveCut(d, run, nil, errors.New("no engine")); err != nil {
		t.Fatal(err)
	}
	if o, err := d.Outcome(); err != nil || o.Verdict.Reason != "The run did not come to its end: no engine." {
		t.Errorf("%q, %v", o.Verdict.Reason, err)
	}
}

// until is a history as it stood at an index of its journal.
func until(h *history.History, index int64) *history.History {
	out := &history.History{}
	for _, op := range h.Ops {
		if op.InvokeIndex > index {
			continue
		}
		if op.ReturnIndex > index {
			op.Outcome, op.Return, op.ReturnIndex, op.Records, op.Error = history.Pending, 0, -1, nil, ""
		}
		out.Ops = append(out.Ops, op)
	}
	for _, f := range h.Faults {
		if f.Index <= index {
			out.Faults = append(out.Faults, f)
		}
	}
	for _, s := range h.States {
		if s.Index <= index {
			out.States = append(out.States, s)
		}
	}
	for _, s := range h.Steps {
		if s.Index <= index {
			out.Steps = append(out.Steps, s)
		}
	}
	for _, d := range h.Dumps {
		if d.Index <= index {
			out.Dumps = append(out.Dumps, d)
		}
	}
	for _, m := range h.Marks {
		if m.Index <= index {
			out.Marks = append(out.Marks, m)
		}
	}
	return out
}
