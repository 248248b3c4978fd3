package docker

import (
	"context"
	"time"

	"tidemark/history"
)

// wipeBound is how long it may take to remove a broker's partitions.
const wipeBound = time.Minute

// Wipe kills a broker and removes what lies on its volume of partitions; the controller's log lies on another. The sidecar does it
// under the broker's own lock of that directory, which the kernel gives back when the last process that held it has ended.
func (c *Cluster) Wipe(b history.BrokerID) (detail string, err error) {
	err = c.act("wipe", b, func(m *machine) error {
		return c.end(m, "KILL", "wiped", startBound, func() (string, error) {
			ctx, cancel := context.WithTimeout(c.env.ctx, wipeBound)
			defer cancel()
			wiped, err := m.agent.Wipe(ctx)
			detail = wiped.String()
			m.forget()
			return detail, err
		})
	}, alive...)
	return detail, err
}

// forget drops what was last known of the replicas, which are no more, but not that there were any: whether they are gone is for a
// dump to say.
func (m *machine) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.last {
		m.last[p] = unknownReplica(m.id)
	}
}
