package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/results/index"
)

// onFull carries out a command line whose standard output is a full disk.
func onFull(t *testing.T, args ...string) (log string, code int) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close() //nolint:errcheck // nothing of it is kept
	var told strings.Builder
	code = execute(context.Background(), args, full, &told)
	return told.String(), code
}

// TestNoResultIsLostInSilence: whichever command cannot write its results says so once, and does not end as if all were well. A violation stays one.
func TestNoResultIsLostInSilence(t *testing.T) {
	const says = "tidemark: standard output: no space left on device\n"
	out := t.TempDir()
	if text, code := said(t, "run", "--seed", "2", "--duration", "3s", "--out", out); code == exitUsage || code == exitHarness {
		t.Fatal(text)
	}
	found, err := filepath.Glob(filepath.Join(out, "runs", "*-2"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	for _, args := range [][]string{
		{"check", found[0]}, {"check", "--outcomes", found[0]}, {"check", "--json", found[0]}, {"replay", found[0]}, {"replay", "--trace", found[0]},
		{"export", found[0]}, {"export", "--format", "zip", found[0]},
		{"run", "--seed", "3", "--duration", "3s", "--out", out}, {"hunt", "--max-seeds", "1", "--master", "5", "--duration", "3s", "--out", out},
		{"hunt", "--json", "--max-seeds", "1", "--master", "5", "--duration", "3s", "--out", out},
		{"index", out}, {"prune", "--dry", out}, {"bugs", "--list"}, {"broker", "--print"},
		{"help", "anomalies"}, {"--help"}, {"run", "--help"}, {"--version"}, {"completion", "bash"}, {"__complete", "run", "--"},
	} {
		if log, code := onFull(t, args...); code != exitHarness || strings.Count(log, says) != 1 || strings.Count(log, "no space left") != 1 {
			t.Errorf("%v: exit code %d, expected %d and once %q:\n%s", args, code, exitHarness, says, log)
		}
	}
	if log, code := onFull(t, "hunt", "--bug", "ack-before-replication", "--max-seeds", "4", "--until-first", "--master", "14416206716863299105", "--duration", "10s",
		"--out", out); code != exitViolation || strings.Count(log, says) != 1 {
		t.Errorf("a hunt that found a violation: exit code %d, expected %d and once %q:\n%s", code, exitViolation, says, log)
	}
	if log, code := onFull(t, "check", filepath.Join(out, "none")); code != exitUsage || strings.Contains(log, says) {
		t.Errorf("a command that had no result to write: exit code %d, expected %d and nothing of standard output:\n%s", code, exitUsage, log)
	}
}

// gone is a pipe whose reader went away.
type gone struct{}

func (gone) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

// TestAReaderMayGo: head has read what it wanted.
func TestAReaderMayGo(t *testing.T) {
	var log strings.Builder
	if code := execute(context.Background(), []string{"bugs", "--list"}, gone{}, &log); code != exitValid || log.Len() > 0 {
		t.Errorf("exit code %d and %q, expected %d and nothing", code, log.String(), exitValid)
	}
}

// TestNoCampaignIsToldThatIsNotThere: one that could not be written is pointed to by nobody, says nothing of what is new, and leaves no directory.
func TestNoCampaignIsToldThatIsNotThere(t *testing.T) {
	out, now := t.TempDir(), time.Now()
	refused := index.Campaign{Label: "hunt", Started: now, Processors: -1}
	told, err := keepCampaign(out, io.Discard, refused, now, false)
	if err == nil || !reflect.ValueOf(told).IsZero() {
		t.Errorf("%+v, %v, expected an error and nothing else", told, err)
	}
	if left, err := os.ReadDir(filepath.Join(out, "campaigns")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v, expected no directory of a campaign", left, err)
	}
}
