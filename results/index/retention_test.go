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

// days are runs of so many days ago: a letter, b of one that may be under way, k of one that was killed, and the days, with the signature behind a colon if
// it failed.
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
		out = append(out, Kept{Name: word, Started: noon.AddDate(0, 0, -ago), Bytes: 10, Failing: failed, Signature: signature, Busy: name == "b", Killed: name == "k"})
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
		{"a run that may be under way stays", "b1 a2 a3", Retention{Bytes: 20}, "a3"},
		{"and does not count", "b1 a2 a3", Retention{Count: 1}, "a3"},
		{"nor does anything go for it", "b1 b2 a3", Retention{Count: 1}, ""},
		{"one that was killed goes before all others", "a4 k1 k2 f5:x", Retention{Count: 2}, "k2 k1"},
		{"and when it is too old", "k11 k9", Retention{Age: 10 * day}, "k11"},
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

// TestPruneLeavesWhatIsNotItsOwn: whatever the bounds, a directory goes only if it is a run of this program, under its own name, with nothing of anybody
// else's in it, and not under way by the field that says so. All else stays, to the last file, and is told of with the reason.
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
	run := func(at time.Time) string {
		return fmt.Sprintf(`{"format": 1, "seed": "42", "started": %q}`, at.Format(time.RFC3339))
	}
	results := func(more string) string {
		return fmt.Sprintf(`{"format": 1, "seed": "42", %s "verdict": {"format": 1, "status": "unknown", "reason": "The run did not come to its end: it is under way."}}`, more)
	}
	const old, begun, odd = "20251130T120000Z-42", "20261130T110000Z-42", "20251130T120000Z-43"
	long, hour := run(noon.AddDate(-1, 0, 0)), run(noon.Add(-time.Hour))
	lay(begun, map[string]string{"run.json": hour, "results.json": results(`"underWay": true,`)})
	lay(begun+"-2", map[string]string{"run.json": hour, "results.json": results("")})
	lay(old, map[string]string{"run.json": long, "plan.txt": "", ".results.json.123": "{", "shrink.json": "{}", "broker-1.log": "x", "trace.hashes": ""})
	lay(old+"-2", map[string]string{"run.json": long})
	lay("20261129T120000Z-42", map[string]string{"run.json": run(noon.AddDate(0, 0, -1)), "results.json": results(`"underWay": true,`)}) // killed
	kept := map[string]string{
		"notes": "run.json", "my-experiment": "format", "of-another-tool": "unknown field", "of-more": "unknown field", "backup-of-42": "named " + old, old + ".bak": "named " + old,
		old + "-1": "named " + old, old + "-02": "named " + old, old + "-copy": "named " + old, odd: "named " + old, odd + "-2": "behind",
		old + "-3": `"thesis.tex"`, old + "-4": `"inner"`, old + "-5": `"broker-1.log"`, old + "-6": `"results.json"`, old + "-7": `"history.edn"`, "link": "symbolic link",
	}
	for name := range kept {
		if name != "link" {
			lay(name, map[string]string{"run.json": long})
		}
	}
	lay("notes", map[string]string{"a": "precious"})
	if err := os.Remove(filepath.Join(out, "runs", "notes", "run.json")); err != nil {
		t.Fatal(err)
	}
	lay("my-experiment", map[string]string{"run.json": `{"format":1}`, "results.json": `{"format":1}`, "thesis.tex": "precious"})
	kept["my-experiment"] = "named"
	lay("of-another-tool", map[string]string{"run.json": `{"format":1,"other":"tool"}`})
	lay("of-more", map[string]string{"run.json": `{"format":1,"x":1}`})
	lay(odd+"-2", map[string]string{"run.json": long + "more behind it"})
	kept[odd+"-2"] = "expected the end of the file"
	lay(old+"-3", map[string]string{"thesis.tex": "precious"})
	lay(old+"-4/inner", map[string]string{"a": "precious"})
	lay(old+"-7", map[string]string{"history.edn": "precious"})
	for _, err := range []error{
		os.Symlink(filepath.Join(out, "runs", "notes", "a"), filepath.Join(out, "runs", old+"-5", "broker-1.log")),
		syscall.Mkfifo(filepath.Join(out, "runs", old+"-6", "results.json"), 0o644),
		os.Symlink(filepath.Join(out, "runs", old), filepath.Join(out, "runs", "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var stood []string
	walk := func() (files []string) {
		err := filepath.WalkDir(filepath.Join(out, "runs"), func(path string, d os.DirEntry, err error) error {
			files = append(files, path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	goes := []string{old, old + "-2", "20261129T120000Z-42", begun + "-2"}
	for _, path := range walk() {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, filepath.Join(out, "runs")+"/"), "/")
		if !slices.Contains(goes, name) {
			stood = append(stood, path)
		}
	}
	for _, r := range []Retention{{Age: 14 * time.Minute}, {Count: 1, Bytes: 1}} {
		for _, dry := range []bool{true, false} {
			p, err := Prune(out, r, noon, dry)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(p.Removed)
			if r.Age != 0 && !slices.Equal(p.Removed, goes) || r.Age == 0 && len(p.Removed) != 0 {
				t.Errorf("removed %q, expected %q once", p.Removed, goes)
			}
			for name, why := range kept {
				if !slices.ContainsFunc(p.Kept, func(told string) bool { return strings.HasPrefix(told, name+": ") && strings.Contains(told, why) }) {
					t.Errorf("expected of %s that it stays, with %q, among\n%s", name, why, strings.Join(p.Kept, "\n"))
				}
			}
			if len(p.Kept) != len(kept) {
				t.Errorf("%d are told to stay, expected %d:\n%s", len(p.Kept), len(kept), strings.Join(p.Kept, "\n"))
			}
		}
		if is := walk(); !slices.Equal(is, stood) {
			t.Errorf("there are\n%s\nexpected\n%s", strings.Join(is, "\n"), strings.Join(stood, "\n"))
		}
	}
}
