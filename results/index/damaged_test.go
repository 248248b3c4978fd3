package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results"
)

// TestNoContradictionIsBelieved: a run whose files do not fit together, or are of another version, is damaged, with what does not fit, and never
// counts as valid, nor as a failure of its signature.
func TestNoContradictionIsBelieved(t *testing.T) {
	const (
		run  = `{"format":1,"seed":"7","started":"2026-11-30T02:01:02Z","acks":-1,"minInsyncReplicas":2,"replicationFactor":3}`
		lost = `{"severity":"violation","signature":"lost: election"}`
		told = `{"acks":-1,"minInsyncReplicas":2,"replicationFactor":3}`
		gone = "history.ndjson.zst: is gone or empty, expected the history that makes the run valid"
	)
	simulated := strings.Replace(run, `"acks"`, `"world":"sim","acks"`, 1)
	results := func(format, seed, version, status, findings, contract string) string {
		return `{"format":` + format + `,"seed":"` + seed + `","verdict":{"format":` + version + `,"status":"` + status + `","reason":"r","findings":[` + findings + `],"contract":` + contract + `}}`
	}
	for _, c := range []struct{ name, run, results, says string }{
		{"20261130T020102Z-7", run, results("1", "7", "1", "valid", ``, told), ""},
		{"20261130T020102Z-7-2", run, results("1", "7", "1", "invalid", lost, told), ""},
		{"a name of its own", run, results("1", "7", "1", "valid", `{"severity":"allowed"},{"severity":"info"}`, told), ""},
		{"20261130T020102Z-7", run, results("1", "7", "1", "valid", lost, told), "it is valid, and 1 of its findings is a violation, expected invalid"},
		{"20261130T020102Z-7", run, results("1", "7", "1", "unknown", lost+","+lost, told), "it is unknown, and 2 of its findings are violations"},
		{"20261130T020102Z-7", run, results("1", "7", "1", "invalid", ``, told), "it is invalid, and none of its 0 findings is a violation"},
		{"20261130T020102Z-7", run, results("1", "7", "1", "valid", `{"severity":"harmless"}`, told), `finding 1 has severity "harmless", expected violation, allowed or info`},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "valid", ``, told), `"reason"`, `"porcupine":{"outcome":"objects","windows":1},"reason"`, 1), "its second judge objects, and none of its 0 findings is a violation"},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "valid", ``, told), `"seed"`, `"truncated":"its last 30 bytes","seed"`, 1),
			`it is valid, and truncated is "its last 30 bytes", expected unknown or invalid of a history that is not whole`},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "vacuous", ``, told), `"seed"`, `"underWay":true,"seed"`, 1), "it is vacuous, and underWay is true, expected unknown or invalid"},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "unknown", ``, told), `"seed"`, `"truncated":"its end","underWay":true,"seed"`, 1), ""},
		{"20261130T020102Z-7", run, results("1", "7", "1", "valid", ``, told), gone},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "valid", ``, told), `"seed"`, `"wallSeconds":-3,"seed"`, 1), "wallSeconds is -3, expected 0 to 1e+09"},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "valid", ``, told), `"seed"`, `"wallSeconds":1e300,"seed"`, 1), "wallSeconds is 1e+300, expected 0 to 1e+09"},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "valid", ``, told), `"seed"`, `"hash":"00000000000000ff","seed"`, 1),
			`hash is "00000000000000ff" of a run in the world "", expected 16 hexadecimal digits of one in sim, and none elsewhere`},
		{"20261130T020102Z-7", simulated, strings.Replace(results("1", "7", "1", "valid", ``, told), `"seed"`, `"hash":"00000000000000ff","wallSeconds":3,"seed"`, 1), ""},
		{"20261130T020102Z-7", simulated, strings.Replace(results("1", "7", "1", "valid", ``, told), `"seed"`, `"hash":"garbage","wallSeconds":3,"seed"`, 1), `hash is "garbage"`},
		{"20261130T020102Z-7", simulated, strings.Replace(results("1", "7", "1", "vacuous", ``, told), `"seed"`, `"wallSeconds":3,"seed"`, 1), "it is vacuous and took 3 s, and its hash is empty"},
		{"20261130T020102Z-7", simulated, results("1", "7", "1", "valid", ``, told), ""}, // written anew, from the history alone
		{"20261130T020102Z-7", simulated, strings.Replace(results("1", "7", "1", "unknown", ``, told), `"seed"`, `"wallSeconds":3,"seed"`, 1), ""},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "valid", ``, told), `"reason":"r"`, `"reason":""`, 1), "its reason is empty, expected a sentence"},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "valid", ``, told), `"reason"`, `"stats":{"Sends":4,"Acked":-1,"Failed":5},"reason"`, 1), "Acked is -1, expected 0 to 1000000000000"},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "valid", ``, told), `"reason"`, `"stats":{"Sends":4,"Acked":5},"reason"`, 1), "Acked 5, Failed 0 and Unknown 0, expected Sends together, 4"},
		{"20261130T020102Z-7", run, results("1", "7", "1", "splendid", ``, told), `it is "splendid", expected valid`},
		{"20261130T020102Z-7", run, results("2", "7", "1", "valid", ``, told), "results.json: format is 2, expected 1"},
		{"20261130T020102Z-7", run, results("1", "7", "2", "valid", ``, told), "its format is 2, expected 1"},
		{"20261130T020102Z-7", strings.Replace(run, `"format":1`, `"format":2`, 1), results("1", "7", "1", "valid", ``, told), "run.json: format is 2, expected 1"},
		{"20261130T020102Z-7", run, results("1", "8", "1", "valid", ``, told), "results.json: of another run: seed is 8, expected 7 as in run.json"},
		{"20261130T020102Z-9", run, results("1", "7", "1", "valid", ``, told), "run.json: seed is 7, expected 9 as in the directory's name"},
		{"20261130T020102Z-7", run, results("1", "7", "1", "valid", ``, strings.Replace(told, "-1", "1", 1)), "of another run: its contract is that of acks=1, min.insync.replicas 2, replication factor 3"},
		{"20261130T020102Z-7", run, `{"format":1,"seed":"7","verdict":{"format":1,"status":"valid"},"more":1}`, "more"},
		{"20261130T020102Z-7", run, strings.Replace(results("1", "7", "1", "invalid", lost, told), `"reason"`, `"Status":"valid","reason"`, 1), `line 1: the key "status" a second time in one object`},
	} {
		root := t.TempDir()
		dir := filepath.Join(root, runsDir, c.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{runFile: c.run, outcomeFile: c.results} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := history.WriteJournal(filepath.Join(dir, historyFile), nil, &history.History{}); err != nil {
			t.Fatal(err)
		}
		if c.says == gone {
			if err := os.Truncate(filepath.Join(dir, historyFile), 0); err != nil {
				t.Fatal(err)
			}
		}
		x, err := Read(root, noon)
		if err != nil || len(x.Runs) != 1 {
			t.Fatalf("%v, %v, expected one run", x.Runs, err)
		}
		r := x.Runs[0]
		var page bytes.Buffer
		if err := x.WritePage(&page, "", true); err != nil {
			t.Fatal(err)
		}
		if c.says == "" {
			if r.Damaged || len(x.Damaged()) > 0 || r.Status == "" || strings.Contains(page.String(), "DAMAGED") {
				t.Errorf("%s of %s: %+v, expected it to be read", c.results, c.name, r)
			}
			continue
		}
		if !r.Damaged || r.Status != "" || r.Signature != "" || !strings.Contains(r.Reason, c.says) || !strings.Contains(page.String(), ">DAMAGED<") {
			t.Errorf("%s of %s: %+v, expected it to be damaged as %q", c.results, c.name, r, c.says)
		}
		if named := x.Damaged(); len(named) != 1 || named[0] != "runs/"+c.name+": "+r.Reason {
			t.Errorf("%q, expected the run and its reason", named)
		}
		if text, err := json.Marshal(x.Listing()); err != nil || !strings.Contains(string(text), `"damaged":true`) {
			t.Errorf("%s: %v, expected a listing that tells it", text, err)
		}
	}
}

