package workloads

import (
	"errors"
	"time"

	"tidemark/history"
)

// insistPause is the pause between two brokers that are asked for the same.
const insistPause = 50 * time.Millisecond

// insist asks one broker after another, in an order drawn from the stream of that name, until one has done what it is asked for, answers with
// an error that is final (nil: none is), or timeout has passed. It returns what went wrong last.
func (c *client) insist(stream string, timeout time.Duration, final error, ask func(via history.BrokerID) error) error {
	deadline := c.env.Now() + timeout
	brokers := c.cluster.Brokers()
	order := c.env.Rand(stream, 0).Perm(len(brokers))
	for try := 0; ; try++ {
		c.timeout = max(min(timeout/4, deadline-c.env.Now()), time.Millisecond) // so that a silent broker leaves time for the others
		err := ask(brokers[order[try%len(order)]])
		if err == nil || final != nil && errors.Is(err, final) || c.env.Now()+insistPause >= deadline {
			return err
		}
		c.env.Sleep(insistPause)
	}
}
