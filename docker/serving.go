package docker

import (
	"context"
	"time"

	"tidemark/history"
	"tidemark/workloads"
)

// ProbeServing asks a broker for ApiVersions over a connection of its own, a ZooKeeper for a connection.
func (c *Cluster) ProbeServing(b history.BrokerID, timeout time.Duration) bool {
	m, err := c.machine(b)
	switch {
	case err != nil:
		return false
	case m == c.keeper: // it speaks another protocol
		k, err := dial(c.env.ctx, m.kafka, timeout)
		if err == nil {
			k.Close()
		}
		return err == nil
	default:
		return serving(c.env.ctx, c.straight(m), timeout)
	}
}

// serving reports whether a broker answers ApiVersions at an address within timeout.
func serving(ctx context.Context, address string, timeout time.Duration) bool {
	deadline := time.Now().Add(timeout)
	k, err := dial(ctx, address, timeout)
	if err != nil {
		return false
	}
	defer k.Close()
	return workloads.Serves(k, time.Until(deadline))
}
