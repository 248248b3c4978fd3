package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"tidemark/history"
)

func TestRunDirectoryRoundTrip(t *testing.T) {
	o, h := invalidRun()
	root := t.TempDir()
	d, err := Create(root, o.Run)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Path, filepath.Join(root, "runs", "20261129T171800Z-18226091844402103377"); got != want {
		t.Errorf("created %s, expected %s", got, want)
	}
	plan, err := os.ReadFile(filepath.Join(d.Path, "plan.txt"))
	if err != nil || string(plan) != o.Run.Plan {
		t.Errorf("plan.txt holds %q, %v, expected %q", plan, err, o.Run.Plan)
	}
	if err := d.WriteHistory(h); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteLog(2, []byte("elected\n")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a later check writes over the earlier one's results
		if err := d.Finish(o, h); err != nil {
			t.Fatal(err)
		}
	}

	again, run, err := Open(d.Path)
	if err != nil || again != d || !reflect.DeepEqual(run, o.Run) {
		t.Errorf("opened %v with %+v, %v, expected %v with %+v", again, run, err, d, o.Run)
	}
	back, truncated, err := d.History()
	if err != nil || truncated != "" || len(back.Ops) != len(h.Ops) || len(back.Steps) != len(h.Steps) {
		t.Errorf("history: %q, %v, expected what was written", truncated, err)
	}
	got, err := d.Outcome()
	if got.Journal == nil || d.Judged(got) != nil {
		t.Errorf("outcome of the history %+v, %v, expected the one that was written", got.Journal, d.Judged(got))
	}
	if len(got.Logs) != 1 || d.LogsAsWritten(got) != nil {
		t.Errorf("outcome beside the logs %+v, %v, expected the one that was written", got.Logs, d.LogsAsWritten(got))
	}
	got.Journal, got.Logs = nil, nil
	if err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("outcome %+v, %v, expected %+v", got, err, o)
	}
	text, err := os.ReadFile(filepath.Join(d.Path, "results.json"))
	if err != nil || !strings.Contains(string(text), `"seed": "18226091844402103377"`) {
		t.Errorf("results.json, %v, does not hold the seed as a string", err)
	}
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), "broker-2.log history.ndjson.zst plan.txt report.html results.json run.json"; got != want {
		t.Errorf("the directory holds %s, expected %s", got, want)
	}
}

func TestNamesCollide(t *testing.T) {
	o, _ := invalidRun()
	root := t.TempDir()
	var names []string
	for range 3 {
		d, err := Create(root, o.Run)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(filepath.Base(d.Path), "20261129T171800Z-18226091844402103377"))
	}
	if got := strings.Join(names, ","); got != ",-2,-3" {
		t.Errorf("suffixes %q, expected none, -2 and -3", got)
	}
}

func TestCreateRefuses(t *testing.T) {
	o, _ := invalidRun()
	old := o.Run
	old.Format = 2
	long := o.Run
	long.Plan = strings.Repeat("at 1s kill broker 1 for 1s\n", 1<<20)
	for _, c := range []struct {
		name, want string
		run        history.Run
	}{
		{"a foreign format", "format 2, expected 1", old},
		{"a run that could not be read again", "expected fewer than", long},
	} {
		root := t.TempDir()
		if _, err := Create(root, c.run); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected an error with %q", c.name, err, c.want)
		}
		if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
			t.Errorf("%s left %v behind, %v", c.name, left, err)
		}
	}
}

