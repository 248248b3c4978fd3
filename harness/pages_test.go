package harness

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"tidemark/broker/bug"
	"tidemark/results"
	"tidemark/results/browser"
)

// TestPagesOfKnownBugs reads the pages of runs of known bugs, of each kind of finding one, as a reviewer does.
func TestPagesOfKnownBugs(t *testing.T) {
	tab := browser.Open(t, "dark")
	for _, name := range []string{
		"ack-before-replication", "truncate-to-hw", "unclean-election", "follower-reads-past-hw", "sequence-overflow", "retention-past-hw", "short-write-ignored",
		"topic-id-ignored", "full-truncation-leaves-hw", "zombie-controller",
	} {
		path := "testdata/bugs/" + name + ".txt"
		t.Run(name, func(t *testing.T) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				run := scenario(t, d)
				e, _ := bug.Find(bug.Name(run.Bug))
				res, err := Simulate(t.Context(), run, Watch{Blind: e.Visible})
				if err != nil {
					t.Fatal(err)
				}
				dir, err := results.Create(t.TempDir(), run)
				if err != nil {
					t.Fatal(err)
				}
				if err := Save(dir, res); err != nil {
					t.Fatal(err)
				}
				tab.Tour(t, dir.ReportPath(), "Invalid: "+firstClass(res.Verdict))
				return d.Expected
			})
		})
	}
}
