package harness

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/nemesis"
)

// TestPublishedDefects reads every scenario: its plan is what the release that has the defect and those that have it no longer can do, and a
// scenario is short enough to be read at a glance.
func TestPublishedDefects(t *testing.T) {
	all, err := Defects()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range published {
		d := all[i]
		text, err := defectFiles.ReadFile("defects/" + p.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > 14 || d.Name == "KIP-101" && n > 8 {
			t.Errorf("%s has %d lines", p.file, n)
		}
		if d.Says == "" || len(d.Fixed) == 0 || d.Class == "" {
			t.Errorf("%+v, expected a head, releases without it, and a class", d)
		}
		for _, r := range d.Fixed {
			run, err := d.On(r)
			if err != nil || run.Plan != d.Run.Plan || !strings.HasSuffix(run.Target, ":"+r) {
				t.Errorf("on %s: %+v, %v", r, run, err)
			}
		}
		if plan, err := nemesis.Parse(d.Run.Plan); err != nil || len(plan.Lines) == 0 || len(Late(d.Run)) > 0 {
			t.Errorf("%s has the plan %q, %v, with lines that come too late: %v", d.Name, d.Run.Plan, err, Late(d.Run))
		}
	}
}

// TestParseDefectSaysWhatIsWrong gives scenarios that are no defect's.
func TestParseDefectSaysWhatIsWrong(t *testing.T) {
	const good = "# A loss.\nrun world=docker target=apache-kafka:0.10.2.2\nat 1s kill broker 1\n----\ninvalid: lost acknowledged write\n"
	if d, err := ParseDefect("X", good, []string{"0.11.0.3"}); err != nil || d.Says != "A loss." || d.Release != "0.10.2.2" {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"----", "", "no end"},
		{"target=apache-kafka:0.10.2.2", "", `target ""`},
		{"apache-kafka:0.10.2.2", "apache-kafka:0.9", "expected numbers"},
		{"lost acknowledged write", "a fire", "class of anomaly"},
		{"invalid: ", "valid: ", "class of anomaly"},
		{"kill broker 1", "powerfail broker 1", "cannot do powerfail"},
	} {
		if _, err := ParseDefect("X", strings.Replace(good, c.old, c.new, 1), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
	if _, err := ParseDefect("X", good, []string{"kafka"}); err == nil {
		t.Error("a control that is no release is taken")
	}
}

// past is a table that was made by runs that somebody made up: found of them fail as the defect does on its release, others as the rest says.
func past(t *testing.T, outcomes map[string][]string) (PastTable, []string) {
	t.Helper()
	d, err := ParseDefect("KIP-101", "# A loss.\nrun world=docker target=apache-kafka:0.10.2.2\nat 1s kill broker 1\n----\ninvalid: lost acknowledged write\n", []string{"0.11.0.3", "4.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	at, told := map[string]int{}, []string{}
	p := Past{
		Times: 5, Controls: 2,
		Carry: func(_ context.Context, run history.Run) (*Result, string, error) {
			_, release, _ := strings.Cut(run.Target, ":")
			n := at[release]
			at[release]++
			if run.Seed != uint64(n+1) || run.Started.IsZero() {
				t.Errorf("run %d has seed %d and starts at %v", n, run.Seed, run.Started)
			}
			v := checker.Verdict{Status: checker.Valid}
			switch what := outcomes[release][n]; what {
			case "lost":
				v = checker.Verdict{Status: checker.Invalid, Findings: []checker.Finding{{Class: checker.LostWrite, Severity: checker.Violation, Text: "a is gone."}}}
			case "stuck":
				v = checker.Verdict{Status: checker.Invalid, Findings: []checker.Finding{{Class: checker.NotSettled, Severity: checker.Violation}}}
			case "error":
				return nil, "", errors.New("no engine answers")
			}
			return &Result{Run: run, Verdict: v}, "replay " + release, nil
		},
		Each: func(_ Defect, release string, n, of int, what string) { told = append(told, release+": "+what) },
	}
	row, err := p.Try(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	row.Has.Seconds = 0
	for i := range row.Fixed {
		row.Fixed[i].Seconds = 0
	}
	return PastTable{Rows: []PastRow{row}}, told
}

// TestTheTableOfThePast tells a defect that is shown in four of five runs, and writes it as text, Markdown and JSON.
func TestTheTableOfThePast(t *testing.T) {
	table, told := past(t, map[string][]string{
		"0.10.2.2": {"stuck", "lost", "lost", "lost", "lost"}, "0.11.0.3": {"valid", "stuck"}, "4.1.0": {"valid", "valid"},
	})
	row := table.Rows[0]
	want := `KIP-101, lost acknowledged write: shown
  found in 0.10.2.2: 4 of 5 (1 invalid: not settled)
  fixed in 0.11.0.3: 0 of 2 (1 invalid: not settled, 1 valid); 4.1.0: 0 of 2 (2 valid)
`
	if row.String() != want || !row.Shown() || table.Summary() != "1 of 1 defects shown" || row.Has.Again != "replay 0.10.2.2" {
		t.Errorf("%s%s %+v", row, table.Summary(), row.Has)
	}
	if len(told) != 9 || told[0] != "0.10.2.2: invalid: not settled" || told[8] != "4.1.0: valid" {
		t.Errorf("told %q", told)
	}
	page := table.Markdown()
	for _, part := range []string{
		"| KIP-101 | lost acknowledged write | 0.10.2.2: 4 of 5 (1 invalid: not settled) | 0.11.0.3: 0 of 2 (1 invalid: not settled, 1 valid); 4.1.0: 0 of 2 (2 valid) |\n",
		"## KIP-101\n\nA loss.\n\n    at 1s  kill broker 1\n", "On 0.10.2.2: a is gone.",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("%q is missing of\n%s", part, page)
		}
	}
	text, err := json.Marshal(table)
	var back PastTable
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || back.Rows[0].String() != want {
		t.Errorf("%v: %s", err, text)
	}
}

// TestRowsAreKept puts rows into a table one by one, as single defects are carried out anew: in the order in which they were published, and the newer
// in the place of the older.
func TestRowsAreKept(t *testing.T) {
	order := []Defect{{Name: "first"}, {Name: "second"}, {Name: "third"}}
	var table PastTable
	for _, row := range []PastRow{{Defect: "third"}, {Defect: "first", Says: "old"}, {Defect: "second"}, {Defect: "first", Says: "new"}} {
		table.Put(row, order)
	}
	var got []string
	for _, r := range table.Rows {
		got = append(got, strings.TrimSpace(r.Defect+" "+r.Says))
	}
	if want := []string{"first new", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("%q, expected %q", got, want)
	}
}

// TestWhatIsNotShown tells of defects that were found too seldom, not at all, or also where they were fixed; a run that comes to no verdict counts
// as one that did not show it.
func TestWhatIsNotShown(t *testing.T) {
	lost, none := []string{"lost", "lost", "lost", "lost", "lost"}, []string{"valid", "valid"}
	for name, outcomes := range map[string]map[string][]string{
		"three of five":          {"0.10.2.2": {"lost", "lost", "lost", "valid", "stuck"}, "0.11.0.3": none, "4.1.0": none},
		"two without a verdict":  {"0.10.2.2": {"lost", "lost", "lost", "error", "error"}, "0.11.0.3": none, "4.1.0": none},
		"also where it is fixed": {"0.10.2.2": lost, "0.11.0.3": {"valid", "lost"}, "4.1.0": none},
		"no control":             {"0.10.2.2": lost, "0.11.0.3": none, "4.1.0": {"error", "error"}},
	} {
		if table, _ := past(t, outcomes); table.Rows[0].Shown() || !strings.Contains(table.Rows[0].String(), "NOT SHOWN") {
			t.Errorf("%s: %s", name, table.Rows[0])
		}
	}
}

// TestAnInterruptedPast ends when the context does, with what there is.
func TestAnInterruptedPast(t *testing.T) {
	all, err := Defects()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(d Defect) bool { return d.Name == "KIP-101" })
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	p := Past{Times: 5, Controls: 1, Carry: func(context.Context, history.Run) (*Result, string, error) {
		if runs++; runs == 2 {
			cancel()
		}
		return &Result{}, "", ctx.Err()
	}}
	if row, err := p.Try(ctx, all[i]); !errors.Is(err, context.Canceled) || row.Has.Runs != 1 || runs != 2 {
		t.Errorf("%v after %d runs: %+v", err, runs, row)
	}
}
