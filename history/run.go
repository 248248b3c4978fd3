package history

import (
	"strings"
	"time"
)

// Run is a run fully expanded, as run.json holds it: with this and the same build, a simulated run replays exactly.
// 64-bit seeds are JSON strings, as JavaScript cannot hold them as numbers.
type Run struct {
	Format   int    `json:"format"`             // version of this schema, 1
	Tool     string `json:"tool"`               // version of tidemark that made it
	Build    string `json:"build"`              // hash of the program's own file: only the same build replays exactly
	World    string `json:"world"`              // sim or docker
	Target   string `json:"target,omitempty"`   // whose brokers run, such as apache-kafka:4.1.0; "" is this program's own
	Template string `json:"template,omitempty"` // text of the file that describes the target; "" if it is known by its name
	// Like is the target whose faults, times and elections a simulated run has, so that its plan can be carried over; "" is none.
	Like     string            `json:"like,omitempty"`
	Seed     uint64            `json:"seed,string"`
	Started  time.Time         `json:"started"`  // wall clock; no decision depends on it
	Duration time.Duration     `json:"duration"` // of the load, in nanoseconds
	Settle   time.Duration     `json:"settle"`   // bound on settling, in nanoseconds
	Brokers  int               `json:"brokers"`
	Topic    string            `json:"topic"`
	Parts    int               `json:"partitions"`
	Factor   int               `json:"replicationFactor"`
	MinISR   int               `json:"minInsyncReplicas"`
	Acks     int16             `json:"acks"`
	Unclean  bool              `json:"uncleanLeaderElection"`
	ELR      bool              `json:"eligibleLeaderReplicas"`
	Writers  int               `json:"producers"`
	Readers  int               `json:"consumers"`
	Client   string            `json:"client,omitempty"` // whose clients make the load: ClientRaw (also ""), ClientFranz or ClientBoth
	Rate     float64           `json:"rate"`             // operations a second, all clients together
	Config   map[string]string `json:"config,omitempty"` // further broker configuration, Kafka's keys
	Bug      string            `json:"bug,omitempty"`    // the known bug that is switched on
	// Faults lists the kinds of faults that a drawn plan may have, with commas between them; "" is all that the world can do.
	Faults string `json:"faults,omitempty"`
	Plan   string `json:"plan"` // the nemesis plan as text
	Beyond bool   `json:"beyondBudget,omitempty"`
	Memory int64  `json:"memory,omitempty"` // limit of each broker's container, in bytes; 0 is the container world's own
	// ReadBound is how long after a write's acknowledgement a consumer at the log's end may still not have been given it, in nanoseconds;
	// 0 promises nothing.
	ReadBound time.Duration `json:"readBound,omitempty"`
	// FollowerFetch puts each broker in a rack of its own, and lets consumers read from the replica in theirs (KIP-392).
	FollowerFetch bool `json:"followerFetch,omitempty"`
	// Idempotent makes producers idempotent (KIP-98, enable.idempotence): they send a value again until it is acknowledged or too old, and
	// brokers recognize it.
	Idempotent bool `json:"idempotent,omitempty"`
	// Trim is the mean time between two DeleteRecords, which remove a partition's oldest records, in nanoseconds; 0 is none.
	Trim time.Duration `json:"trim,omitempty"`
	// Recreated is a second topic, of one partition, that faults delete and create again; "" is none.
	Recreated string  `json:"recreated,omitempty"`
	CPUs      float64 `json:"cpus,omitempty"` // limit of each broker's container, in processors; 0 is none
}

// Retains reports whether the run's configuration lets brokers remove old records unasked: retention, or compaction.
func (r *Run) Retains() bool {
	for key, value := range r.Config {
		limit := strings.Contains(key, "retention.") && !strings.Contains(key, "interval") && value != "-1"
		if limit || strings.Contains(key, "cleanup.policy") && strings.Contains(value, "compact") {
			return true
		}
	}
	return false
}

// Removes reports whether a log of the run may lose its oldest records at all: by retention, or as somebody asks for it.
func (r *Run) Removes() bool { return r.Trim > 0 || r.Retains() }
