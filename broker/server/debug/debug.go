// Package debug is what a broker's debug endpoint (tidemark.debug.listener) tells, as JSON:
//
//	GET /state          State: the broker's replicas as they are, and the metadata that it has applied
//	GET /steps?from=N   Steps: the protocol steps from sequence number N on, as far as they are remembered
//	GET /metrics        gauges and counters as Prometheus text
//	GET /debug/pprof/   Go's profiles
//
// A state is taken between two inputs of the broker's state machine: it is consistent in itself. Offsets and epochs that are not
// known are -1. Times are of the machine's wall clock, in nanoseconds since 1970.
package debug

// State is a broker at one moment.
type State struct {
	Broker        int32          `json:"broker"`
	Time          int64          `json:"time_unix_ns"`
	Started       int64          `json:"started_unix_ns"` // when this incarnation started
	BrokerEpoch   int64          `json:"broker_epoch"`    // of this incarnation's registration
	Controller    int32          `json:"controller"`      // the active controller as this broker knows it
	IsController  bool           `json:"is_controller"`   // this broker is the active controller
	Term          int64          `json:"controller_term"` // of the controller quorum
	MetadataIndex int64          `json:"metadata_index"`  // of the last metadata entry applied
	NextStep      int64          `json:"next_step"`       // the sequence number of the next protocol step to come
	Sessions      FetchSessions  `json:"fetch_sessions"`  // that it keeps as a leader
	Replicas      []Replica      `json:"replicas"`        // by topic and partition
	Brokers       []Broker       `json:"brokers"`         // registered, by id
	Partitions    []Registration `json:"partitions"`      // committed, by topic and partition
}

// FetchSessions counts the fetch sessions (KIP-227) of followers and consumers.
type FetchSessions struct {
	Sessions   int `json:"sessions"`
	Partitions int `json:"partitions"` // that they remember
}

// The roles of a replica.
const (
	Leader   = "leader"
	Follower = "follower"
	Offline  = "offline" // no leader is known
)

// Replica is a replica as its own broker has it.
type Replica struct {
	Topic      string   `json:"topic"`
	Partition  int32    `json:"partition"`
	Role       string   `json:"role"`
	Leader     int32    `json:"leader"`       // as this broker knows it
	Epoch      int32    `json:"leader_epoch"` // the latest that it knows
	LogEpoch   int32    `json:"log_epoch"`    // of the last record in its log: a follower's last fetched epoch
	LEO        int64    `json:"leo"`
	HW         int64    `json:"hw"`
	Start      int64    `json:"log_start"`
	Recovery   int64    `json:"recovery_point"`        // below it everything was flushed
	EpochStart int64    `json:"epoch_start"`           // on a leader, where its epoch began, else -1
	ISR        []int32  `json:"isr,omitempty"`         // on a leader, committed
	MaximalISR []int32  `json:"maximal_isr,omitempty"` // on a leader, with the pending and doubtful members
	Remotes    []Remote `json:"remotes,omitempty"`     // on a leader, the followers
}

// Remote is a follower as its leader knows it.
type Remote struct {
	Broker      int32 `json:"broker"`
	LEO         int64 `json:"leo"`                    // the offset that it fetched from last in this epoch
	BrokerEpoch int64 `json:"broker_epoch"`           // that its last fetch carried
	LastFetch   int64 `json:"last_fetch_unix_ns"`     // 0 if it never fetched
	CaughtUp    int64 `json:"last_caught_up_unix_ns"` // 0 if it never was
}

// Broker is a registered broker.
type Broker struct {
	ID       int32  `json:"id"`
	Epoch    int64  `json:"epoch"`
	Host     string `json:"host"`
	Port     int32  `json:"port"`
	Fenced   bool   `json:"fenced"`
	Stopping bool   `json:"stopping"` // in controlled shutdown
}

// Registration is a partition as the controller has committed it.
type Registration struct {
	Topic          string  `json:"topic"`
	Partition      int32   `json:"partition"`
	Leader         int32   `json:"leader"`
	LeaderEpoch    int32   `json:"leader_epoch"`
	PartitionEpoch int32   `json:"partition_epoch"`
	Replicas       []int32 `json:"replicas"`
	ISR            []int32 `json:"isr"`
	ELR            []int32 `json:"elr"`
	LastKnownELR   []int32 `json:"last_known_elr"`
}

// Steps is a stretch of protocol steps without gaps.
type Steps struct {
	Broker  int32  `json:"broker"`
	Started int64  `json:"started_unix_ns"` // of the incarnation: sequence numbers begin anew with each
	Lost    int64  `json:"lost"`            // how many from the one that was asked for on are forgotten already
	Next    int64  `json:"next"`            // where to ask from next
	Steps   []Step `json:"steps"`
}

// ISRStep is the kind of a step that tells of a committed leader or ISR change; the other kinds are those of package replica.
const ISRStep = "isr"

// Step is one protocol step. Of an isr step, Peer is the leader and From and To are -1.
type Step struct {
	Seq            int64   `json:"seq"` // from 0, without gaps within one incarnation
	Time           int64   `json:"time_unix_ns"`
	Kind           string  `json:"kind"`
	Topic          string  `json:"topic"`
	Partition      int32   `json:"partition"`
	Epoch          int32   `json:"leader_epoch"`
	Peer           int32   `json:"peer"`
	From           int64   `json:"from"`
	To             int64   `json:"to"`
	Detail         string  `json:"detail,omitempty"`
	ISR            []int32 `json:"isr,omitempty"`
	PartitionEpoch int32   `json:"partition_epoch,omitempty"` // of an isr step: the same change is told by every broker
	Unclean        bool    `json:"unclean,omitempty"`         // of an isr step: an unclean election
}
