// Package refused tells whoever watches a simulated run what its brokers refused, and what would have come of it: where a rule that holds the protocol together
// had something to hold. Each is told by the rule itself, whichever known bug is on (package bug), and also where that takes the decision wrongly.
//
//	if !answersRequest(...) {
//		m.cfg.Refused.Note(refused.StaleFetchAnswer, effect, about)
//	}
package refused

import "tidemark/broker/kafka"

// Rule is what was held against something: one of the protocol's safety decisions.
type Rule string

// The rules of a follower.
const (
	StaleFetchAnswer Rule = "stale fetch answer" // it was asked for in another epoch
	MovedFetchAnswer Rule = "moved fetch answer" // it was asked for at another log end
	YoungerBatch     Rule = "younger batch"      // in the answer to a fetch of an earlier epoch
)

// BrokenBatch is of a log that is opened: its bytes are not those that were written.
const BrokenBatch Rule = "broken batch"

// The rules of a leader.
const (
	FencedFetch      Rule = "fenced fetch"       // of an earlier leader epoch
	FetchAhead       Rule = "fetch ahead"        // of a later leader epoch
	ForeignFetch     Rule = "foreign fetch"      // of an incarnation that is gone
	DivergingFetch   Rule = "diverging fetch"    // of whom the log leaves the leader's
	JoinBeforeEpoch  Rule = "join before epoch"  // it lacks what the leader had when its epoch began
	StaleAlterAnswer Rule = "stale alter answer" // to a proposal that is the partition's no longer
	AckOfEarlier     Rule = "ack of earlier"     // of what was appended in an epoch that is over
	AckBelowMinISR   Rule = "ack below min ISR"  // of what the high watermark has passed
	UnknownLatest    Rule = "unknown latest"     // the end of the log is told before the high watermark has reached the epoch's start
)

// The rules of a controller.
const (
	AlterOfLater       Rule = "alter of later"       // it knows a later state
	AlterOfEarlier     Rule = "alter of earlier"     // in an earlier leader epoch, or by who leads no longer
	AlterStale         Rule = "alter stale"          // on an earlier state of the partition
	MemberInactive     Rule = "member inactive"      // fenced, or shutting down
	MemberGone         Rule = "member gone"          // of another incarnation than the registered one
	UncleanMarker      Rule = "unclean marker"       // of a clean shutdown that was not the last one
	UncleanElection    Rule = "unclean election"     // somebody lives, and nobody may lead
	ReassignmentToWait Rule = "reassignment to wait" // for those that lag
)

// Effect is what would have come of it, the gravest first known.
type Effect uint8

// The effects.
const (
	Nothing      Effect = iota
	Told                // somebody would have been told, or answered
	Counted             // a follower's log end would count
	Appended            // records would be appended
	Kept                // a log would keep what is broken
	Cut                 // a log would be cut
	CutCommitted        // below its high watermark
	Raised              // the high watermark would have moved on
	Joined              // a replica would be in the ISR
	Left                // a replica would be out of the ISR
	Elected             // somebody would lead
)

var effects = [...]string{"nothing", "told", "counted", "appended", "kept", "cut", "cut committed", "raised", "joined", "left", "elected"}

// String is the effect in a word or two.
func (e Effect) String() string {
	if int(e) < len(effects) {
		return effects[e]
	}
	return "unknown"
}

// Grave reports whether it would have changed what is committed, or who may say so.
func (e Effect) Grave() bool { return e >= Kept }

// Refusal is one decision.
type Refusal struct {
	Rule   Rule
	Effect Effect
}

// About is what a refusal concerns.
type About struct {
	Partition kafka.TopicPartition // zero if none
	Brokers   []kafka.BrokerID     // first the one of whose log it speaks
	// End is up to where that one's log was said to reach, 0 if nobody said. Whether that is still true nobody knows but who sees all brokers.
	End kafka.Offset
}

// Noted is a refusal, and what it concerned.
type Noted struct {
	Refusal
	About
}

// Log takes refusals down. The brokers of a simulated run share one; it is not for concurrent use. A nil Log takes nothing.
type Log struct{ noted []Noted }

// noteMax bounds what is taken down between two looks.
const noteMax = 1000

// Watched reports whether anybody will look: what is costly to find out need not be otherwise.
func (l *Log) Watched() bool { return l != nil }

// Note takes a refusal down.
func (l *Log) Note(rule Rule, effect Effect, about About) {
	if l != nil && len(l.noted) < noteMax {
		l.noted = append(l.noted, Noted{Refusal{rule, effect}, about})
	}
}

// Take returns what was noted since it was last called; it is the caller's until the next note.
func (l *Log) Take() []Noted {
	if l == nil {
		return nil
	}
	out := l.noted
	l.noted = l.noted[:0]
	return out
}
