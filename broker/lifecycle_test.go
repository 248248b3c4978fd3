package broker

import (
	"testing"
	"time"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// TestAShutdownWithoutAControllerEnds asks a registered broker to stop when the controller answers no more, be it that connections to
// it fail or that nothing comes back: after two session timeouts it has flushed and ends.
func TestAShutdownWithoutAControllerEnds(t *testing.T) {
	for _, fails := range []bool{true, false} {
		p := newPair(t)
		for p.nodes[1].BrokerEpoch() == kafka.NoBrokerEpoch {
			a, ok := p.next()
			if !ok {
				t.Fatal("the broker never registers")
			}
			p.deliver(a)
		}
		n, begun := p.nodes[1], p.now
		n.Shutdown(p.now)
		for ended := false; !ended; {
			out := n.Ready()
			for _, s := range out.Sends {
				if fails {
					n.LinkFailed(p.now, s.Link)
				}
			}
			for _, f := range out.Flushes {
				for _, step := range f.Steps {
					if err := disk.Run(p.disks[1], step); err != nil {
						t.Fatal(err)
					}
				}
				n.Flushed(p.now, f.ID, nil)
			}
			if ended = out.Exit; ended || len(out.Sends)+len(out.Flushes) > 0 {
				continue
			}
			if p.now = max(p.now, n.Deadline()); p.now > begun+time.Minute {
				t.Fatal("the broker does not end within a minute")
			}
			n.Tick(p.now)
		}
		if took := p.now - begun; took != 2*3*time.Second {
			t.Errorf("connections fail: %v: it ended after %v, expected two session timeouts of 3s", fails, took)
		}
	}
}
