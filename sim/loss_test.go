package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tidemark/broker"
	"tidemark/history"
	"tidemark/world"
)

// TestShareOfLostPackets sends a thousand messages over a link for each share: of all packets about that share is lost.
func TestShareOfLostPackets(t *testing.T) {
	const messages = 1000
	for _, share := range []float64{0.01, 0.3, 0.6} {
		c := newCluster(t, Options{Seed: 3}, 2, nil)
		c.run(func() {
			c.must(c.Lose(1, 2, share))
			for range messages {
				if !c.ProbeLink(1, 2, world.AnyPort, time.Minute) {
					t.Fatal("a message did not arrive within a minute")
				}
			}
			lost, err := c.Lost(1, 2)
			c.must(err)
			if got := float64(lost) / float64(lost+messages); math.Abs(got-share) > 0.03 {
				t.Errorf("%d lost and %d passed, a share of %.3f, expected about %v", lost, messages, got, share)
			}
		})
	}
}

// TestLossShiftsNoDelays: what a link loses changes nothing on others, nor on itself once a packet passes.
func TestLossShiftsNoDelays(t *testing.T) {
	arrivals := func(lossy history.BrokerID) (at []time.Duration, lost int64) {
		c := newCluster(t, Options{Seed: 6}, 3, func(f *fake) { f.onRequest = echo })
		c.run(func() {
			c.fakes[1].onResponse = func(_ *fake, l broker.Link, _ []byte) {
				if l.Peer == 2 {
					at = append(at, c.Now())
				}
			}
			for i := range 20 {
				if lossy != 0 && i == 1 { // the connections stand
					c.must(c.Lose(1, lossy, 0.5))
				}
				c.poke(1, func(f *fake) {
					f.send(2, broker.ForFetch, fmt.Sprint(i))
					f.send(3, broker.ForFetch, fmt.Sprint(i))
				})
				c.Sleep(time.Minute)
			}
			lost, _ = c.Lost(1, 3)
		})
		return at, lost
	}
	calm, _ := arrivals(0)
	elsewhere, lost := arrivals(3)
	if lost == 0 || fmt.Sprint(elsewhere) != fmt.Sprint(calm) {
		t.Errorf("answers of broker 2 came at %v, and at %v while %d packets to broker 3 were lost", calm, elsewhere, lost)
	}
	late := 0
	here, _ := arrivals(2)
	for i := range here {
		switch delay := here[i] - calm[i]; {
		case delay >= lossData:
			late++
		case delay != 0:
			t.Errorf("answer %d came %v later, expected the same time or a retransmission's", i, delay)
		}
	}
	if late == 0 || late == len(here) {
		t.Errorf("%d of %d answers were late", late, len(here))
	}
}
