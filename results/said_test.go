package results

import (
	"html"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/checker/linear"
	"tidemark/history"
)

// TestAPageSentAlone: it says what it needs of what was beside it, the run's directory for its line and the second judge's picture.
func TestAPageSentAlone(t *testing.T) {
	o, h := invalidRunWith("")
	o.Verdict.Porcupine = checker.Second{Outcome: checker.Objects, Windows: 1, Where: []linear.Stretch{{Partition: orders, Ops: []int64{1, 2}, Count: 2}}}
	for _, c := range []struct {
		line  string
		needs bool
	}{{o.Replay, true}, {"tidemark run --seed 7", false}} {
		o.Replay = c.line
		var page strings.Builder
		if err := WriteReport(&page, o, h, nil); err != nil {
			t.Fatal(err)
		}
		text := html.UnescapeString(page.String())
		if got := strings.Contains(text, "needs the directory too, or the zip"); got != c.needs {
			t.Errorf("%s: the page says that it needs the directory: %v, expected %v", c.line, got, c.needs)
		}
		if !strings.Contains(text, "porcupine.html, a file beside this one") {
			t.Errorf("%s: the page does not say where the picture is", c.line)
		}
	}
}

// TestWhatThePageSaysOfEachVerdict reads the page of a run of each verdict, and of one that did not come to its end, in each phase: what it says, and
// what it must not say, as it is not known.
func TestWhatThePageSaysOfEachVerdict(t *testing.T) {
	full, whole := invalidRunWith("")
	none := &history.History{}
	until := func(at time.Duration) *history.History {
		h := &history.History{Marks: whole.Marks}
		for _, op := range whole.Ops {
			if op.Invoke < at {
				h.Ops = append(h.Ops, op)
			}
		}
		return h
	}
	agrees := checker.Second{Outcome: checker.Agrees, Windows: 4, Budget: "1000 model steps"}
	nothing := checker.Second{Outcome: checker.Agrees, Budget: "1000 model steps"}
	const (
		confirms   = "The second judge (porcupine) confirms it"
		exact      = "Exact: with the same build"
		goesOn     = "the line goes on to the end, which this run did not reach"
		baseline   = "this run is a baseline"
		allSucceed = "Every operation succeeded."
		allLearned = "Every client learned what became of what it sent."
		noAnomaly  = "<p class=\"none\">No anomaly was found.</p>"
	)
	for _, c := range []struct {
		name   string
		status checker.Status
		reason string
		second checker.Second
		h      *history.History
		hash   string
		says   []string
		never  []string
	}{
		{"valid", checker.Valid, "all agree.", agrees, whole, "9b", []string{"Valid: the log kept its word", confirms + ": the history is linearizable, in each of its 4 windows.", noAnomaly, exact}, []string{baseline, goesOn}},
		{"invalid", checker.Invalid, "a loss.", checker.Second{Outcome: checker.Objects, Windows: 4}, whole, "9b",
			[]string{"Invalid", confirms + ": the history is not linearizable.", exact}, []string{"finds what there is", noAnomaly, goesOn}},
		{"invalid, where the second judge sees nothing", checker.Invalid, "a loss.", agrees, whole, "9b", []string{"The second judge (porcupine) adds nothing"}, []string{confirms}},
		{"invalid, cut off", checker.Invalid, "a loss.", checker.Second{Outcome: checker.Objects, Windows: 4}, whole, "",
			[]string{confirms + ": the history is not linearizable.", goesOn}, []string{exact}},
		{"vacuous", checker.Vacuous, "only 3 operations.", agrees, until(time.Second), "9b",
			[]string{"Vacuous: nothing was put to the test", "The second judge (porcupine) finds what there is of the history linearizable", "in a run in which nothing could go wrong"}, []string{confirms, noAnomaly}},
		{"vacuous, without an operation", checker.Vacuous, "0 operations.", nothing, none, "9b",
			[]string{"The second judge (porcupine) had nothing to judge.", "there was nothing in which an anomaly could be found"}, []string{confirms, noAnomaly, allSucceed, allLearned, "0 windows"}},
		{"unknown, out of budget", checker.Unknown, "The second judge ran out.", checker.Second{Outcome: checker.OutOfBudget, Windows: 4, Unknown: 1, Budget: "9 model steps"}, whole, "9b",
			[]string{"Unknown: no verdict was reached", "adds nothing: its budget (9 model steps) ran out", "That is no verdict.", exact}, []string{confirms, noAnomaly, goesOn}},
		{"unknown, not asked", checker.Unknown, "no final read.", checker.Second{Outcome: checker.NotAsked}, whole, "9b", []string{"was not asked"}, []string{confirms, noAnomaly}},
		{"under way", checker.Unknown, "The run did not come to its end: it is under way.", nothing, none, "",
			[]string{"it is under way", "had nothing to judge", "the run did not come to those of its plan", goesOn, "there was nothing in which an anomaly could be found"},
			[]string{confirms, noAnomaly, exact, baseline, allSucceed, allLearned, "0 windows"}},
		{"interrupted before the load", checker.Unknown, "The run did not come to its end: it was in its phase create.", nothing, &history.History{Marks: []history.Mark{{Name: "create"}}}, "",
			[]string{"phase create", "had nothing to judge", goesOn}, []string{confirms, noAnomaly, exact, baseline, allSucceed, allLearned}},
		{"interrupted under load, before a fault", checker.Unknown, "The run did not come to its end: it was in its phase load.", agrees, until(8 * time.Second), "",
			[]string{"finds what there is of the history linearizable", "the run did not come to those of its plan", "No anomaly was found in what there is of the run.", goesOn}, []string{confirms, noAnomaly, exact, baseline}},
		{"interrupted on settling", checker.Unknown, "The run did not come to its end: it was in its phase settle.", agrees, whole, "",
			[]string{"finds what there is of the history linearizable", "No anomaly was found in what there is of the run.", goesOn}, []string{confirms, noAnomaly, exact, baseline}},
		{"interrupted in the final reads", checker.Unknown, "The run did not come to its end: it was in its phase final.", agrees, whole, "",
			[]string{"finds what there is of the history linearizable"}, []string{confirms, noAnomaly}},
	} {
		o := full
		if c.hash == "" {
			o.Truncated = c.reason
		}
		o.Verdict.Status, o.Verdict.Reason, o.Verdict.Porcupine, o.Hash = c.status, c.reason, c.second, c.hash
		if c.status != checker.Invalid {
			o.Verdict.Findings = nil
		}
		var page strings.Builder
		if err := WriteReport(&page, o, c.h, nil); err != nil {
			t.Fatal(err)
		}
		text := html.UnescapeString(page.String())
		for _, say := range c.says {
			if !strings.Contains(text, say) {
				t.Errorf("%s: the page does not say %q", c.name, say)
			}
		}
		for _, say := range c.never {
			if strings.Contains(text, say) {
				t.Errorf("%s: the page says %q", c.name, say)
			}
		}
	}
}
