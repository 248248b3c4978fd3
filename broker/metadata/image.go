// Package metadata is the cluster's state as the controller decides it and every broker follows it: brokers, topics,
// partitions, and the records that change them (Kafka's __cluster_metadata, KIP-500).
package metadata

import (
	"maps"
	"slices"

	"tidemark/broker/kafka"
)

// Image is the metadata after the record at Index. It is a value that only Apply changes.
type Image struct {
	Index          int64 // of the last applied raft entry, 0 before the first
	Brokers        map[kafka.BrokerID]Broker
	Topics         map[string]*Topic
	Names          map[kafka.TopicID]string `json:"-"` // follows from Topics
	NextProducerID int64                    // the first producer id that no broker was given (KIP-730)
}

// Broker is one registration (KIP-631).
type Broker struct {
	ID          kafka.BrokerID
	Epoch       kafka.BrokerEpoch // index of the entry that registered this incarnation
	Incarnation [16]byte
	Endpoints   []Endpoint // one a listener; never changed in place
	Rack        string     // broker.rack, empty if none
	Directory   [16]byte   // of the disk that the metadata log is on (the record's LogDirs, KIP-858); zero if it did not say
	Fenced      bool
	Stopping    bool // in controlled shutdown: no leader, not electable, not to be added to an ISR (KIP-841)
}

// Endpoint is where a broker's listener is to be reached (the record's BrokerEndpoint, KIP-631).
type Endpoint struct {
	Listener string
	Host     string
	Port     int32
}

// EndpointsMax bounds the endpoints of a broker.
const EndpointsMax = 16

// Endpoint is where a broker is to be reached at the listener of that name; false if it advertises none there.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Topic is a topic and its partitions, by index.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Configs    map[string]string // Kafka's topic configuration keys, such as min.insync.replicas
	Partitions []Partition
}

// Partition is a partition's registration: who replicates it, who leads it in which epoch, who is in sync.
type Partition struct {
	Replicas       []kafka.BrokerID // in order of preference
	Adding         []kafka.BrokerID // of a reassignment under way
	Removing       []kafka.BrokerID
	ISR            []kafka.BrokerID
	ELR            []kafka.BrokerID // eligible leader replicas (KIP-966)
	LastKnownELR   []kafka.BrokerID // the last known leader, electable when ISR and ELR are empty
	Leader         kafka.BrokerID   // NoBroker while there is none
	LeaderEpoch    kafka.Epoch
	PartitionEpoch int32
}

// New returns an empty image.
func New() *Image {
	return &Image{Brokers: map[kafka.BrokerID]Broker{}, Topics: map[string]*Topic{}, Names: map[kafka.TopicID]string{}}
}

// Partition finds a partition's registration.
func (img *Image) Partition(tp kafka.TopicPartition) (Partition, bool) {
	t := img.Topics[tp.Topic]
	if t == nil || tp.Index < 0 || int(tp.Index) >= len(t.Partitions) {
		return Partition{}, false
	}
	return t.Partitions[tp.Index], true
}

// BrokerIDs lists the registered brokers, ascending.
func (img *Image) BrokerIDs() []kafka.BrokerID { return slices.Sorted(maps.Keys(img.Brokers)) }

// TopicNames lists the topics by name, ascending.
func (img *Image) TopicNames() []string { return slices.Sorted(maps.Keys(img.Topics)) }
