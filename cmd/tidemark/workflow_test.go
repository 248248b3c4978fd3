package main

import (
	"os"
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
	job, night, kept, handed := workflow.Jobs["nightly"], 0, false, false
	for _, s := range job.Steps {
		if strings.HasPrefix(s.Run, "make nightly ") {
			night++
		}
		kept = kept || strings.HasPrefix(s.Uses, "actions/upload-artifact@") && s.If == "always()" && strings.Contains(s.With["path"].(string), "nightly/")
		handed = handed || strings.HasPrefix(s.Uses, "actions/cache/save@") && s.If == "always()" && s.With["path"] == "nightly/campaigns"
	}
	if night != 1 || !kept || !handed || job.Timeout < 30 {
		t.Errorf("make nightly %d times, artefacts kept %v, campaigns handed on %v, %d minutes; expected once, both, and 30 or more", night, kept, handed, job.Timeout)
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