// TestABadCampaignIsOneRow: figures that are none, or kinds of problems that there are not, make their campaign one that could not be read, and nothing
// of the others is lost; a campaign that took next to no time has no endless speed.
func TestABadCampaignIsOneRow(t *testing.T) {
	root, _ := site(t)
	quick := Campaign{Label: "quick", Started: noon, Done: true, Parts: []Part{{Name: "hunt", Status: Passed, Done: true, Runs: 1, Valid: 1, Seconds: 5e-324, World: 1e12}}}
	create(t, root, quick)
	x, err := Read(root, noon)
	if err != nil {
		t.Fatal(err)
	}
	before, unread := len(x.Campaigns), len(x.Unread)
	good, err := Encode(quick)
	if err != nil {
		t.Fatal(err)
	}
	for i, bad := range [][2]string{{`"seconds": 0,`, `"seconds": 1e999,`}, {`"seconds": 0,`, `"seconds": 1e300,`}, {`"worldSeconds": 1000000000000`, `"worldSeconds": -1`},
		{`"runs": 1`, `"runs": -7`}, {`"done": true,`, `"done": false, "done": true,`}, {`"problems": null`, `"problems": [{"kind": "\u001b[2J"}]`}} {
		text := strings.Replace(string(good), bad[0], bad[1], 1)
		if text == string(good) {
			t.Fatalf("there is no %s in %s", bad[0], good)
		}
		dir := filepath.Join(root, campaignsDir, "20261130T120000Z-quick-0-7")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, campaignFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		x, err := Read(root, noon)
		if err != nil || len(x.Campaigns) != before || len(x.Unread) != unread+1 || !strings.Contains(strings.Join(x.Unread, "\n"), "expected") {
			t.Errorf("%d, %s: %d campaigns, unread %q, %v, expected %d and one row more", i, bad[1], len(x.Campaigns), x.Unread, err, before)
		}
		if _, err := json.Marshal(x.Listing()); err != nil {
			t.Errorf("%s: %v, expected a listing all the same", bad[1], err)
		}
	}
}

