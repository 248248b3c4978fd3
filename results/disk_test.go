package results

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/checker"
	"tidemark/history"
)

// TestAFullDiskLeavesWhatWasThere: wherever in writing the disk is full, the error says so and names the file, and results and page stay those of before,
// with nothing beside them. A limit on the size of files stands for the disk.
func TestAFullDiskLeavesWhatWasThere(t *testing.T) {
	o, h := invalidRun()
	d, err := Create(t.TempDir(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	begun := o
	begun.UnderWay = true
	begun.Verdict.Status, begun.Verdict.Findings, begun.Verdict.Reason = checker.Unknown, nil, "THE ONE BEFORE"
	begun.Verdict.Porcupine = checker.Second{}
	if err := d.Finish(begun, &history.History{}); err != nil {
		t.Fatal(err)
	}
	files := func() string {
		names, err := filepath.Glob(filepath.Join(d.Path, "*"))
		hidden, _ := filepath.Glob(filepath.Join(d.Path, ".*.*"))
		if err != nil || len(hidden) > 0 {
			t.Errorf("%v, %v left beside the files", err, hidden)
		}
		return fmt.Sprint(names)
	}
	before := files()
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, size := range []uint64{1, 3000, 20_000, 200_000} {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
		full := d.Finish(o, h)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		if full == nil || !strings.Contains(full.Error(), "write "+d.Path) {
			t.Fatalf("room for %d bytes: %v, expected an error that names the file", size, full)
		}
		got, err := d.Outcome()
		page, missing := os.ReadFile(d.ReportPath())
		if err != nil || missing != nil || got.Verdict.Reason != "THE ONE BEFORE" || !got.UnderWay || !strings.Contains(string(page), "THE ONE BEFORE") {
			t.Errorf("room for %d bytes: results say %q, %v; the page: %v, expected both to be those of before", size, got.Verdict.Reason, err, missing)
		}
		if after := files(); after != before {
			t.Errorf("room for %d bytes: %s, expected %s", size, after, before)
		}
	}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Outcome(); err != nil || got.UnderWay || got.Verdict.Status != checker.Invalid {
		t.Errorf("%+v, %v, expected the new ones once there is room", got.Verdict.Status, err)
	}
	// A place that cannot be taken is no reason to put results beside a page that tells another verdict.
	if err := os.Remove(d.ReportPath()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(d.ReportPath(), "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(begun, h); err == nil {
		t.Error("a page was put over a directory")
	}
	if got, err := d.Outcome(); err != nil || got.Verdict.Status != checker.Invalid {
		t.Errorf("%+v, %v, expected the results that were there", got.Verdict.Status, err)
	}
}
