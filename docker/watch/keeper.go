package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tidemark/history"
)

// Kept is what ZooKeeper holds of a cluster, as Kafka's controller wrote it.
type Kept struct {
	Controller history.BrokerID
	Partitions []Registration // in order of partition
}

// Nodes reads ZooKeeper's nodes: a node's data with the version of it, and the names of a node's children. ErrNoNode where there is none.
type Nodes interface {
	Get(path string) (data []byte, version int32, err error)
	Children(path string) ([]string, error)
}

// ErrNoNode says that ZooKeeper has no node at a path.
var ErrNoNode = errors.New("no such node")

// The nodes that Kafka's controller keeps (ZkData.scala).
const (
	controllerNode = "/controller"
	topicsNode     = "/brokers/topics"
)

// ReadKeeper reads the controller and every partition of topics that are not the brokers' own. One without a state has no leader yet.
func ReadKeeper(nodes Nodes) (Kept, error) {
	k := Kept{Controller: history.NoBroker}
	data, _, err := nodes.Get(controllerNode)
	if err == nil {
		k.Controller, err = parseController(data)
	}
	if err != nil && !errors.Is(err, ErrNoNode) { // while nobody is the controller the node is not there
		return k, err
	}
	topics, err := nodes.Children(topicsNode)
	if err != nil && !errors.Is(err, ErrNoNode) {
		return k, err
	}
	for _, topic := range topics {
		if internal(topic) {
			continue
		}
		data, _, err := nodes.Get(topicsNode + "/" + topic)
		if errors.Is(err, ErrNoNode) { // deleted meanwhile
			continue
		}
		if err != nil {
			return k, err
		}
		partitions, err := parseAssignment(topic, data)
		if err != nil {
			return k, err
		}
		for _, p := range partitions {
			data, version, err := nodes.Get(fmt.Sprintf("%s/%s/partitions/%d/state", topicsNode, topic, p.Partition.Index))
			if err == nil {
				err = parseState(&p, data)
				p.Version = version
			}
			if err != nil && !errors.Is(err, ErrNoNode) {
				return k, err
			}
			k.Partitions = append(k.Partitions, p)
		}
	}
	sortPartitions(k.Partitions)
	return k, nil
}

func parseController(data []byte) (history.BrokerID, error) {
	var c struct {
		Broker *history.BrokerID `json:"brokerid"`
	}
	if err := json.Unmarshal(data, &c); err != nil || c.Broker == nil {
		return history.NoBroker, fmt.Errorf("%s: %q, expected a JSON object with a brokerid", controllerNode, quoted(data))
	}
	return *c.Broker, nil
}

// parseAssignment reads which replicas a topic's partitions have, ascending.
func parseAssignment(topic string, data []byte) ([]Registration, error) {
	var a struct {
		Partitions map[string][]history.BrokerID `json:"partitions"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("%s/%s: %q, expected a JSON object with partitions", topicsNode, topic, quoted(data))
	}
	var out []Registration
	for name, replicas := range a.Partitions {
		index, err := strconv.ParseInt(name, 10, 32)
		if err != nil || index < 0 {
			return nil, fmt.Errorf("%s/%s: partition %q, expected a number of 31 bits", topicsNode, topic, quoted([]byte(name)))
		}
		out = append(out, Registration{
			Partition: history.Partition{Topic: topic, Index: int32(index)}, Leader: history.NoBroker, Epoch: -1, Version: -1, Replicas: replicas,
		})
	}
	slices.SortFunc(out, func(a, b Registration) int { return a.Partition.Compare(b.Partition) })
	return out, nil
}

// parseState reads a partition's leader, epoch and ISR.
func parseState(p *Registration, data []byte) error {
	var s struct {
		Leader *history.BrokerID  `json:"leader"`
		Epoch  *history.Epoch     `json:"leader_epoch"`
		ISR    []history.BrokerID `json:"isr"`
	}
	if err := json.Unmarshal(data, &s); err != nil || s.Leader == nil || s.Epoch == nil {
		return fmt.Errorf("state of %v: %q, expected a JSON object with leader, leader_epoch and isr", p.Partition, quoted(data))
	}
	p.Leader, p.Epoch, p.ISR = *s.Leader, *s.Epoch, s.ISR
	return nil
}

// quoted is the beginning of what was read, for an error.
func quoted(data []byte) []byte { return data[:min(len(data), 100)] }
