package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNoPipeInARunIsWaitedFor: whichever file of a run's directory is a pipe that nobody writes to, every command that reads the directory comes to its end, and
// says which file is none.
func TestNoPipeInARunIsWaitedFor(t *testing.T) {
	out := t.TempDir()
	if text, code := said(t, "run", "--seed", "2", "--duration", "3s", "--out", out); code == exitUsage || code == exitHarness {
		t.Fatal(text)
	}
	found, err := filepath.Glob(filepath.Join(out, "runs", "*-2"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	for _, c := range []struct {
		file  string
		lines []string // what is said in what reads the file, "" where it is not needed
	}{
		{"run.json", []string{"check", "export", "replay", "shrink"}},
		{"history.ndjson.zst", []string{"check", "export"}},
		{"results.json", []string{"check", "replay"}},
		{"trace.hashes", []string{"replay"}},
		{"shrink.json", nil},
		{"plan.txt", []string{"check", "replay"}},
		{"report.html", []string{"check", "replay"}},
		{"broker-1.log", nil},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(dir, os.DirFS(found[0])); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.file)
		_ = os.Remove(path) // shrink.json is not there
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"check", "export", "replay", "shrink"} {
			text, _ := said(t, command, dir)
			says := strings.Contains(text, path+" is p---------, expected a file")
			for _, needs := range c.lines {
				if needs == command && !says {
					t.Errorf("%s of a run whose %s is a pipe says %q, expected that it is no file", command, c.file, text)
				}
			}
		}
	}
}