// TestAHistoryOfAnotherRunIsDamage: results beside a history that says that it is another run's are not believed, and so not one that is no journal.
func TestAHistoryOfAnotherRunIsDamage(t *testing.T) {
	root, _ := site(t)
	const name = "20261129T020102Z-9"
	path := filepath.Join(root, runsDir, name, historyFile)
	look := func() Run {
		x, err := Read(root, noon)
		if err != nil {
			t.Fatal(err)
		}
		return x.Runs[slices.IndexFunc(x.Runs, func(r Run) bool { return r.Name == name })]
	}
	for _, c := range []struct {
		of   *history.Run
		says string
	}{
		{nil, ""}, {&history.Run{Format: 1, Seed: 9, World: "sim", Started: noon.Truncate(24 * time.Hour).Add(2*time.Hour + time.Minute + 2*time.Second)}, ""},
		{&history.Run{Format: 1, Seed: 8, World: "sim"}, `history.ndjson.zst: of another run: its seed is "8", expected "9" as in run.json`},
		{&history.Run{Format: 1, Seed: 9, World: "sim"}, `its started is "0001-01-01T00:00:00Z", expected "2026-11-30T02:01:02Z"`},
	} {
		_ = os.Remove(path)
		if err := history.WriteJournal(path, c.of, &history.History{Marks: []history.Mark{{Name: "end"}}}); err != nil {
			t.Fatal(err)
		}
		if r := look(); r.Damaged != (c.says != "") || !strings.Contains(r.Reason, c.says) {
			t.Errorf("%+v: %+v, expected damage %q", c.of, r, c.says)
		}
	}
	if err := os.WriteFile(path, []byte("no journal at all"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := look(); !r.Damaged || r.Status != "" {
		t.Errorf("%+v, expected damage", r)
	}
}

// TestAHistoryThatWasChangedIsDamage: results say on which history their verdict was given, so that one byte that flipped, or an end that is gone, is seen without
// reading what it tells; by a server, too, which reads no history twice that nobody wrote to. Of results of older builds only an end that is gone is.
func TestAHistoryThatWasChangedIsDamage(t *testing.T) {
	run := history.Run{Format: 1, Seed: 7, World: "docker", Started: noon.Add(-time.Hour)}
	h := &history.History{}
	for n := range 100_000 { // more than a frame
		h.Marks = append(h.Marks, history.Mark{Index: int64(n), Name: "load"})
	}
	flip := func(text []byte) []byte {
		text[len(text)/2] ^= 1
		return text
	}
	for _, c := range []struct {
		what   string
		change func(text []byte) []byte
		says   string // "" is believed
		older  string // of results that do not say which history was judged
	}{
		{"as it was judged", func(text []byte) []byte { return text }, "", ""},
		{"a byte that flipped", flip, "history.ndjson.zst: not the history that was judged: its sha256 is ", ""},
		{"its first line", func(text []byte) []byte { return text[:firstFrame(t, &run)] }, "not the history that was judged: it has ", "history.ndjson.zst: is not whole: nothing stands behind its first line, expected the history that makes the run valid"},
		{"its end gone", func(text []byte) []byte { return text[:len(text)-3] }, "not the history that was judged: it has ", "history.ndjson.zst: is not whole: cut inside frame "},
		{"something behind it", func(text []byte) []byte { return append(text, "garbage"...) }, "not the history that was judged: it has ", "history.ndjson.zst: is not whole: frame "},
		{"half of its first line", func(text []byte) []byte { return text[:9] }, "not the history that was judged: it has 9 bytes, expected ", "history.ndjson.zst: is not whole: cut inside frame 0"},
	} {
		root := t.TempDir()
		d, err := results.Create(root, run)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.WriteHistory(h); err != nil {
			t.Fatal(err)
		}
		o := results.Outcome{Run: run, Replay: "tidemark replay", Verdict: checker.Verdict{Format: 1, Checker: "tidemark-0", Status: checker.Valid, Reason: "r", Contract: checker.ContractOf(run)}}
		if err := d.Finish(o, h); err != nil {
			t.Fatal(err)
		}
		s := server(t, root)
		listed := func(says string) {
			t.Helper()
			x, err := Read(root, noon)
			if err != nil || len(x.Runs) != 1 || x.Runs[0].Damaged != (says != "") || !strings.Contains(x.Runs[0].Reason, says) {
				t.Errorf("%s: %+v, %v, expected %q", c.what, x.Runs, err, says)
			}
			if served := ask(s, http.MethodGet, "/index.json", "localhost").Body.String(); strings.Contains(served, `"damaged": true`) != (says != "") {
				t.Errorf("%s: served %s, expected %q", c.what, served, says)
			}
		}
		listed("")
		listed("")
		text, err := os.ReadFile(d.HistoryPath())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(d.HistoryPath(), c.change(text), 0o644), os.Chtimes(d.HistoryPath(), noon, noon)); err != nil {
			t.Fatal(err)
		}
		listed(c.says)
		if stored, err := d.Outcome(); err != nil || (d.Judged(stored) == nil) != (c.says == "") {
			t.Errorf("%s: %v, judged %v, expected %q", c.what, err, d.Judged(stored), c.says)
		}
		name := filepath.Join(d.Path, outcomeFile)
		if text, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
		old := regexp.MustCompile(`(?s)"history": \{[^}]*\},`).ReplaceAll(text, nil)
		if len(old) == len(text) {
			t.Fatalf("%s says nothing of its history", text)
		}
		if err := os.WriteFile(name, old, 0o644); err != nil {
			t.Fatal(err)
		}
		listed(c.older)
	}
}

// firstFrame is how many bytes of a run's journal its first line takes.
func firstFrame(t *testing.T, run *history.Run) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), historyFile)
	if err := history.WriteJournal(path, run, &history.History{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size())
}

