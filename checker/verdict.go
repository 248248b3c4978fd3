// Package checker is what must hold: the contract of a configuration, the log checker that decides by offsets, porcupine as a second
// judge, invariants over the brokers' state, and the verdict with its witness. It sees a history and nothing else.
package checker

import (
	"time"

	"tidemark/history"
)

// Status is a verdict's word.
type Status string

// The verdicts. Only Valid is green.
const (
	Valid   Status = "valid"
	Invalid Status = "invalid"
	Unknown Status = "unknown" // something ran out; Verdict.Reason says what
	Vacuous Status = "vacuous" // too few operations, or faults that changed nothing
)

// Severity says what a finding means under the contract.
type Severity string

// The severities: a violation makes the run invalid, an allowed anomaly is reported, information is only that.
const (
	Violation Severity = "violation"
	Allowed   Severity = "allowed"
	Info      Severity = "info"
)

// Finding is one anomaly with its witness.
type Finding struct {
	Class     Class             `json:"class"`
	Severity  Severity          `json:"severity"`
	Partition history.Partition `json:"partition"`
	Offset    history.Offset    `json:"offset"`              // UnknownOffset where there is none
	Value     string            `json:"value,omitempty"`     // the message's, "" where it is about none
	Invariant string            `json:"invariant,omitempty"` // the first that was broken, "" where it is about none
	Count     int               `json:"count"`               // how many of the class this one stands for (the first is told)
	Ops       []int64           `json:"ops"`                 // operations that prove it
	Witness   Witness           `json:"witness"`
	Signature string            `json:"signature"`     // class + the protocol steps that touched the offset
	Text      string            `json:"text"`          // the witness in words, a few sentences
	Why       string            `json:"why,omitempty"` // why the contract allows it, a sentence; "" where it is not allowed
	Implied   []Implied         `json:"implied,omitempty"`
}

// Told is the finding in words, with why the contract allows it if it does.
func (f *Finding) Told() string {
	if f.Why == "" {
		return f.Text
	}
	return f.Text + " The contract allows it: " + lower(f.Why)
}

// Implied is what follows from a finding: anomalies of one class that concern its record or its offset, and would not be but for it.
type Implied struct {
	Class  Class          `json:"class"`
	Offset history.Offset `json:"offset"` // of the first; UnknownOffset where there is none
	Value  string         `json:"value,omitempty"`
	Count  int            `json:"count"`
	Ops    []int64        `json:"ops"`  // operations that prove them
	Text   string         `json:"text"` // the first, in a sentence or two
}

// Witness is the proof of a finding as fields; the report draws it, Text tells it. Zero values stand for "not known".
type Witness struct {
	Value     string             `json:"value"`
	Offset    history.Offset     `json:"offset"`
	Producer  int32              `json:"producer"`
	Acked     int64              `json:"ackedNanos"` // when the producer got the ack, in nanoseconds since the run's start; -1 if never
	AckedBy   history.BrokerID   `json:"ackedBy"`
	AckEpoch  history.Epoch      `json:"ackEpoch"` // leader epoch in which that broker led, from the steps; see Deposed
	Deposed   *Deposed           `json:"deposed,omitempty"`
	HeldBy    []history.BrokerID `json:"heldBy"` // replicas that had appended it when it was acknowledged
	ISR       []history.BrokerID `json:"isr"`    // the ISR when it was acknowledged
	RemovedBy []Removal          `json:"removedBy"`
	Replaced  string             `json:"replaced,omitempty"` // the value that stands at its offset at the end
	Instead   *Instead           `json:"instead,omitempty"`
	OtherAck  *OtherAck          `json:"otherAck,omitempty"`
	// Steps lists its appends, its acknowledgement (StepAck), and the elections, truncations, ISR changes, downs and starts from its
	// append to its loss (or what was appended and acknowledged instead); where the leader that lost it had been elected before, from that election on.
	Steps []history.Step `json:"steps"`
	// Faults lists those that a probe saw in force when the finding came about, as they began.
	Faults []InForce `json:"faults,omitempty"`
}

// Deposed says that the broker that acknowledged a record led no longer.
type Deposed struct {
	Leader history.BrokerID `json:"leader"` // whom it followed
	Epoch  history.Epoch    `json:"epoch"`
	Time   int64            `json:"sinceNanos"` // since the run's start
}

