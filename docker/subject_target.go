package docker

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"tidemark/docker/targets"
	"tidemark/docker/watch"
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
	for _, m := range t.cluster.kafkas() {
		n := t.node(m)
		n.Address, n.Published = m.address, m.published
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
	return t.target.Process(t.site, *t.node(m))
}

// node is what a machine is among the site's.
func (t *targetBrokers) node(m *machine) *targets.Node {
	if slices.Contains(t.cluster.quorum, m) {
		return &t.site.Quorum[m.node]
	}
	return &t.site.Nodes[m.node]
}

func (t *targetBrokers) greet() error { return t.cluster.negotiate(t.cluster.machines[0]) }

// admitBound is how long a broker's registration in ZooKeeper may outlive its process: a session there is six seconds where nobody says, and ends up
// to a third later.
const admitBound = 30 * time.Second

// admit waits until ZooKeeper has forgotten the process that was killed: while its session lasts, a broker that registers again under its id finds it
// taken and exits (KafkaHealthcheck.scala up to 1.0, KafkaZkClient.scala after). An operator's supervisor tries until it may; here it is awaited. A
// ZooKeeper that cannot tell holds up nobody for longer than the bound.
func (t *targetBrokers) admit(m *machine) error {
	if t.keeper == nil || m == t.cluster.keeper { // nobody holds up the ZooKeeper itself
		return nil
	}
	err := t.administer(admitBound, func(nodes watch.AdminNodes) (bool, error) { return watch.Forgotten(nodes, m.id) })
	if t.cluster.env.ctx.Err() != nil {
		return err
	}
	if err != nil {
		t.cluster.opt.Say(fmt.Sprintf("broker %d is started although ZooKeeper may still hold its registration: %v", m.id, err))
	}
	return nil
}

func (t *targetBrokers) startBound() time.Duration { return targetStartBound }
