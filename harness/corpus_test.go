package harness

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/checker"
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

// TestACorpusRefuses files that are no scenarios, by name.
func TestACorpusRefuses(t *testing.T) {
	for text, word := range map[string]string{
		"":                                       "has no end",
		"walk\n----\n":                           `"walk", expected run`,
		"run brokers=0\n----\n":                  "brokers: 0",
		"run\nat 1s fly\n----\nx\n":              "plan:",
		"run brokers=3\nat 1s ring\n":            "has no end",
		"run duration=2s duration=9s\n----\nx\n": "expected duration once",
		"run world=docker\n----\nx\n":            "world=docker, expected sim",
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
