package history

import "time"

// ClusterState is what an observer saw of the cluster at one moment.
type ClusterState struct {
	Index      int64            `json:"index"`
	Time       time.Duration    `json:"time"` // nanoseconds since the run's start
	Controller BrokerID         `json:"controller"`
	Partitions []PartitionState `json:"partitions"` // in order of Partition.Compare
}

// PartitionState is a partition as the controller has it, with each replica as its broker has it.
type PartitionState struct {
	Partition      Partition      `json:"partition"`
	Leader         BrokerID       `json:"leader"`
	Epoch          Epoch          `json:"epoch"`
	PartitionEpoch int32          `json:"partitionEpoch"`
	ISR            []BrokerID     `json:"isr"`
	ELR            []BrokerID     `json:"elr,omitempty"`
	Replicas       []ReplicaState `json:"replicas"` // in order of assignment
}

// ReplicaState is one replica as its own broker has it. Up is false while the broker is down, paused or unreachable for the
// observer; the other fields are then the last known ones, or -1.
type ReplicaState struct {
	Broker BrokerID `json:"broker"`
	Up     bool     `json:"up"`
	Leads  bool     `json:"leads"`
	Epoch  Epoch    `json:"epoch"`
	LEO    Offset   `json:"leo"`
	HW     Offset   `json:"hw"`
	Start  Offset   `json:"start"` // log start offset
}

// StepKind names a protocol step.
type StepKind string

// The protocol steps that a broker reports and a witness tells; StepInvariant is of no broker.
const (
	StepElection StepKind = "election" // Broker became leader in Epoch; From is its HW then, To its LEO
	StepFollow   StepKind = "follow"   // Broker follows Peer in Epoch; From is its HW then, To its LEO
	StepISR      StepKind = "isr"      // the controller committed ISR as the partition's in-sync replicas
	StepHW       StepKind = "hw"       // Broker's high watermark moved From → To
	StepAppend   StepKind = "append"   // Broker appended [From, To) in Epoch
	StepTruncate StepKind = "truncate" // Broker cut its log From (old LEO) → To (new LEO)
	StepTrim     StepKind = "trim"     // Broker moved its log start From → To: retention, DeleteRecords, or its leader did
	StepStart    StepKind = "start"    // Broker came up; To is the partition's LEO after recovery
	StepDown     StepKind = "down"     // Broker went down (killed, powered off, stopped)
	StepRecovery StepKind = "recovery" // Broker's recovery cut its log From → To (torn tail, lost segment)

	// An invariant of the protocol was seen broken in a state that the simulator went through, on the partition (zero: of the controller
	// quorum) at offset From; Detail is its name, a colon, and what was expected.
	StepInvariant StepKind = "invariant"
)

// ExitedByItself begins the Detail of a StepDown of a broker that nobody killed or stopped.
const ExitedByItself = "exited by itself"

// NotBack begins the Detail of the mark "heal" that failed because brokers that were started did not come back, and for no other reason.
const NotBack = "not back"

// DiskFailed begins the Detail of a StepDown of a broker that stopped because the harness let its disk fail, as it must.
const DiskFailed = "stopped by a failing disk"

// UncleanElection stands in the Detail of a StepISR that elected, uncleanly, a leader from outside ISR and ELR.
const UncleanElection = "unclean election"

// Step is one protocol step of one broker on one partition (Partition is zero for a step of the whole broker).
type Step struct {
	Index     int64         `json:"index"`
	Time      time.Duration `json:"time"` // nanoseconds since the run's start
	Kind      StepKind      `json:"kind"`
	Broker    BrokerID      `json:"broker"`
	Partition Partition     `json:"partition"`
	Epoch     Epoch         `json:"epoch"`
	Peer      BrokerID      `json:"peer"`
	From      Offset        `json:"from"`
	To        Offset        `json:"to"`
	ISR       []BrokerID    `json:"isr,omitempty"`
	Detail    string        `json:"detail,omitempty"`
}

// Dump is what one replica holds after the run, read from its own files. Err is set where the log could not be read: such a
// dump is no evidence of anything.
type Dump struct {
	Index     int64         `json:"index"`
	Time      time.Duration `json:"time"` // when it was read: nanoseconds since the run's start
	Broker    BrokerID      `json:"broker"`
	Partition Partition     `json:"partition"`
	LEO       Offset        `json:"leo"`
	HW        Offset        `json:"hw"`
	Start     Offset        `json:"start"`
	Records   []DumpRecord  `json:"records"`
	Err       string        `json:"err,omitempty"`
}

// DumpRecord is one record in a replica's log.
type DumpRecord struct {
	Offset Offset `json:"offset"`
	Epoch  Epoch  `json:"epoch"`
	Value  string `json:"value"`
}
