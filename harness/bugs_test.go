package harness

import (
	"strings"
	"testing"
	"time"

	"tidemark/broker/bug"
	"tidemark/checker"
)

// TestTheProofTellsWhatItFound looks for one bug with one and with two workers: the same run shows it, as the class that it shows as.
func TestTheProofTellsWhatItFound(t *testing.T) {
	e, _ := bug.Find(bug.AckBeforeReplication)
	var rows []BugRow
	for workers := 1; workers <= 2; workers++ {
		p := Proof{Base: Defaults(), Master: 1, Budget: time.Minute, Seeds: 100, Workers: workers}
		row, err := p.Search(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if row.Status != BugFound || row.Differed == 0 || row.Decisions == 0 || row.Runs == 0 {
			t.Fatalf("with %d workers: %+v, expected the bug found", workers, row)
		}
		rows = append(rows, row)
	}
	if a, b := rows[0], rows[1]; a.Number != b.Number || a.Seed != b.Seed || a.Signature != b.Signature {
		t.Errorf("one worker found run %d (%s), two found run %d (%s)", a.Number, a.Signature, b.Number, b.Signature)
	}
}

// TestAWrongClassIsNoProof asks for another class than the one that the bug shows as: the search goes on, and counts those that it sees.
func TestAWrongClassIsNoProof(t *testing.T) {
	e, _ := bug.Find(bug.AckBeforeReplication)
	e.Shows = []string{"phantom"}
	p := Proof{Base: Defaults(), Master: 1, Budget: time.Minute, Seeds: 12, Workers: 1, Shrinking: time.Minute}
	row, err := p.Search(t.Context(), e)
	if err != nil || row.Status != BugOtherClass || row.Shrunk != nil || row.Runs != 12 || row.Others[checker.LostWrite] == 0 {
		t.Fatalf("%+v, %v, expected %s, and nothing shrunk", row, err, BugOtherClass)
	}
	if words := row.Outcome(); !strings.Contains(words, "WRONG CLASS, expected phantom") {
		t.Errorf("%q does not tell that the class is wrong", words)
	}
}

// TestWhatIsNotThereIsNotFound searches a correct broker.
func TestWhatIsNotThereIsNotFound(t *testing.T) {
	p := Proof{Base: Defaults(), Master: 1, Budget: time.Minute, Seeds: 2, Workers: 1}
	row, err := p.Search(t.Context(), bug.Entry{Name: bug.None, Shows: []string{"phantom"}, Visible: true})
	if err != nil || row.Status != BugMissed || row.Runs != 2 || row.Differed != 0 || row.Decisions != 0 {
		t.Fatalf("%+v, %v, expected nothing found in 2 runs, and no decision that differed", row, err)
	}
	tally := p.Tally([]BugRow{row, {Status: BugFound, Seconds: 3}, {Status: BugFound, Seconds: 1}, {Status: BugFound, Seconds: 2}})
	if tally.Found != 3 || tally.Median != 2 || tally.Worst != 3 {
		t.Errorf("%d found, median %v, worst %v, expected 3, 2, 3", tally.Found, tally.Median, tally.Worst)
	}
	if text := tally.Markdown(); !strings.Contains(text, "NOT FOUND, expected phantom") {
		t.Errorf("the document does not tell what was not found:\n%s", text)
	}
}

// TestWhatACorrectBrokerDoesTooIsNoProof gives a broker that was killed less time to settle than its old session lasts: that it has not is no bug's doing.
func TestWhatACorrectBrokerDoesTooIsNoProof(t *testing.T) {
	e, _ := bug.Find(bug.ProducerIDsReissued)
	e.Shows = []string{"not settled"}
	base := Defaults()
	base.Settle, base.Duration, base.Plan = time.Second, 10*time.Second, "at 8s kill broker 2"
	base.Config = map[string]string{"broker.session.timeout.ms": "9000"}
	kept := func(option string) bool { return option == "duration" || option == "broker.session.timeout.ms" }
	p := Proof{Base: base, Kept: kept, Master: 1, Budget: time.Minute, Seeds: 3, Workers: 1}
	row, err := p.Search(t.Context(), e)
	if err != nil || row.Status != BugAnyway || !strings.Contains(row.Outcome(), "ALSO WITH NO BUG ON") {
		t.Fatalf("%+v, %v, expected %s", row, err, BugAnyway)
	}
}
