package history

import "time"

// FaultPhase is where a fault is in its life. A fault counts only when a probe observed it.
type FaultPhase string

// The phases, in order. Refused ends a fault that was outside the budget or had no target; Failed ends one whose
// application, observation or undoing went wrong.
const (
	FaultRequested FaultPhase = "requested"
	FaultApplied   FaultPhase = "applied"
	FaultObserved  FaultPhase = "observed"
	FaultUndone    FaultPhase = "undone"
	FaultVerified  FaultPhase = "verified"
	FaultRefused   FaultPhase = "refused"
	FaultFailed    FaultPhase = "failed"
)

// FaultEvent is one phase of one plan line.
type FaultEvent struct {
	Index   int64         `json:"index"`
	Time    time.Duration `json:"time"`  // nanoseconds since the run's start
	Fault   int           `json:"fault"` // the plan line's number, from 0
	Phase   FaultPhase    `json:"phase"`
	Kind    string        `json:"kind"`              // partition, kill, pause, powerfail, stop, elect, clock, ...
	Line    string        `json:"line"`              // the plan line as text
	Targets []BrokerID    `json:"targets,omitempty"` // what its roles resolved to
	Detail  string        `json:"detail,omitempty"`  // what the probe saw, or why it was refused
}
