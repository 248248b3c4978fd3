package harness

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tidemark/broker/bug"
	"tidemark/checker"
	"tidemark/history"
)

// TestBugs carries out every known bug's scenario: with the bug on it must fail as its file says, and as a class that the registry names;
// with the bug off it must be valid. -rewrite writes what came out into the files.
func TestBugs(t *testing.T) {
	scenarios(t, "testdata/bugs", func(t *testing.T, run history.Run) string {
		e, ok := bug.Find(bug.Name(run.Bug))
		if !ok {
			t.Fatalf("the bug %q, expected a known one", run.Bug)
		}
		told, err := Tell(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if !Shown(e, told) {
			t.Errorf("%sexpected %s as %v, and a valid run without the bug (tidemark bugs --renew looks for a seed that shows it)", told, checker.Invalid, e.Shows)
		}
		return told
	})
}

// scenarios carries out every scenario of a directory; tell says what came of its run.
func scenarios(t *testing.T, dir string, tell func(*testing.T, history.Run) string) {
	files, err := filepath.Glob(dir + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				return tell(t, scenario(t, d))
			})
		})
	}
}

// scenario reads the run that a scenario's file tells.
func scenario(t *testing.T, d *datadriven.TestData) history.Run {
	t.Helper()
	var options []string
	for _, arg := range d.CmdArgs {
		options = append(options, arg.Key+"="+strings.Join(arg.Vals, ","))
	}
	run, err := ScenarioRun(options, d.Input)
	if err != nil || d.Cmd != "run" {
		t.Fatalf("%s: %v, expected run", d.Cmd, err)
	}
	return run
}

// TestScenariosReadBack writes runs as scenarios and reads them back: nothing but the seed's draw of a plan may be lost.
func TestScenariosReadBack(t *testing.T) {
	for n := range 200 {
		run, err := Expand(Draw(SeedOf(5, n), Defaults(), nil), "")
		if err != nil {
			t.Fatal(err)
		}
		again, err := ScenarioRun(ScenarioOptions(run), run.Plan)
		if err != nil {
			t.Fatal(err)
		}
		if identity(again) != identity(run) || again.Seed != run.Seed {
			t.Fatalf("run %d came back as\n%+v\nexpected\n%+v", n, again, run)
		}
	}
}

// TestRenewFindsASeed takes a scenario to a seed that does not show its bug, and looks for one that does.
func TestRenewFindsASeed(t *testing.T) {
	corpus, err := ReadCorpus("testdata/bugs")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(corpus, func(c CorpusRun) bool { return c.Name == "ack-before-replication.txt" })
	run := corpus[i].Run
	again, told, err := Renew(t.Context(), run, 50, 2)
	if e, _ := bug.Find(bug.AckBeforeReplication); err != nil || !Shown(e, told) {
		t.Fatalf("%q, %v, expected the bug shown", told, err)
	}
	if fresh, _, err := Renew(t.Context(), again, 0, 1); err != nil || fresh.Seed != again.Seed {
		t.Errorf("seed %d, %v, expected %d to stay", fresh.Seed, err, again.Seed)
	}
	run.Plan = "" // no fault, no loss
	if _, _, err := Renew(t.Context(), run, 2, 1); err == nil || !strings.Contains(err.Error(), "none of 3 seeds") {
		t.Errorf("%v, expected that no seed shows it", err)
	}
}

// TestScenariosRefuse what they cannot read, with the option and what was expected.
func TestScenariosRefuse(t *testing.T) {
	for option, word := range map[string]string{
		"brokers=many": "expected a whole number of at most 64 bits for brokers", "duration=3": "expected a length of time with its unit", "acks=70000": "expected a whole number of at most 16 bits for acks",
		"plan=x": "expected one of", "tool=x": "expected one of", "=": "expected one of", "no.such.key=1": "no.such.key",
		"brokers=99": "brokers: 99, expected", "bug=fly": "unknown bug",
	} {
		if _, err := ScenarioRun([]string{option}, ""); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, expected an error with %q", option, err, word)
		}
	}
}