// Instead says what stood where a record was acknowledged that no replica appended there.
type Instead struct {
	Value  string           `json:"value,omitempty"` // "" if the history does not tell
	Time   int64            `json:"timeNanos"`       // when it was appended
	Broker history.BrokerID `json:"broker"`          // by which leader
	Epoch  history.Epoch    `json:"epoch"`
	Before bool             `json:"before"` // before the record was sent
}

// OtherAck is the acknowledgement of another value at the same offset.
type OtherAck struct {
	Value    string           `json:"value"`
	Producer int32            `json:"producer"`
	Sent     int64            `json:"sentNanos"`
	Acked    int64            `json:"ackedNanos"`
	AckedBy  history.BrokerID `json:"ackedBy"`
}

// Removal says how one replica came not to have the record: truncated, lost in a power failure, or never fetched.
type Removal struct {
	Broker history.BrokerID `json:"broker"`
	How    string           `json:"how"`       // truncated, recovery, never had it
	Time   int64            `json:"timeNanos"` // since the run's start, -1 if never
	From   history.Offset   `json:"from"`
	To     history.Offset   `json:"to"`
	Leader history.BrokerID `json:"leader"` // whom it followed then
	Epoch  history.Epoch    `json:"epoch"`
}

// Verdict is the outcome of checking one run.
type Verdict struct {
	Format    int       `json:"format"` // 1
	Checker   string    `json:"checker"`
	Status    Status    `json:"status"`
	Reason    string    `json:"reason"`                // one sentence
	Findings  []Finding `json:"findings"`              // violations first
	Blind     []string  `json:"notLookedAt,omitempty"` // what the run's world did not let be seen, in sentences
	Contract  Contract  `json:"contract"`
	Stats     Stats     `json:"stats"`
	Porcupine Second    `json:"porcupine"`
}

// Stats counts what the run did, so that a green one can be seen to have done something.
type Stats struct {
	Sends, Acked, Failed, Unknown int64 // sends by outcome; one without a completion is unknown
	UnknownInLog                  int64 // of those unknown, how many stand in the log at the end
	Polls, Records                int64
	LeaderChanges, ISRShrinks     int64
	ISRGrowths, Truncations       int64
	TornRecoveries                int64
	Faults, FaultsObserved        int64            // requested, and seen by a probe to take effect
	FaultsByKind                  map[string]int64 // those that took effect
	DumpedReplicas, DumpErrors    int64
}

// Contract is what a configuration promises, and what its faults may take away.
type Contract struct {
	Acks           int16 `json:"acks"`
	MinISR         int   `json:"minInsyncReplicas"`
	Factor         int   `json:"replicationFactor"`
	Unclean        bool  `json:"uncleanLeaderElection"`
	ELR            bool  `json:"eligibleLeaderReplicas"`
	Idempotent     bool  `json:"idempotent"`
	Retries        bool  `json:"retries,omitempty"` // some producers send a value again that was not acknowledged
	WithinBudget   bool  `json:"withinBudget"`      // the nemesis stays inside the fault budget
	Durable        bool  `json:"durable"`           // what was acknowledged is never lost
	Ordered        bool  `json:"ordered"`
	Removes        bool  `json:"removes,omitempty"` // retention or DeleteRecords remove old records
	ExactlyOnce    bool  `json:"exactlyOnce"`       // a retry repeats no message; one that was sent once never stands twice anyhow
	CommittedReads bool  `json:"committedReads"`    // what a consumer read stays
	// ReadBound is how long after a write's acknowledgement a consumer at the log's end may still not have been given it, in nanoseconds;
	// 0 promises nothing.
	ReadBound time.Duration `json:"readBound,omitempty"`
	Because   string        `json:"because"` // one sentence: why the promises are what they are
}

// Options bound a check.
type Options struct {
	PorcupineSteps int // budget of the second judge in model steps over the whole history; 0 leaves it out
}

// Broken is one broken invariant.
type Broken struct {
	Name      string // LogMatching, LeaderCompleteness, ...
	Time      int64  // nanoseconds since the run's start
	Detail    string // who, where, what was expected, in words
	Partition history.Partition
	Offset    history.Offset
}

// Step is the broken invariant as a history holds it.
func (b *Broken) Step() history.Step {
	return history.Step{Time: time.Duration(b.Time), Kind: history.StepInvariant, Broker: history.NoBroker, Partition: b.Partition, Epoch: -1,
		Peer: history.NoBroker, From: b.Offset, To: b.Offset, Detail: b.Name + ": " + b.Detail}
}
