package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/broker/bug"
)

// TestSeveralSearchesTellTheirSpread looks for one bug from three master seeds, and for what is not there: what was missed is told with its seed.
func TestSeveralSearchesTellTheirSpread(t *testing.T) {
	p := Proof{Base: Defaults(), Master: 1, Budget: time.Minute, Seeds: 100, Workers: 2, Shrinking: time.Minute}
	e, _ := bug.Find(bug.AckBeforeReplication)
	s, err := p.Repeat(t.Context(), e, 3)
	if err != nil || s.Searches != 3 || s.Found != 3 || len(s.Seconds) != 3 || !slices.IsSorted(s.Seconds) || !slices.IsSorted(s.Runs) || s.Runs[0] < 1 || len(s.Missed) != 0 {
		t.Errorf("%+v, %v, expected the bug found three times", s, err)
	}
	p.Seeds = 2
	s, err = p.Repeat(t.Context(), bug.Entry{Name: bug.None, Shows: []string{"phantom"}, Visible: true}, 2)
	if err != nil || s.Found != 0 || len(s.Missed) != 2 || !strings.Contains(s.Missed[0], "master seed 1: NOT FOUND, expected phantom") {
		t.Errorf("%+v, %v, expected nothing found twice", s, err)
	}
	if m := Masters(7, 3); m[0] != 7 || m[1] == m[2] || !slices.Equal(m, Masters(7, 3)) {
		t.Errorf("master seeds %v, expected 7 and two others, the same each time", m)
	}
}

// TestWhatIsLeftReplaysAlike shrinks the run that showed a bug: what is left is carried out again, and fails alike.
func TestWhatIsLeftReplaysAlike(t *testing.T) {
	e, _ := bug.Find(bug.AckBeforeReplication)
	row, err := Proof{Base: Defaults(), Master: 1, Budget: time.Minute, Seeds: 100, Workers: 2, Shrinking: time.Second}.Search(t.Context(), e)
	if err != nil || row.Shrunk == nil || row.Shrunk.Replays != shrunkReplays || row.Shrunk.Alike != shrunkReplays {
		t.Fatalf("%+v, %v, expected %d replays, all alike", row.Shrunk, err, shrunkReplays)
	}
	if text := (Proof{}).Tally([]BugRow{row}).Summary(); !strings.Contains(text, "replayed 3 times, 3 to the same signature") {
		t.Errorf("the summary tells nothing of them: %s", text)
	}
}
