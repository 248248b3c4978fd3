package docker

import (
	"context"
	"time"

	"tidemark/docker/targets"
	"tidemark/history"
	"tidemark/world"
)

// subject is the brokers of a run, of whatever make: how their containers are made, and what can be seen of them.
type subject interface {
	// images finds or makes the image of the brokers' containers.
	images(ctx context.Context) (string, error)
	// abilities lists the faults that the brokers can be given here.
	abilities() []world.Ability
	// introduce takes in everybody's addresses, which are known by now.
	introduce() error
	// process is what runs in a broker's container.
	process(m *machine) (targets.Process, error)
	// greet finds out what clients must know of the brokers, which listen by now.
	greet() error
	// admit waits until the cluster takes a broker in that it knows from before, whose process is gone.
	admit(m *machine) error
	// startBound is how long a broker may take until it listens.
	startBound() time.Duration
	// elect makes a replica a partition's leader cleanly, reassign moves a partition to other replicas: see world.Cluster.
	elect(p history.Partition, b history.BrokerID, timeout time.Duration) error
	reassign(p history.Partition, to []history.BrokerID, timeout time.Duration) error
	observer
}

// observer looks at the brokers of a cluster. Looks do not overlap.
type observer interface {
	// look returns the cluster as it stands.
	look() history.ClusterState
	// news records the protocol steps of a broker since the last call. The error is that it tells nothing now.
	news(m *machine) error
	// dump reads every replica of a broker from its own files; none where nobody can read them.
	dump(ctx context.Context, m *machine) ([]history.Dump, error)
	// close gives back what looking took.
	close()
}
