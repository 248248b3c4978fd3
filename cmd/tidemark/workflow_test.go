package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tidemark/harness"
)

// TestTheWorkflowIsTheNight: CI calls the command that anybody can call, keeps what it leaves whatever it ends with, and waits for long enough.
func TestTheWorkflowIsTheNight(t *testing.T) {
	text, err := os.ReadFile("../../.github/workflows/nightly.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Timeout int `yaml:"timeout-minutes"`
			Steps   []struct {
				Uses, Run, If string
				With          map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	job, night, kept, handed, caches := workflow.Jobs["nightly"], 0, false, map[any]bool{}, 0
	for _, s := range job.Steps {
		if strings.HasPrefix(s.Run, "make nightly ") {
			night++
		}
		kept = kept || strings.HasPrefix(s.Uses, "actions/upload-artifact@") && s.If == "always()" && strings.Contains(s.With["path"].(string), "nightly*/\ncorpus/")
		if !strings.HasPrefix(s.Uses, "actions/cache/") {
			continue
		}
		caches++
		if !strings.Contains(s.If, "!inputs.bug") {
			t.Errorf("%s of %v is carried out if %q, expected not in a night with a known bug on", s.Uses, s.With["path"], s.If)
		}
		if strings.HasPrefix(s.Uses, "actions/cache/save@") && strings.Contains(s.If, "always()") {
			handed[s.With["path"]] = true
		}
	}
	if night != 1 || !kept || caches != 4 || !handed["nightly/campaigns"] || !handed["corpus/*.txt"] || job.Timeout < 30 {
		t.Errorf("make nightly %d times, artefacts kept %v, handed on %v, %d minutes; expected once, true, campaigns and corpus, and 30 or more", night, kept, handed, job.Timeout)
	}
}

// TestANightWithABugStandsAlone: make gives it directories of its own, so that the tracked corpus and the trend of the nights without one know nothing
// of it; the next night there may have the bug off.
func TestANightWithABugStandsAlone(t *testing.T) {
	const apart = "--out nightly-unclean-election --corpus nightly-unclean-election/corpus "
	for words, want := range map[string]string{"BUG=": "--out nightly --corpus corpus ", "BUG=unclean-election": apart, "NIGHTLY=nightly-unclean-election": apart} {
		told, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "-n", "nightly", words).CombinedOutput()
		if err != nil || !strings.Contains(string(told), want) {
			t.Errorf("make -n nightly %s: %s, %v; expected %s", words, told, err, want)
		}
	}
}

// TestTheTreeCanBeHunted: the list of known failures and the corpus that the night reads can be read, and what is known of bugs names bugs that
// there are.
func TestTheTreeCanBeHunted(t *testing.T) {
	var h harness.Hunt
	if err := recall(t.Output(), &h, "../../corpus", "../../corpus/known.json"); err != nil {
		t.Fatal(err)
	}
	for _, k := range h.Known {
		if status, name, ok := strings.Cut(k.Signature, ": "); ok && (status == string(harness.BugMissed) || status == string(harness.BugOtherClass)) {
			if _, err := bugEntries([]string{name}, false); err != nil {
				t.Errorf("known.json: %v", err)
			}
		}
	}
}
