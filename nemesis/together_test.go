package nemesis

import (
	"slices"
	"testing"

	"tidemark/history"
)

// quorate is a cluster whose brokers wait for each other as they start.
type quorate struct {
	*fakeCluster
	asked [][]history.BrokerID
}

func (q *quorate) StartTogether(brokers []history.BrokerID) error {
	q.asked = append(q.asked, slices.Clone(brokers))
	return nil
}

// TestBrokersStartTogether brings back three brokers at once where they wait for each other, and one by one where they do not.
func TestBrokersStartTogether(t *testing.T) {
	gone := []history.BrokerID{2, 3, 1}
	q := &quorate{fakeCluster: newFakeCluster(&fakeEnv{}, 3)}
	if err := start(q, gone); err != nil || len(q.asked) != 1 || !slices.Equal(q.asked[0], gone) {
		t.Errorf("asked for %v, %v, expected for %v at once", q.asked, err, gone)
	}
	c := newFakeCluster(&fakeEnv{}, 3)
	for _, b := range gone {
		if err := c.Kill(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := start(c, gone); err != nil {
		t.Error(err)
	}
	for _, b := range gone {
		if state := c.ProbeProcess(b); state != "running" {
			t.Errorf("broker %d is %s, expected running", b, state)
		}
	}
}
