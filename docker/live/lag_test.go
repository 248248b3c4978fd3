package live_test

import (
	"testing"
	"time"

	"tidemark/docker"
	"tidemark/history"
	"tidemark/world"
)

// TestALateLinkIsLate delays what goes from one broker to another, by whatever the kernel has: a message takes as long, the other direction and other links do
// not, and once it is over it does not either. Clients are served meanwhile, and a write that takes the link is acknowledged.
func TestALateLinkIsLate(t *testing.T) {
	t.Parallel()
	c := startWith(t, nil, docker.Options{Lags: true})
	c.inSync()
	const by, jitter = 400 * time.Millisecond, 100 * time.Millisecond
	detail, err := c.Lag(1, 2, world.Lag{By: by, Jitter: jitter})
	c.do(err)
	t.Log(detail)
	for range 5 {
		if took, passed := c.Transit(1, 2, passing); !passed || took < by-jitter {
			t.Errorf("a message took %v (arrived: %t), expected %v at least", took, passed, by-jitter)
		}
	}
	c.eventually("the way back is as fast as ever", func() bool { return c.quick(2, 1, by-jitter) })
	c.eventually("another link is as fast as ever", func() bool { return c.quick(1, 3, by-jitter) })
	if !c.serves(1) || !c.serves(2) {
		t.Error("a broker on a late link does not serve")
	}
	c.work(1).Load(c.env.Now() + 2*time.Second)
	if _, err := c.Lag(1, 2, world.Lag{By: time.Second}); err == nil || c.EndLag(2, 1) == nil {
		t.Error("a second lag, or the end of none, was taken")
	}
	c.do(c.EndLag(1, 2))
	c.eventually("the link is as fast as before", func() bool { return c.quick(1, 2, by-jitter) })
}

// quick reports whether a message takes less than a time.
func (c *cluster) quick(from, to history.BrokerID, than time.Duration) bool {
	took, passed := c.Transit(from, to, passing)
	return passed && took < than
}
