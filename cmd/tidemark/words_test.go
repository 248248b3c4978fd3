package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/nemesis"
)

// TestPlansInTheHelpAreOnes takes the example plans out of the help and the README and has a run of the default options accept them.
func TestPlansInTheHelpAreOnes(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## The plan of faults\n")
	for name, text := range map[string]string{"help plan": planText, "README.md": section} {
		plan := examplePlan(text)
		if strings.Count(plan, "\n") < 4 {
			t.Errorf("%s: found the plan\n%sexpected at least four lines", name, plan)
		}
		run := harness.Defaults()
		if _, err := harness.Expand(run, plan); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// examplePlan is the first indented block of a text.
func examplePlan(text string) string {
	var plan strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		indented := strings.HasPrefix(line, "    ")
		if !indented && plan.Len() > 0 {
			break
		}
		if indented {
			plan.WriteString(line + "\n")
		}
	}
	return plan.String()
}

// TestTheHelpTellsEveryKind keeps the help from falling behind the language.
func TestTheHelpTellsEveryKind(t *testing.T) {
	_, err := nemesis.Parse("at 1s explode broker 1")
	if err == nil {
		t.Fatal("an unknown kind was accepted")
	}
	_, kinds, found := strings.Cut(err.Error(), "expected ")
	if !found {
		t.Fatalf("%q does not say what was expected", err)
	}
	for _, kind := range strings.Fields(strings.NewReplacer(",", " ", " or ", " ").Replace(kinds)) {
		if !strings.Contains(planText, "\n    "+kind+" ") {
			t.Errorf("help plan says nothing of %q", kind)
		}
	}
}

func TestProgressOffATerminalIsALineNowAndThen(t *testing.T) {
	var log strings.Builder
	begun := time.Now().Add(-2 * progressEvery)
	p := &progress{log: &log, unit: "seed", total: 9, begun: begun, last: begun}
	valid := &harness.Result{Verdict: checker.Verdict{Status: checker.Valid, Stats: checker.Stats{Acked: 600}}}
	p.step(nil, errors.New("no memory"))
	p.step(valid, nil) // too soon after the first
	if want := "1 of 9 seeds after 1m0s, 1 failed\n"; log.String() != want {
		t.Errorf("progress wrote %q, expected %q", log.String(), want)
	}
	p.last, p.budget = p.last.Add(-progressEvery), 20*time.Minute
	p.step(valid, nil)
	if want := "3 of 9 seeds after 1m0s of 20m0s, 1 failed, 20 acknowledged writes a second\n"; !strings.HasSuffix(log.String(), want) {
		t.Errorf("progress wrote %q, expected it to end with %q", log.String(), want)
	}
	p.end()
	p.last, p.total = p.last.Add(-progressEvery), 0
	p.step(valid, nil)
	if want := "4 seeds after 1m0s of 20m0s, 1 failed, 30 acknowledged writes a second\n"; !strings.HasSuffix(log.String(), want) {
		t.Errorf("without a last seed progress wrote %q, expected it to end with %q", log.String(), want)
	}
}

// TestProgressOnATerminalTellsOfTheRun: behind the bar stand time, failures, the rate, and how far a run in containers is.
func TestProgressOnATerminalTellsOfTheRun(t *testing.T) {
	begun := time.Now()
	p := &progress{total: 9, begun: begun, done: 2, failures: 1, acked: 900}
	p.tell(harness.Progress{Phase: harness.PhaseLoad, Load: 10 * time.Second, Acked: 500, Force: []string{"kill broker 2"}})
	want := " 30s, 1 failed, 30 acknowledged writes a second; 10s of load, 500 acknowledged, 50 a second; kill broker 2 in force"
	if got := p.told(begun.Add(30 * time.Second)); got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}
