package kafka

import "github.com/twmb/franz-go/pkg/kerr"

// Code is one of Kafka's error codes, as responses carry them; 0 is success.
type Code int16

// The codes that this broker answers with (Kafka's Errors.java).
const (
	None                         Code = 0
	UnknownServerError           Code = -1
	OffsetOutOfRange             Code = 1
	CorruptMessage               Code = 2
	UnknownTopicOrPartition      Code = 3
	InvalidFetchSize             Code = 4
	LeaderNotAvailable           Code = 5
	NotLeaderOrFollower          Code = 6
	RequestTimedOut              Code = 7
	BrokerNotAvailable           Code = 8
	ReplicaNotAvailable          Code = 9
	MessageTooLarge              Code = 10
	CoordinatorLoadInProgress    Code = 14
	CoordinatorNotAvailable      Code = 15
	InvalidTopic                 Code = 17
	RecordListTooLarge           Code = 18
	NotEnoughReplicas            Code = 19
	NotEnoughReplicasAfterAppend Code = 20
	InvalidRequiredAcks          Code = 21
	UnsupportedVersion           Code = 35
	TopicAlreadyExists           Code = 36
	InvalidPartitions            Code = 37
	InvalidReplicationFactor     Code = 38
	InvalidReplicaAssignment     Code = 39
	InvalidConfig                Code = 40
	NotController                Code = 41
	InvalidRequest               Code = 42
	UnsupportedForMessageFormat  Code = 43
	OutOfOrderSequenceNumber     Code = 45
	InvalidProducerEpoch         Code = 47
	InvalidTxnState              Code = 48
	StorageError                 Code = 56
	FetchSessionIDNotFound       Code = 70
	InvalidFetchSessionEpoch     Code = 71
	ListenerNotFound             Code = 72
	TopicDeletionDisabled        Code = 73
	FencedLeaderEpoch            Code = 74
	UnknownLeaderEpoch           Code = 75
	StaleBrokerEpoch             Code = 77
	OffsetNotAvailable           Code = 78
	PreferredLeaderNotAvailable  Code = 80
	ElectionNotNeeded            Code = 84
	EligibleLeadersNotAvailable  Code = 83
	NoReassignmentInProgress     Code = 85
	InvalidRecord                Code = 87
	InvalidUpdateVersion         Code = 95
	UnknownTopicID               Code = 100
	DuplicateBrokerRegistration  Code = 101
	BrokerIDNotRegistered        Code = 102
	InconsistentTopicID          Code = 103
	FetchSessionTopicIDError     Code = 106
	IneligibleReplica            Code = 107
	NewLeaderElected             Code = 108
	DuplicateVoter               Code = 126
	VoterNotFound                Code = 127
)

// String returns Kafka's name of the code, such as NOT_LEADER_OR_FOLLOWER.
func (c Code) String() string {
	if c == None {
		return "NONE"
	}
	if e := kerr.TypedErrorForCode(int16(c)); e != nil {
		return e.Message
	}
	return "UNKNOWN_SERVER_ERROR"
}
