package nemesis

import (
	"time"

	"tidemark/history"
)

// Recreate gives a topic no new incarnation: it has none.
func (c *fakeCluster) Recreate(topic string, _ time.Duration) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.call("Recreate")
	return topic, err
}

// Reassign moves a partition at once: the new replicas are in sync.
func (c *fakeCluster) Reassign(p history.Partition, to []history.BrokerID, _ time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call("Reassign")
	for _, s := range c.parts {
		if ok && s.name == p {
			s.replicas, s.isr, s.leader = to, to, to[0]
			s.epoch++
			c.change++
		}
	}
	return err
}
