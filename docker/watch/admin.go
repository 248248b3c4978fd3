package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"tidemark/history"
)

// The nodes by which an administrator asks Kafka's controller for something. Before 2.4 (KIP-455, KIP-460) there is no other way: the controller
// removes a node when it has done what it says.
const (
	reassignNode = "/admin/reassign_partitions"
	electNode    = "/admin/preferred_replica_election"
)

// brokersNode is above the brokers' registrations.
const brokersNode = "/brokers/ids"

// AdminNodes is ZooKeeper's nodes to an administrator. Create fails with ErrNodeExists where there is one.
type AdminNodes interface {
	Nodes
	Create(path string, data []byte) error
}

// ErrNodeExists says that ZooKeeper has a node at a path already.
var ErrNodeExists = errors.New("the node exists")

// ErrNotReplica says that a broker has no replica of a partition that it is to lead.
var ErrNotReplica = errors.New("not a replica")

// wanted is what an administrator's node holds.
type wanted struct {
	Version    int               `json:"version"`
	Partitions []wantedPartition `json:"partitions"`
}

type wantedPartition struct {
	Topic     string             `json:"topic"`
	Partition int32              `json:"partition"`
	Replicas  []history.BrokerID `json:"replicas,omitempty"`
}

// ElectStep brings it a step nearer that a broker leads a partition, cleanly and with nobody crashing: the same replicas in an order with it in
// front, then an election of the preferred one. It is to be called again until it reports that the broker leads.
func ElectStep(nodes AdminNodes, p history.Partition, b history.BrokerID) (done bool, err error) {
	now, err := readPartition(nodes, p)
	switch {
	case err != nil:
		return false, err
	case now.Leader == b:
		return true, nil
	case !slices.Contains(now.Replicas, b):
		return false, fmt.Errorf("%w: broker %d, the replicas of %v are %v", ErrNotReplica, b, p, now.Replicas)
	case now.Replicas[0] != b:
		front := append([]history.BrokerID{b}, slices.DeleteFunc(slices.Clone(now.Replicas), func(r history.BrokerID) bool { return r == b })...)
		return false, askFor(nodes, reassignNode, wantedPartition{p.Topic, p.Index, front})
	}
	return false, askFor(nodes, electNode, wantedPartition{p.Topic, p.Index, nil})
}

// ReassignStep asks for other replicas of a partition, unless it has them already. It is to be called again until it reports that it was asked.
func ReassignStep(nodes AdminNodes, p history.Partition, to []history.BrokerID) (done bool, err error) {
	now, err := readPartition(nodes, p)
	if err != nil || slices.Equal(now.Replicas, to) {
		return err == nil, err
	}
	err = askFor(nodes, reassignNode, wantedPartition{p.Topic, p.Index, to})
	return err == nil, err
}

// Forgotten reports whether a broker's registration is gone: it is the session's of the process that made it. The error says that it is not, or why
// that is not known.
func Forgotten(nodes Nodes, b history.BrokerID) (gone bool, err error) {
	switch _, _, err := nodes.Get(fmt.Sprintf("%s/%d", brokersNode, b)); {
	case errors.Is(err, ErrNoNode):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, fmt.Errorf("broker %d is registered still", b)
}

// askFor writes what is asked for, once nothing else is: the controller takes up one node at a time.
func askFor(nodes AdminNodes, path string, what wantedPartition) error {
	for _, other := range []string{reassignNode, electNode} {
		switch data, _, err := nodes.Get(other); {
		case err == nil:
			return fmt.Errorf("%w: %s, the controller has yet to do %q", ErrNodeExists, other, quoted(data))
		case !errors.Is(err, ErrNoNode):
			return err
		}
	}
	data, err := json.Marshal(wanted{Version: 1, Partitions: []wantedPartition{what}})
	if err != nil {
		return err
	}
	return nodes.Create(path, data)
}

// readPartition reads one partition's replicas and state.
func readPartition(nodes Nodes, p history.Partition) (Registration, error) {
	data, _, err := nodes.Get(topicsNode + "/" + p.Topic)
	if err != nil {
		return Registration{}, err
	}
	all, err := parseAssignment(p.Topic, data)
	if err != nil {
		return Registration{}, err
	}
	i := slices.IndexFunc(all, func(r Registration) bool { return r.Partition == p })
	if i < 0 {
		return Registration{}, fmt.Errorf("%v is not among the %d partitions of its topic", p, len(all))
	}
	data, _, err = nodes.Get(fmt.Sprintf("%s/%s/partitions/%d/state", topicsNode, p.Topic, p.Index))
	if err == nil {
		err = parseState(&all[i], data)
	}
	return all[i], err
}

// Administer takes one step of an administrator's in ZooKeeper, at most until ctx ends.
func (k *Keeper) Administer(ctx context.Context, step func(AdminNodes) (bool, error)) (done bool, err error) {
	type ended struct {
		done bool
		err  error
	}
	over := make(chan ended, 1)
	go func() {
		done, err := step(nodes{k.conn})
		over <- ended{done, err}
	}()
	select {
	case e := <-over:
		return e.done, e.err
	case <-ctx.Done():
		return false, fmt.Errorf("ZooKeeper: %w", ctx.Err())
	}
}

// Create makes a node that stays.
func (n nodes) Create(path string, data []byte) error {
	_, err := n.conn.Create(path, data, 0, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("ZooKeeper: %s: %w", path, ErrNodeExists)
	}
	return nodeError(path, err)
}
