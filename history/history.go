// Package history holds what happened in a run, as values: operations, faults, observations, protocol steps and
// replica dumps. It is the only thing the checker sees, so a stored run can be checked again by a later version.
//
// Every time.Duration of this package counts nanoseconds, as Go counts it, in JSON (run.json, results.json, the journal) a whole
// number of them: 1500000000 is 1.5 s. A field named Time, Invoke or Return is a moment, counted from the run's start on one monotonic
// clock, virtual in the simulator; Run.Started alone is a time of day.
package history

import (
	"fmt"
	"time"
)

// Offset is a position in a partition's log; the first record has offset 0. Unknown is -1.
type Offset int64

// UnknownOffset marks an offset that nobody told: an acknowledgement without one, an empty log end.
const UnknownOffset Offset = -1

// Epoch is a leader epoch, as Kafka's partition leader epoch (KIP-101). Unknown is -1.
type Epoch int32

// BrokerID is a broker's node.id. NoBroker (-1) stands for none, as in Kafka's metadata.
type BrokerID int32

// NoBroker is the absence of a broker: no leader, no controller, nobody asked.
const NoBroker BrokerID = -1

// ZooKeeper is the server that stands beside the brokers of older releases of Kafka, where faults name it.
const ZooKeeper BrokerID = -2

// Partition names one partition of one topic; its text form is topic/index, as plans write it.
type Partition struct {
	Topic string `json:"topic"`
	Index int32  `json:"index"`
}

// String returns topic/index.
func (p Partition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Index) }

// Compare orders partitions by topic, then index: negative, zero or positive.
func (p Partition) Compare(q Partition) int {
	switch {
	case p.Topic < q.Topic:
		return -1
	case p.Topic > q.Topic:
		return 1
	default:
		return int(p.Index) - int(q.Index)
	}
}

// History is one run's record, split by kind. Each slice is in journal order; Index fields order entries across slices.
type History struct {
	Ops    []Op           `json:"ops"`
	Faults []FaultEvent   `json:"faults"`
	States []ClusterState `json:"states"`
	Steps  []Step         `json:"steps"`
	Dumps  []Dump         `json:"dumps"`
	Marks  []Mark         `json:"marks"`
}

// Mark is a phase of the run: "load", "heal", "settle", "final", "end"; Detail says more, Failed that it did not come
// about (settle within its bound).
type Mark struct {
	Index  int64         `json:"index"`
	Time   time.Duration `json:"time"` // nanoseconds since the run's start
	Name   string        `json:"name"`
	Failed bool          `json:"failed,omitempty"`
	Detail string        `json:"detail,omitempty"`
}
