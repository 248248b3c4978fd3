package harness

import (
	"testing"

	"tidemark/checker"
	"tidemark/history"
)

// handover lets the ISR shrink to a leader and one follower, takes that one's unsynced data, and then shuts the leader down, which hands
// the partition over to the follower before its session is over. Classic elections know no better.
const handover = `
	at 3s    pause follower(orders/0)     for 20s
	at 7s    powerfail follower(orders/0) for 4s
	at 7.5s  stop leader(orders/0)        for 10s`

// TestClassicHandover: beyond the fault budget the handover loses acknowledged writes, so inside it one of the three must not be done.
func TestClassicHandover(t *testing.T) {
	lost := 0
	for seed := range uint64(3) {
		for _, beyond := range []bool{false, true} {
			run := Defaults()
			run.Seed, run.ELR, run.Beyond = seed, false, beyond
			run, err := Expand(run, handover)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Simulate(t.Context(), run, Watch{})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			refused := 0
			for _, e := range res.History.Faults {
				if e.Phase == history.FaultRefused {
					refused++
				}
			}
			switch {
			case beyond && res.Shows(checker.LostWrite):
				lost++
			case !beyond && (refused == 0 || res.Verdict.Status != checker.Valid):
				t.Errorf("seed %d, inside the budget: %d faults refused, expected some and no more\n%s", seed, refused, Summary(res.Verdict))
			}
		}
	}
	if lost == 0 {
		t.Error("no seed lost a write beyond the budget, so the plan proves nothing")
	}
}
