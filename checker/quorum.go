package checker

import (
	"time"

	"tidemark/history"
)

// The invariants of the controller quorum, from KIP-595's and the Raft paper's safety properties. They hold whatever fails, within the
// budget or beyond it: a voter acknowledges nothing that it has not flushed.
const (
	// ElectionSafety states that at most one voter leads the quorum in a term.
	ElectionSafety = "ElectionSafety"
	// MetadataLogMatching states that two members of the quorum that applied an entry at an index applied the same entry, and all the same
	// before it; so a committed entry is never lost or changed.
	MetadataLogMatching = "MetadataLogMatching"
)

// QuorumView is a member of the controller quorum as an invariant sees it.
type QuorumView struct {
	Member  history.BrokerID
	Term    int64
	Leads   bool
	Applied []uint64 // a digest of the metadata log up to and including each entry that the member applied, from the first
	From    int      // so many of them were told before, in this incarnation
}

// quorum is what is known of the controller quorum.
type quorum struct {
	leaders map[int64]history.BrokerID // by term
	applied []uint64                   // the ghost: the longest metadata log that any member applied
	first   []history.BrokerID         // who applied each entry first
}

// Quorum tells a member's state after it changed.
func (v *Invariants) Quorum(now time.Duration, q QuorumView) {
	w := v.at(history.Partition{})
	if q.Leads {
		if v.quorum.leaders == nil {
			v.quorum.leaders = map[int64]history.BrokerID{}
		}
		if other, ok := v.quorum.leaders[q.Term]; ok && other != q.Member {
			v.breaks(ElectionSafety, now, w, history.UnknownOffset, "Brokers %d and %d both led the controller quorum in term %d", other, q.Member, q.Term)
		}
		v.quorum.leaders[q.Term] = q.Member
	}
	for i := q.From; i < len(q.Applied); i++ {
		switch {
		case i == len(v.quorum.applied):
			v.quorum.applied = append(v.quorum.applied, q.Applied[i])
			v.quorum.first = append(v.quorum.first, q.Member)
		case v.quorum.applied[i] != q.Applied[i]:
			v.breaks(MetadataLogMatching, now, w, history.Offset(i+1), "Broker %d applied another metadata entry at index %d than broker %d had", q.Member, i+1, v.quorum.first[i])
			return
		}
	}
}
