package history

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
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
	for _, bad := range []string{`{"journal":2,"run":7}`, `{"journal":2,"run":{"seed":"x"}}`, `{"journal":1,"run":{}`, `{"journal":2,"run":`, `{"journal":3,"run":{}}`, `{"journal":2,"walk":{}}`} {
		text := compress(t, bad+"\n")
		if _, err := ReadJournalRun(bytes.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 1: ") || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: %v, expected a refusal of line 1", bad, err)
		}
		if _, _, err := ReadJournal(bytes.NewReader(text)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// TestJournalsOfOlderBuilds are read still, whether or not they say whose they are, and what this build writes has a number that older ones refuse by name:
// they expect 1.
func TestJournalsOfOlderBuilds(t *testing.T) {
	const mark = `{"t":"mark","i":0,"at":1,"name":"load"}` + "\n"
	for head, seed := range map[string]uint64{`{"journal":1}`: 0, `{"journal":1,"run":{"format":1,"seed":"7"}}`: 7, `{"journal":2}`: 0, `{"journal":2,"run":{"format":1,"seed":"7"}}`: 7} {
		text := compress(t, head+"\n"+mark)
		if h, truncated, err := ReadJournal(bytes.NewReader(text)); err != nil || truncated != "" || len(h.Marks) != 1 {
			t.Errorf("%s: %+v, %q, %v, expected its mark", head, h, truncated, err)
		}
		switch run, err := ReadJournalRun(bytes.NewReader(text)); {
		case err != nil || seed == 0 && run != nil || seed != 0 && (run == nil || run.Seed != seed):
			t.Errorf("%s: %+v, %v, expected seed %d, or no run for 0", head, run, err, seed)
		}
	}
	for _, run := range []*Run{nil, {Format: 1, Seed: 7}} {
		path := filepath.Join(t.TempDir(), "journal")
		if err := WriteJournal(path, run, &History{}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		decoder, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := decoder.DecodeAll(text, nil); err != nil || !bytes.HasPrefix(line, []byte(`{"journal":2`)) {
			t.Errorf("%s, %v, expected format 2", line, err)
		}
		decoder.Close()
	}
}