// Bad input is an error that names the file and what was expected.
func TestReadersAreStrict(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		want             []string
	}{
		{"garbage", "run.json", "\x00\xffnonsense", []string{"run.json", "expected one JSON object"}},
		{"empty", "run.json", "", []string{"run.json", "expected one JSON object"}},
		{"cut", "run.json", `{"format": 1, "seed": "4`, []string{"run.json", "unexpected EOF"}},
		{"a seed as a number", "run.json", `{"format": 1, "seed": 42}`, []string{"run.json", `expected one from "0" to "18446744073709551615", in quotes, as "42"`}},
		{"a seed of letters", "run.json", `{"format": 1, "seed": "abc"}`, []string{"run.json", "seed is not a text of digits"}},
		{"a seed of results as a number", "results.json", `{"format": 1, "seed": 42}`, []string{"results.json", "seed is not a text of digits"}},
		{"no verdict", "results.json", `{"format": 1, "seed": "42"}`, []string{"results.json", "it has no verdict"}},
		{"an empty verdict", "results.json", `{"format": 1, "seed": "42", "verdict": {}}`, []string{"results.json", "one without a status"}},
		{"an unknown field", "run.json", `{"format": 1, "seeds": "42"}`, []string{"run.json", `"seeds"`}},
		{"a later format", "run.json", `{"format": 2}`, []string{"run.json", "format is 2, expected 1"}},
		{"two objects", "run.json", `{"format": 1} {}`, []string{"run.json", "expected the end of the file"}},
		{"oversized", "run.json", `{"format": 1` + strings.Repeat(" ", runBytesMax) + `}`, []string{"run.json", "bytes, expected fewer than 8388608"}},
		{"not an object", "results.json", `[1]`, []string{"results.json", "expected one JSON object"}},
		{"another run's", "results.json", `{"format": 1, "seed": "41", "verdict": {"status": "valid"}}`, []string{"results.json", "seed is 41, expected 42"}},
		{"a verdict of no known word", "results.json", `{"format": 1, "seed": "42", "verdict": {"format": 1, "status": "fine", "reason": "r"}}`, []string{"results.json", `"fine"`, "expected valid"}},
		{"an unknown field of the verdict", "results.json", `{"format": 1, "seed": "42", "verdict": {"mood": 1}}`, []string{"results.json", `"mood"`}},
		{"a later format of results", "results.json", `{"format": 3, "seed": "42"}`, []string{"results.json", "format is 3, expected 1"}},
	} {
		d := Dir{t.TempDir()}
		if err := d.write("run.json", []byte(`{"format": 1, "seed": "42"}`)); err != nil {
			t.Fatal(err)
		}
		if err := d.write(c.file, []byte(c.text)); err != nil {
			t.Fatal(err)
		}
		_, err := d.Outcome()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, expected an error with %q", c.name, err, want)
			}
		}
	}
	for name, put := range map[string]func(path string) error{
		"nothing":     func(string) error { return nil },
		"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
	} {
		d := Dir{t.TempDir()}
		if err := errors.Join(d.write("run.json", []byte(`{"format": 1, "seed": "42"}`)), put(d.file("results.json"))); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Outcome(); err == nil || !strings.Contains(err.Error(), d.file("results.json")) || strings.Contains(err.Error(), "no run directory") {
			t.Errorf("%s in place of results.json: %v, expected an error of that file, as the directory is a run's", name, err)
		}
	}
	if _, _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "run.json") {
		t.Errorf("an empty directory: %v, expected an error that names run.json", err)
	}
	if _, _, err := (Dir{t.TempDir()}).History(); err == nil || !strings.Contains(err.Error(), "history.ndjson.zst") {
		t.Errorf("no journal: %v, expected an error that names history.ndjson.zst", err)
	}
}

// Whatever can be read can be reported.
func FuzzReaders(f *testing.F) {
	f.Add([]byte(`{"format": 1, "seed": "42", "plan": "at 1s", "config": {"a": "b"}}`), []byte(`{"format": 1, "seed": "42", "verdict": {"status": "valid"}}`))
	f.Add([]byte(`{"format": 1, "seed": "0", "duration": -1}`), []byte(`{"format": 1, "seed": "0", "wallSeconds": 1e300, "verdict": {"status": "invalid",
		"findings": [{"offset": 3, "ops": [-1], "witness": {"ackedNanos": 5, "removedBy": [{"timeNanos": 7}], "steps": [{"kind": "isr", "isr": [1]}]}}]}}`))
	f.Fuzz(func(t *testing.T, runText, outcomeText []byte) {
		run, err := DecodeRun(runText)
		if err != nil {
			return
		}
		o, err := DecodeOutcome(outcomeText, run)
		if err != nil {
			return
		}
		var page bytes.Buffer
		if err := WriteReport(&page, o, nil, nil); err != nil {
			t.Fatal(err)
		}
		if page.Len() > 10<<20 {
			t.Errorf("the page has %d bytes, expected at most %d", page.Len(), 10<<20)
		}
	})
}
