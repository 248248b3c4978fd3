package history

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestAJournalSaysWhoseItIs: the run comes back from the journal, whole or cut anywhere behind its first frame; one without a run says nothing.
func TestAJournalSaysWhoseItIs(t *testing.T) {
	run := &Run{Format: 1, World: "sim", Seed: 1<<64 - 1, Topic: "orders", Acks: -1, Plan: "at 2s kill broker 1\n", Config: map[string]string{"a": "}"}}
	h := &History{Marks: []Mark{{Name: "load"}}}
	for _, want := range []*Run{run, nil} {
		path := filepath.Join(t.TempDir(), "journal")
		if err := WriteJournal(path, want, h); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadJournalRun(bytes.NewReader(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, expected %+v", got, err, want)
		}
		if back, truncated, err := ReadJournal(bytes.NewReader(text)); err != nil || truncated != "" || !reflect.DeepEqual(back.Marks, h.Marks) {
			t.Errorf("%+v, %q, %v, expected the history", back, truncated, err)
		}
		for n := range len(text) {
			if got, err := ReadJournalRun(bytes.NewReader(text[:n])); err != nil || got != nil && !reflect.DeepEqual(got, want) {
				t.Errorf("cut at %d: %+v, %v, expected the run or nothing", n, got, err)
			}
		}
	}
	for _, bad := range []string{`{"journal":1,"run":7}`, `{"journal":1,"run":{"seed":"x"}}`, `{"journal":1,"run":{}`, `{"journal":1,"run":`, `{"journal":2,"run":{}}`, `{"journal":1,"walk":{}}`} {
		text := compress(t, bad+"\n")
		if _, err := ReadJournalRun(bytes.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 1: ") || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: %v, expected a refusal of line 1", bad, err)
		}
		if _, _, err := ReadJournal(bytes.NewReader(text)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
