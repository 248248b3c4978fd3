package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/checker"
	"tidemark/history"
)

// TestACorpusRemembers adds a failure to a corpus that does not exist yet: it is there once, is read back as it was, with its bug, and is
// what a hunt carries out first, without.
func TestACorpusRemembers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "corpus")
	if none, err := ReadCorpus(dir); err != nil || len(none) != 0 {
		t.Fatalf("%v, %v, expected nothing", none, err)
	}
	run := expand(t, Draw(SeedOf(4, 0), Defaults(), nil))
	run.Bug = "ack-before-replication"
	const signature = "lost acknowledged write: election"
	path, err := AddToCorpus(dir, nil, run, signature)
	if err != nil || path == "" {
		t.Fatalf("%q, %v, expected a file", path, err)
	}
	corpus, err := ReadCorpus(dir)
	if err != nil || len(corpus) != 1 {
		t.Fatalf("%v, %v, expected one run", corpus, err)
	}
	if got := corpus[0]; got.Signature != signature || identity(got.Run) != identity(run) || got.Run.Bug != run.Bug || got.Run.Seed != run.Seed {
		t.Errorf("%q %+v came back, expected %q %+v", got.Signature, got.Run, signature, run)
	}
	if again, err := AddToCorpus(dir, corpus, run, signature); again != "" || err != nil {
		t.Errorf("%q, %v, expected the signature to be there already", again, err)
	}
	var order []int
	h := Hunt{Run: Defaults(), Corpus: corpus, Seeds: 1, Workers: 1, Each: func(n int, res *Result, err error) {
		order = append(order, n)
		if n == -1 && (err != nil || res.Run.Seed != run.Seed || res.Verdict.Status != checker.Valid) {
			t.Errorf("the corpus' run: %v, %+v, expected seed %d, and a valid run without the bug", err, res, run.Seed)
		}
	}}
	if tally := h.Go(t.Context()); tally.Runs != 2 || len(order) != 2 || order[0] != -1 {
		t.Errorf("%d runs, in the order %v, expected the corpus and one seed", tally.Runs, order)
	}
}

// TestAScenarioIsToldByFileAndLine wherever a hunt tells of a run, and its line carries out that file, with the bug that was on or none.
func TestAScenarioIsToldByFileAndLine(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "the one.txt")
	if err := os.WriteFile(path, []byte("# why\n\nrun seed=7 duration=5s\n# no faults\n----\nvalid: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	corpus, err := ReadCorpus(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := path + ":3"
	invalid := checker.Verdict{Status: checker.Invalid, Reason: "Lost.", Findings: []checker.Finding{{Class: "lost acknowledged write", Severity: checker.Violation, Signature: "lost acknowledged write: election"}}}
	h := Hunt{Run: Defaults(), Corpus: corpus, Workers: 1}
	h.Run.Bug = "ack-before-replication"
	for what, carry := range map[string]func(run history.Run) (*Result, error){
		"lost acknowledged write: election": func(run history.Run) (*Result, error) {
			return &Result{Run: run, Verdict: invalid, History: &history.History{}}, nil
		},
		"trouble of the harness in corpus": func(history.Run) (*Result, error) { return nil, errors.New("no memory") },
		"verdict unknown in corpus": func(run history.Run) (*Result, error) {
			return &Result{Run: run, Verdict: checker.Verdict{Status: checker.Unknown, Reason: "Cut."}, History: &history.History{}}, nil
		},
	} {
		h.Carry = func(_ context.Context, run history.Run) (*Result, error) { return carry(run) }
		tally := h.Go(t.Context())
		if len(tally.Failures) != 1 || tally.Failures[0].Scenario != at || tally.Failures[0].Seed != 7 || tally.Failures[0].Name() != "scenario "+at {
			t.Fatalf("%s: failures %+v, expected one of %s with its seed", what, tally.Failures, at)
		}
		if len(tally.Groups) > 0 && (tally.Groups[0].Scenarios[0] != at || !strings.Contains(tally.String(), "the first: scenario "+at+", seed 7")) {
			t.Errorf("groups %+v, told as\n%s", tally.Groups, tally)
		}
		p := h.Part("corpus", tally, true, 100, func(n int) Kept { return Kept{Replay: h.Again(nil, n, Descent{})} })
		if len(p.Problems) != 1 || p.Problems[0].Signature != what || !strings.HasPrefix(p.Problems[0].Reason, "scenario "+at+": ") {
			t.Fatalf("%s: problems %+v, expected one that names %s", what, p.Problems, at)
		}
		if want := Program() + " run --scenario '" + path + "' --bug ack-before-replication"; p.Problems[0].Replay != want {
			t.Errorf("%s: %s, expected %s", what, p.Problems[0].Replay, want)
		}
	}
	h.Run.Bug = ""
	if line := h.Again(nil, -1, Descent{}); !strings.HasSuffix(line, " --bug ''") {
		t.Errorf("%s, expected it to end with --bug ''", line)
	}
}

// TestACorpusRefuses files that are no scenarios, by name.
func TestACorpusRefuses(t *testing.T) {
	for text, word := range map[string]string{
		"":             "has no end",
		"walk\n----\n": `line 1: "walk", expected run`,
		"# why\nrun\n# how\nat 1s fly\n----\nx\n": "plan: fault 1, line 4: ",
		"run\n----\nx\n\nrun\n----\nx\n":          "line 5: a second scenario, expected a file for each",
		"run brokers=0\n----\n":                   "brokers: 0",
		"run\nat 1s fly\n----\nx\n":               "plan:",
		"run brokers=3\nat 1s ring\n":             "has no end",
		"run duration=2s duration=9s\n----\nx\n":  "expected duration once",
		"run world=docker\n----\nx\n":             "world=docker, expected sim",
		"run brokers=1e6\n----\nx\n":              `option "brokers=1e6", expected a whole number of at most 64 bits for brokers`,
		"run brokers=1000000\n----\nx\n":          "brokers: 1000000, expected 1 to 31",
		"run duration=5\n----\nx\n":               `option "duration=5", expected a length of time with its unit`,
		"run rate=\n----\nx\n":                    `option "rate=", expected a number for rate`,
		"run rate=NaN\n----\nx\n":                 "rate: NaN, expected 0.1 to 1000000",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "bad.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCorpus(dir); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "bad.txt") {
			t.Errorf("%q: %v, expected an error with %q and the file's name", text, err, word)
		}
	}
}

// TestACorpusIsRead whole or not at all: what is no file, such as a pipe that nobody writes to, is refused and not waited for.
func TestACorpusIsRead(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCorpus(dir); err == nil || !strings.Contains(err.Error(), "pipe.txt: p") || !strings.Contains(err.Error(), "expected a file") {
		t.Errorf("%v, expected an error that names the pipe", err)
	}
}
