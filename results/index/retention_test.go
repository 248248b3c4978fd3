package index

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// day is a run of so many days ago: NAME, with f behind it if it failed and its signature behind that.
func days(t *testing.T, told string) (out []Kept) {
	t.Helper()
	for word := range strings.FieldsSeq(told) {
		var name, signature string
		var ago int
		failed := false
		if n, err := fmt.Sscanf(word, "%1s%d", &name, &ago); n != 2 {
			t.Fatalf("%q: %v, expected a letter and a number", word, err)
		}
		if _, signature, failed = strings.Cut(word, ":"); !failed {
			signature = ""
		}
		out = append(out, Kept{Name: word, Started: noon.AddDate(0, 0, -ago), Bytes: 10, Failing: failed, Signature: signature, Busy: name == "b"})
	}
	return out
}

func TestRetention(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name, runs string
		retention  Retention
		want       string
	}{
		{"nothing is bounded", "a1 a100 f200:x", Retention{}, ""},
		{"failing runs stay four times as long", "a9 a10 a11 f11:x f39:y f41:z", Retention{Age: 10 * day}, "a11 f41:z"},
		{"by count: those that passed go first, the oldest first", "a1 a2 a3 f4:x f5:y", Retention{Count: 3}, "a3 a2"},
		{"then failing ones of which there is a newer one", "a1 f2:x f3:x f4:y", Retention{Count: 2}, "a1 f3:x"},
		{"then the newest of each signature", "f2:x f4:y", Retention{Count: 1}, "f4:y"},
		{"by bytes", "a1 a2 f3:x", Retention{Bytes: 20}, "a2"},
		{"what is gone by age counts no more", "a20 a1 a2", Retention{Age: 10 * day, Count: 2}, "a20"},
		{"a run that may be under way stays", "b1 a2", Retention{Count: 1}, "a2"},
		{"an unknown failure has no sibling", "f1: f2: a3", Retention{Count: 1}, "a3 f2:"},
	} {
		if got := strings.Join(c.retention.Removed(days(t, c.runs), noon), " "); got != c.want {
			t.Errorf("%s: %s goes of %s, expected %s", c.name, got, c.runs, c.want)
		}
	}
}

// TestRetentionHolds draws runs and bounds: afterwards the bounds hold, no failing run went before one that passed unless it was too old, and
// nothing went in vain.
func TestRetentionHolds(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		var runs []Kept
		for i := range draw.IntN(20) {
			runs = append(runs, Kept{Name: fmt.Sprint(i), Started: noon.Add(-time.Duration(draw.IntN(1000)) * time.Hour), Bytes: int64(draw.IntN(100)),
				Failing: draw.IntN(2) == 0, Signature: []string{"", "x", "y"}[draw.IntN(3)]})
		}
		r := Retention{Age: time.Duration(draw.IntN(300)) * time.Hour, Count: draw.IntN(20), Bytes: int64(draw.IntN(1000))}
		removed := r.Removed(runs, noon)
		bytes, left, passing := int64(0), 0, 0
		for _, k := range runs {
			if slices.Contains(removed, k.Name) {
				continue
			}
			left++
			bytes += k.Bytes
			if !k.Failing {
				passing++
			}
			if r.tooOld(k, noon) {
				t.Fatalf("%+v: %+v is too old and stays", r, k)
			}
		}
		if r.Count > 0 && left > r.Count || r.Bytes > 0 && bytes > r.Bytes {
			t.Fatalf("%+v: %d runs of %d bytes stay", r, left, bytes)
		}
		for _, k := range runs {
			if slices.Contains(removed, k.Name) && k.Failing && passing > 0 && !r.tooOld(k, noon) {
				t.Fatalf("%+v: %+v went while %d that passed stay", r, k, passing)
			}
		}
	}
	for _, r := range []Retention{{Age: -1}, {Count: -1}, {Bytes: -1}} {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%+v: %v, expected a refusal", r, err)
		}
	}
}

// TestPruneLeavesWhatIsNotItsOwn: a directory that is no run, and a run whose results say by their field that it is under way, stay whatever the bounds, and whatever
// words stand there; an old run goes, also beside a pipe that nobody writes to.
func TestPruneLeavesWhatIsNotItsOwn(t *testing.T) {
	out := t.TempDir()
	lay := func(name string, files map[string]string) {
		dir := filepath.Join(out, "runs", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(ago time.Duration) string {
		return fmt.Sprintf(`{"format": 1, "seed": "1", "started": %q}`, noon.Add(-ago).Format(time.RFC3339))
	}
	lay("notes", map[string]string{"a": "precious"})
	lay("20200101T000000Z-5", map[string]string{"a": "precious"})
	lay("begun", map[string]string{
		"run.json":     run(time.Hour),
		"results.json": `{"format": 1, "seed": "1", "underWay": true, "verdict": {"format": 1, "status": "unknown", "reason": "whatever it says"}}`,
	})
	lay("ended", map[string]string{
		"run.json":     run(time.Hour),
		"results.json": `{"format": 1, "seed": "1", "verdict": {"format": 1, "status": "unknown", "reason": "The run did not come to its end: no verdict was written; it is under way, or its harness was killed."}}`,
	})
	lay("over", map[string]string{"run.json": run(time.Hour), "results.json": `{"format": 1, "seed": "1", "verdict": {"format": 1, "status": "valid"}}`})
	lay("pipe", map[string]string{"run.json": run(13 * time.Hour)})
	if err := syscall.Mkfifo(filepath.Join(out, "runs", "pipe", "results.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	removed, err := Prune(out, Retention{Age: 14 * time.Minute}, noon, false)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(removed)
	if want := []string{"ended", "over", "pipe"}; !slices.Equal(removed, want) {
		t.Errorf("removed %q, expected %q", removed, want)
	}
	for _, name := range []string{"notes/a", "20200101T000000Z-5/a", "begun/run.json"} {
		if _, err := os.Stat(filepath.Join(out, "runs", name)); err != nil {
			t.Error(err)
		}
	}
}
