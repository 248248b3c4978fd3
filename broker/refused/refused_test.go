package refused

import (
	"testing"

	"tidemark/broker/kafka"
)

// TestALogHandsOutWhatItTook notes more than it has room for: what was taken is handed out once, and nobody's log takes nothing.
func TestALogHandsOutWhatItTook(t *testing.T) {
	var nobody *Log
	nobody.Note(FencedFetch, Raised, About{})
	if nobody.Watched() || nobody.Take() != nil {
		t.Error("a nil log is watched, expected that it takes nothing")
	}
	l := &Log{}
	about := About{Brokers: []kafka.BrokerID{2, 1}, End: 7}
	for range noteMax + 1 {
		l.Note(FencedFetch, Raised, about)
	}
	if taken := l.Take(); len(taken) != noteMax || taken[0].Rule != FencedFetch || taken[0].Effect != Raised || taken[0].End != 7 {
		t.Errorf("%d were taken, the first %v, expected %d of a fenced fetch up to 7", len(taken), taken[0], noteMax)
	}
	if again := l.Take(); len(again) != 0 {
		t.Errorf("%v was handed out again, expected nothing", again)
	}
}

// TestEffectsHaveNames tells which effects are grave, and that each has a name of its own.
func TestEffectsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for e := Nothing; e <= Elected; e++ {
		if seen[e.String()] || e.String() == "unknown" {
			t.Errorf("effect %d is called %q, expected a name of its own", e, e)
		}
		seen[e.String()] = true
		if e.Grave() != (e > Appended) {
			t.Errorf("%v: grave %v, expected it of what changes a log's past, the high watermark, the ISR or the leader", e, e.Grave())
		}
	}
	if e := Elected + 1; e.String() != "unknown" {
		t.Errorf("effect %d is called %q, expected unknown", e, e)
	}
}
