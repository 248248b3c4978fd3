package docker

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"tidemark/docker/targets"
	"tidemark/world"
)

// targetStartBound is how long a broker on Java may take until it listens: it is formatted, recovers its logs and waits for its session.
const targetStartBound = 2 * time.Minute

// targetBrokers are brokers that are not this program's own.
type targetBrokers struct {
	*outside
	target targets.Target
	site   targets.Site
}

func newTargetBrokers(c *Cluster, t targets.Target, s targets.Site) *targetBrokers {
	return &targetBrokers{outside: newOutside(c), target: t, site: s}
}

func (t *targetBrokers) images(ctx context.Context) (string, error) {
	return t.cluster.engine.targetImage(ctx, t.target, t.cluster.opt.Say)
}

func (t *targetBrokers) abilities() []world.Ability { return t.target.Abilities }

// introduce fills in the site's addresses, and a name that only this cluster has.
func (t *targetBrokers) introduce() error {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return fmt.Errorf("naming the cluster: %w", err)
	}
	id[0] &= 0x7f // Kafka's tools take an id that begins with "-" for an option
	t.site.Cluster = base64.RawURLEncoding.EncodeToString(id[:])
	for _, m := range t.cluster.machines {
		t.site.Nodes[m.node].Address, t.site.Nodes[m.node].Published = m.address, m.published
	}
	if k := t.cluster.keeper; k != nil {
		t.site.Keeper = k.address
		return t.openKeeper(k.kafka)
	}
	return nil
}

func (t *targetBrokers) process(m *machine) (targets.Process, error) {
	if m == t.cluster.keeper {
		return t.target.KeeperProcess(), nil
	}
	return t.target.Process(t.site, t.site.Nodes[m.node])
}

func (t *targetBrokers) greet() error { return t.cluster.negotiate(t.cluster.machines[0]) }

func (t *targetBrokers) startBound() time.Duration { return targetStartBound }
