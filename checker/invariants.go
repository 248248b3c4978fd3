package checker

import (
	"time"

	"tidemark/history"
)

// Entry is a log entry as invariants compare it: two entries are the same when epoch and digest are.
type Entry struct {
	Epoch  history.Epoch
	Digest uint64
}

// ReplicaView is a replica as an invariant sees it; the harness fills one for each replica whose version moved.
type ReplicaView struct {
	Broker      history.BrokerID
	Incarnation int64 // broker epoch of the running incarnation
	Running     bool  // false: the broker is down (its log is still looked at through Entry)
	Leads       bool
	Epoch       history.Epoch
	EpochStart  history.Offset // where the leader's epoch began
	Start       history.Offset
	LEO, HW     history.Offset
	ISR         []history.BrokerID // a leader's committed ISR
	Maximal     []history.BrokerID // and with pending members
	Entry       func(history.Offset) (Entry, bool)
}

// PartitionView is a partition as the controller has committed it.
type PartitionView struct {
	Partition history.Partition
	Leader    history.BrokerID
	Epoch     history.Epoch
	ISR, ELR  []history.BrokerID
	Replicas  []history.BrokerID
	MinISR    int
	Known     map[history.BrokerID]BrokerView
}

// BrokerView is a broker as the controller has it registered.
type BrokerView struct {
	Incarnation int64
	Fenced      bool
}

// Invariants looks at every state that a simulated cluster goes through. It keeps ghosts: the true high watermark of each
// partition (the highest that a leader of a committed epoch exposed) and the entries below it.
type Invariants struct{ contract Contract }

// NewInvariants returns invariants for a contract.
func NewInvariants(c Contract) *Invariants { return &Invariants{contract: c} }

// Partition tells the committed state of a partition after it changed.
func (v *Invariants) Partition(now time.Duration, p PartitionView) {}

// Replica tells a replica's state after it changed.
func (v *Invariants) Replica(now time.Duration, p history.Partition, r ReplicaView) {
}

// Broken lists what was broken, the first of each name.
func (v *Invariants) Broken() []Broken { return nil }
