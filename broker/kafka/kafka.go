// Package kafka is the protocol's vocabulary: the types that every part of the broker speaks in, and Kafka's error codes.
package kafka

import (
	"fmt"
	"slices"
)

// BrokerID is a node.id; NoBroker is -1.
type BrokerID int32

// NoBroker stands for no leader, no controller.
const NoBroker BrokerID = -1

// Offset is a position in a partition's log; the log end offset (LEO) is that of the next record to come.
type Offset int64

// Epoch is a partition's leader epoch (KIP-101); NoEpoch is -1.
type Epoch int32

// NoEpoch is the absence of a leader epoch.
const NoEpoch Epoch = -1

// BrokerEpoch is the registration of one incarnation of a broker (KIP-497, KIP-903); NoBrokerEpoch is -1.
type BrokerEpoch int64

// NoBrokerEpoch is the absence of a registration.
const NoBrokerEpoch BrokerEpoch = -1

// TopicID is a topic's 16-byte id (KIP-516).
type TopicID [16]byte

// TopicPartition names a partition.
type TopicPartition struct {
	Topic string
	Index int32
}

// String returns topic-index, as Kafka's directories are named.
func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Index) }

// Compare orders by topic, then index.
func (tp TopicPartition) Compare(o TopicPartition) int {
	switch {
	case tp.Topic < o.Topic:
		return -1
	case tp.Topic > o.Topic:
		return 1
	default:
		return int(tp.Index) - int(o.Index)
	}
}

// Contains reports whether a broker is in a set of replicas.
func Contains(set []BrokerID, b BrokerID) bool { return slices.Contains(set, b) }
