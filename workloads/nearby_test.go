package workloads

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/history"
)

// TestNearby: a consumer reads where the leader sent it, until an error or the end of the lease, and each partition by itself.
func TestNearby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := fakeEnv{time.Now()}
		n := newNearby(env, rand.New(rand.NewPCG(1, 2)), []history.BrokerID{1, 2, 3}, 1, 2)
		at := func(part int32, want history.BrokerID, when string) {
			if got := n.place(part, 1); got != want {
				t.Errorf("%s partition %d is read at broker %d, expected %d", when, part, got, want)
			}
		}
		at(0, 1, "at first")
		n.follow(0, history.NoBroker)
		at(0, 1, "after an answer that sends nowhere")
		n.follow(0, 3)
		at(0, 3, "when sent to broker 3")
		at(1, 1, "when partition 0 is read at broker 3")
		n.leave(0)
		at(0, 1, "after an error")
		n.follow(0, 2)
		time.Sleep(nearbyLease)
		at(0, 1, "when the lease is over")
		var none *nearby
		none.follow(0, 2)
		none.leave(0)
		if got := none.place(0, 1); got != 1 {
			t.Errorf("without racks a partition is read at broker %d, expected its leader 1", got)
		}
	})
}
