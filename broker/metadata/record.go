package metadata

import (
	"fmt"

	"tidemark/broker/kafka"
)

// Record is one change of the metadata, under the name that Kafka gives it in __cluster_metadata (KIP-631, KIP-746).
type Record interface{ isRecord() }

// RegisterBroker registers an incarnation of a broker, replacing the one before.
type RegisterBroker struct {
	ID          kafka.BrokerID
	Epoch       kafka.BrokerEpoch
	Incarnation [16]byte
	Endpoints   []Endpoint
	Rack        string // broker.rack, empty if none
	Directory   [16]byte
	Fenced      bool
	Stopping    bool
}

// BrokerChange changes a registration (Kafka's BrokerRegistrationChangeRecord). Both values are the new ones.
type BrokerChange struct {
	ID       kafka.BrokerID
	Epoch    kafka.BrokerEpoch // of the incarnation that it is about
	Fenced   bool
	Stopping bool
}

// TopicRecord creates a topic without partitions.
type TopicRecord struct {
	Name string
	ID   kafka.TopicID
}

// RemoveTopicRecord deletes a topic with its partitions and its configuration.
type RemoveTopicRecord struct {
	ID kafka.TopicID
}

// ProducerIDsRecord gives a broker a block of producer ids (KIP-730).
type ProducerIDsRecord struct {
	Broker kafka.BrokerID
	Epoch  kafka.BrokerEpoch // of the incarnation that asked
	Next   int64             // the first id behind the block
}

// ConfigRecord sets one configuration key of a topic.
type ConfigRecord struct {
	Topic, Key, Value string
}

// PartitionRecord creates a topic's next partition.
type PartitionRecord struct {
	TopicID  kafka.TopicID
	Index    int32
	Replicas []kafka.BrokerID
	ISR      []kafka.BrokerID
	Leader   kafka.BrokerID
	Cause    Cause
}

// PartitionChange changes a partition. Sets tells which fields take part; the others keep their value. The partition epoch
// grows with each; the leader epoch grows if Sets has SetLeader, even where the leader stays the same.
type PartitionChange struct {
	TopicID      kafka.TopicID
	Index        int32
	Sets         Fields
	Leader       kafka.BrokerID
	ISR          []kafka.BrokerID
	Replicas     []kafka.BrokerID
	Adding       []kafka.BrokerID
	Removing     []kafka.BrokerID
	ELR          []kafka.BrokerID
	LastKnownELR []kafka.BrokerID
	Unclean      bool // the new leader is neither of the ISR nor of the ELR: it may lack acknowledged records
	Cause        Cause
}

// Fields is a set of a PartitionChange's fields.
type Fields uint8

// The fields of a PartitionChange.
const (
	SetLeader Fields = 1 << iota
	SetISR
	SetReplicas
	SetAdding
	SetRemoving
	SetELR
	SetLastKnownELR

	allFields = SetLeader | SetISR | SetReplicas | SetAdding | SetRemoving | SetELR | SetLastKnownELR
)

// Cause is why the controller changed a partition: it travels with the record, so that every member can tell.
type Cause struct {
	Kind   CauseKind
	Broker kafka.BrokerID // whom it is about, NoBroker for none
}

// CauseKind is a kind of reason.
type CauseKind uint8

// The reasons.
const (
	ByCreation CauseKind = iota + 1
	ByFencing
	ByUnfencing
	ByUncleanRegistration
	ByRegistration
	ByControlledShutdown
	ByAlterPartition
	ByElectLeaders
	ByReassignment
	ByRebalance

	lastCause = ByRebalance
)

// String says the reason in words.
func (c Cause) String() string {
	switch c.Kind {
	case ByCreation:
		return "topic created"
	case ByFencing:
		return fmt.Sprintf("broker %d fenced", c.Broker)
	case ByUnfencing:
		return fmt.Sprintf("broker %d unfenced", c.Broker)
	case ByUncleanRegistration:
		return fmt.Sprintf("broker %d registered after an unclean shutdown", c.Broker)
	case ByRegistration:
		return fmt.Sprintf("broker %d registered again", c.Broker)
	case ByControlledShutdown:
		return fmt.Sprintf("broker %d in controlled shutdown", c.Broker)
	case ByAlterPartition:
		return fmt.Sprintf("alter partition by %d", c.Broker)
	case ByElectLeaders:
		return "elect leaders"
	case ByReassignment:
		return "reassignment"
	case ByRebalance:
		return "leader rebalance"
	default:
		return fmt.Sprintf("cause %d", c.Kind)
	}
}

func (RegisterBroker) isRecord()    {}
func (BrokerChange) isRecord()      {}
func (TopicRecord) isRecord()       {}
func (ProducerIDsRecord) isRecord() {}
func (RemoveTopicRecord) isRecord() {}
func (ConfigRecord) isRecord()      {}
func (PartitionRecord) isRecord()   {}
func (PartitionChange) isRecord()   {}