// TestAPageOrPlanOfAnotherRunIsTold: a report that says that it is another run's is damage, as the row leads to it; a plan.txt that does not hold the run's plan is
// told beside the verdict, as anybody may edit it. Neither is asked for more than it says.
func TestAPageOrPlanOfAnotherRunIsTold(t *testing.T) {
	tag := func(of string) string {
		return `<!doctype html><meta charset="utf-8"><meta name="tidemark-run" content="` + of + `">`
	}
	const plan = "at 2s kill broker 1 for 3s\n"
	for _, c := range []struct {
		report, plan string
		damaged      bool
		says         string
	}{
		{tag("9 2026-11-30T02:01:02Z"), plan, false, ""},
		{"<!doctype html><title>of an older build</title>", "", false, "(plan.txt is not the plan that was carried out: its line 1 is missing, expected \"at 2s kill broker 1 for 3s\" as in run.json)"},
		{tag("8 2026-11-30T02:01:02Z"), plan, true, "report.html: of another run: its seed is 8, expected 9 as in run.json"},
		{tag("9 2026-11-30T02:01:03Z"), plan, true, "report.html: of another run: its started is 2026-11-30T02:01:03Z, expected 2026-11-30T02:01:02Z as in run.json"},
		{tag("9 2026-11-30T02:01:02Z"), plan + "at 9s heal\n", false, "its line 2 is \"at 9s heal\", expected missing"},
	} {
		root, _ := site(t)
		const name = "20261129T020102Z-9"
		for file, text := range map[string]string{reportFile: c.report, planFile: c.plan,
			runFile: `{"format":1,"started":"2026-11-30T02:01:02Z","seed":"9","world":"sim","plan":"at 2s kill broker 1 for 3s\n"}`} {
			if err := os.WriteFile(filepath.Join(root, runsDir, name, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		x, err := Read(root, noon)
		if err != nil {
			t.Fatal(err)
		}
		r := x.Runs[slices.IndexFunc(x.Runs, func(r Run) bool { return r.Name == name })]
		if r.Damaged != c.damaged || (r.Status == "") != c.damaged || !strings.Contains(r.Reason, c.says) || c.says == "" && strings.Contains(r.Reason, planFile) {
			t.Errorf("%q, %q: %+v, expected damage %t and %q", c.report, c.plan, r, c.damaged, c.says)
		}
	}
}

// TestAMasterIsText: one as a number is refused in words of the file, not of this program's source.
func TestAMasterIsText(t *testing.T) {
	_, err := Decode([]byte(`{"format": 1, "master": 7}`), "x", noon)
	if want := `master or a seed is not a text of digits, expected one from "0" to "18446744073709551615", in quotes, as "42"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, expected %q in it", err, want)
	}
}
