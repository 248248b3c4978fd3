// Package watch makes out how the partitions of brokers of any make stand, from what brokers tell whoever asks by Kafka's protocol, what
// ZooKeeper holds, and what brokers ask each other: leaders, epochs, ISRs, and the log end and high watermark of every replica. What changes
// from one look to the next becomes protocol steps.
package watch

import (
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// Registration is a partition as somebody knows the controller to have it.
type Registration struct {
	Partition history.Partition
	Leader    history.BrokerID
	Epoch     history.Epoch // -1 if it was not told
	Version   int32         // of the whole, which every change raises (zkVersion); -1 if it was not told
	ISR, ELR  []history.BrokerID
	Replicas  []history.BrokerID
}

// Told is what a broker told in one look.
type Told struct {
	Broker     history.BrokerID
	From, To   time.Duration // of the run's clock: when the look began, and when it was over
	Controller history.BrokerID
	Partitions []Registration
	Replicas   []Replica // that it has
}

// Replica is one of a broker's replicas.
type Replica struct {
	Partition history.Partition
	history.ReplicaState
}

// internal reports whether a topic is the brokers' own: no run is about it.
func internal(topic string) bool { return strings.HasPrefix(topic, "__") }

// ReadMetadata takes the partitions and the controller from a Metadata response of any version. In a cluster with a quorum the controller that
// it names is just some broker to send requests to. Before version 7 epochs are not told. Up to version 0 a broker leaves out the replicas
// that are down.
func ReadMetadata(resp *kmsg.MetadataResponse) (partitions []Registration, controller history.BrokerID) {
	controller = history.NoBroker
	if resp.Version >= 1 {
		controller = history.BrokerID(resp.ControllerID)
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || t.ErrorCode != 0 || internal(*t.Topic) {
			continue
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			epoch := history.Epoch(-1)
			if resp.Version >= 7 {
				epoch = history.Epoch(p.LeaderEpoch)
			}
			partitions = append(partitions, Registration{
				Partition: history.Partition{Topic: *t.Topic, Index: p.Partition}, Leader: history.BrokerID(max(p.Leader, -1)), Epoch: epoch, Version: -1,
				ISR: brokers(p.ISR), Replicas: brokers(p.Replicas),
			})
		}
	}
	sortPartitions(partitions)
	return partitions, controller
}

// ReadDescription takes the partitions, with their eligible leader replicas, from a DescribeTopicPartitions response (KIP-966).
func ReadDescription(resp *kmsg.DescribeTopicPartitionsResponse) (partitions []Registration) {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || t.ErrorCode != 0 || internal(*t.Topic) {
			continue
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			partitions = append(partitions, Registration{
				Partition: history.Partition{Topic: *t.Topic, Index: p.Partition}, Leader: history.BrokerID(max(p.LeaderID, -1)),
				Epoch: history.Epoch(p.LeaderEpoch), Version: -1,
				ISR: brokers(p.ISR), ELR: brokers(p.EligibleLeaderReplicas), Replicas: brokers(p.Replicas),
			})
		}
	}
	sortPartitions(partitions)
	return partitions
}

// ReadQuorum takes the active controller from a DescribeQuorum response (KIP-595).
func ReadQuorum(resp *kmsg.DescribeQuorumResponse) history.BrokerID {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; resp.ErrorCode == 0 && p.ErrorCode == 0 && p.LeaderID >= 0 {
				return history.BrokerID(p.LeaderID)
			}
		}
	}
	return history.NoBroker
}

func sortPartitions(p []Registration) {
	slices.SortFunc(p, func(a, b Registration) int { return a.Partition.Compare(b.Partition) })
}

func brokers(ids []int32) []history.BrokerID {
	var out []history.BrokerID
	for _, id := range ids {
		out = append(out, history.BrokerID(id))
	}
	return out
}
