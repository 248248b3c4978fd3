package docker

import (
	"context"
	"time"

	"tidemark/docker/targets"
	"tidemark/history"
	"tidemark/world"
)

// ownBrokers are this program's own brokers.
type ownBrokers struct{ *Cluster }

func (o ownBrokers) images(context.Context) (string, error) { return o.Cluster.image, nil }

func (o ownBrokers) abilities() []world.Ability { return Abilities() }

func (o ownBrokers) process(m *machine) (targets.Process, error) {
	return targets.Process{
		Command: []string{binaryPath, "broker", "--config", configPath},
		Files:   map[string]string{configPath: properties(m.cfg)},
	}, nil
}

func (o ownBrokers) greet() error { return nil }

func (o ownBrokers) elect(p history.Partition, b history.BrokerID, timeout time.Duration) error {
	return o.electByRequest(p, b, timeout)
}

func (o ownBrokers) reassign(p history.Partition, to []history.BrokerID, timeout time.Duration) error {
	return o.reassignByRequest(p, to, timeout)
}

func (o ownBrokers) admit(*machine) error { return nil }

func (o ownBrokers) startBound() time.Duration { return startBound }

func (o ownBrokers) news(m *machine) error { return o.readSteps(m) }

func (o ownBrokers) dump(ctx context.Context, m *machine) ([]history.Dump, error) {
	return m.agent.Dump(ctx)
}

func (o ownBrokers) close() {}
