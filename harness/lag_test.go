package harness

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/history"
)

// TestALagIsSeenWhateverItsJitter puts lags on a leader's links, also such as let half of the packets overtake, or some arrive as early as without: each is observed.
func TestALagIsSeenWhateverItsJitter(t *testing.T) {
	for _, by := range []string{"10s jitter 10s reorder 0.5", "10s jitter 10s", "2s jitter 2s", "2s reorder 0.5", "10ms jitter 10ms reorder 0.5", "500ms"} {
		for seed := range 6 {
			options := strings.Fields(fmt.Sprintf("seed=%d duration=26s brokers=3 partitions=1 rate=20", seed))
			run, err := ScenarioRun(options, "at 1s lag leader(orders/0) | rest by "+by+" for 20s")
			if err != nil {
				t.Fatal(err)
			}
			res, err := Simulate(t.Context(), run, Watch{Blind: true})
			if err != nil {
				t.Fatal(err)
			}
			seen := false
			for _, e := range res.History.Faults {
				seen = seen || e.Phase == history.FaultObserved
			}
			if !seen {
				t.Errorf("seed %d: a lag of %s was not observed: %+v", seed, by, res.History.Faults)
			}
		}
	}
}
