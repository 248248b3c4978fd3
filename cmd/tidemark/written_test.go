package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWrittenSparesWhatStandsThere: a device stays one and says itself that it is full, a pipe that nobody reads is refused at once, a link stays a link, and what
// lies in a run's directory is written by the run alone, however it is named.
func TestWrittenSparesWhatStandsThere(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	lay := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lay(filepath.Join(run, "run.json"), "{}")
	lay(filepath.Join(run, "history.ndjson.zst"), "precious")
	lay(filepath.Join(run, "inner", "a"), "precious")
	lay(filepath.Join(dir, "old.txt"), "before")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		syscall.Mkfifo(at("pipe"), 0o644),
		os.Symlink(at("old.txt"), at("link")),
		os.Symlink("run/history.ndjson.zst", at("into")),
		os.Symlink("run/new", at("dangling")),
		os.Symlink("run", at("linked")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		at("pipe"):                               "prw-r--r--, expected a file",
		filepath.Join(run, "history.ndjson.zst"): "in the directory of a run",
		filepath.Join(run, "new"):                "in the directory of a run",
		filepath.Join(run, "inner", "a"):         "in the directory of a run",
		at("into"):                               "in the directory of a run",
		at("dangling"):                           "in the directory of a run",
		filepath.Join(at("linked"), "new"):       "in the directory of a run",
		filepath.Join(run, "inner", "..", "..", "run", "results"): "in the directory of a run",
		run:       "is a directory",
		at("new"): "", at("link"): "", at("old.txt"): "", os.DevNull: "",
	} {
		for _, line := range [][]string{
			{"export", run, "-o", path}, {"export", run, "--format", "zip", "-o", path}, {"shrink", run, "--as-scenario", path},
			{"bugs", "--markdown", path}, {"history", "--table", path}, {"history", "--markdown", path},
		} {
			c, args, err := rootCommand().Find(line)
			if err == nil {
				err = c.ParseFlags(args)
			}
			if err != nil {
				t.Fatal(line, err)
			}
			err = checkWritten(c, nil)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q: %v, expected %q", line, err, want)
			}
		}
	}
	for _, path := range []string{at("link"), at("new"), os.DevNull} {
		if err := putText(path, []byte("after")); err != nil {
			t.Error(err)
		}
	}
	if err := putText("/dev/full", []byte("after")); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v, expected that /dev/full is full", err)
	}
	for path, want := range map[string]string{at("link"): "Lrwxrwxrwx", at("old.txt"): "-rw-------", at("new"): "-rw-r--r--", os.DevNull: "Dcrw-rw-rw-", "/dev/full": "Dcrw-rw-rw-"} {
		if info, err := os.Lstat(path); err != nil || info.Mode().String() != want {
			t.Errorf("%s is %v, %v, expected %s", path, info.Mode(), err, want)
		}
	}
	for name, want := range map[string]string{"old.txt": "after", "new": "after", "run/history.ndjson.zst": "precious", "run/inner/a": "precious"} {
		if text, err := os.ReadFile(at(name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v, expected %q", name, text, err, want)
		}
	}
}
