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
	// MetadataLeaderCompleteness states that a member that leads in the highest term so far has every entry that any member applied.
	MetadataLeaderCompleteness = "MetadataLeaderCompleteness"
	// OneVoterChange states that a leader changes the voters one at a time: it proposes no change before the last is committed. Else two
	// majorities may have no voter in common (KIP-853; D. Ongaro, Consensus: Bridging Theory and Practice, 4.1).
	OneVoterChange = "OneVoterChange"
	// VoterDurability states that a voter that starts again still has what it told others before: its term and its vote in it, and every
	// entry that it acknowledged (the KRaft specification's Durability, of one disk). It is what makes the other three hold: a quorum remembers by the disks of its members.
	VoterDurability = "VoterDurability"
)

// QuorumView is a member of the controller quorum as an invariant sees it.
type QuorumView struct {
	Member   history.BrokerID
	Disk     uint64 // which of its disks the member claims to be on: one whose disk was replaced has promised nothing
	Term     int64
	Last     int64 // entry of its metadata log
	Leads    bool
	Changing int           // changes of the voters that the member proposed as the leader and that are not committed
	Began    bool          // first view of this incarnation: Told is what it found on its disk
	Told     QuorumPromise // what it has on its disk and may have told others
	Applied  []uint64      // digests of the metadata log up to and including each of the entries that the member applied last
	Index    int64         // of the last of them
	From     int64         // those up to it were told before, in this incarnation
}

// QuorumPromise is what a voter may have told others: whom it voted for and in which term, and the last entry that it acknowledged.
type QuorumPromise struct {
	Term  int64
	Vote  history.BrokerID // history.NoBroker before its first vote in the term
	Acked int64
}

// quorum is what is known of the controller quorum.
type quorum struct {
	leaders  map[int64]history.BrokerID // by term
	highest  int64                      // term in which anybody led
	applied  []uint64                   // the ghost: the longest metadata log that any member applied
	first    []history.BrokerID         // who applied each entry first
	promises map[voter]QuorumPromise
}

// voter is a member on a disk (KIP-853).
type voter struct {
	member history.BrokerID
	disk   uint64
}

// Quorum tells a member's state after it changed.
func (v *Invariants) Quorum(now time.Duration, q QuorumView) {
	if v.quorum.leaders == nil {
		v.quorum.leaders, v.quorum.promises = map[int64]history.BrokerID{}, map[voter]QuorumPromise{}
	}
	w := v.at(history.Partition{})
	v.remembers(now, w, q)
	if q.Changing > 1 {
		v.breaks(OneVoterChange, now, w, history.UnknownOffset, "Broker %d changes the voters of the controller quorum %d times at once in term %d", q.Member, q.Changing, q.Term)
	}
	if q.Leads {
		if other, ok := v.quorum.leaders[q.Term]; ok && other != q.Member {
			v.breaks(ElectionSafety, now, w, history.UnknownOffset, "Brokers %d and %d both led the controller quorum in term %d", other, q.Member, q.Term)
		}
		v.quorum.leaders[q.Term] = q.Member
		v.quorum.highest = max(v.quorum.highest, q.Term)
		if n := len(v.quorum.applied); q.Term == v.quorum.highest && q.Last < int64(n) {
			v.breaks(MetadataLeaderCompleteness, now, w, history.Offset(q.Last+1), "Broker %d leads the controller quorum in term %d, its metadata log ends at entry %d, and broker %d applied entry %d",
				q.Member, q.Term, q.Last, v.quorum.first[n-1], n)
		}
	}
	for i, digest := range q.Applied {
		index := q.Index - int64(len(q.Applied)-1-i)
		switch at := int(index) - 1; {
		case index <= q.From:
		case at == len(v.quorum.applied):
			v.quorum.applied = append(v.quorum.applied, digest)
			v.quorum.first = append(v.quorum.first, q.Member)
		case at > len(v.quorum.applied):
			v.breaks(MetadataLogMatching, now, w, history.Offset(index), "Broker %d applied the metadata entry at index %d, and nobody applied the one at %d", q.Member, index, len(v.quorum.applied)+1)
			return
		case v.quorum.applied[at] != digest:
			v.breaks(MetadataLogMatching, now, w, history.Offset(index), "Broker %d applied another metadata entry at index %d than broker %d had", q.Member, index, v.quorum.first[at])
			return
		}
	}
}

// remembers checks that a voter that starts has what it told in an earlier incarnation, and takes in what it tells in this one.
func (v *Invariants) remembers(now time.Duration, w *watched, q QuorumView) {
	who := voter{q.Member, q.Disk}
	was, known := v.quorum.promises[who]
	v.quorum.promises[who] = q.Told
	switch has := q.Told; {
	case !known || !q.Began:
	case has.Term < was.Term:
		v.breaks(VoterDurability, now, w, history.UnknownOffset, "Broker %d voted in term %d, and started again in term %d", q.Member, was.Term, has.Term)
	case has.Term == was.Term && was.Vote != history.NoBroker && has.Vote != was.Vote:
		v.breaks(VoterDurability, now, w, history.UnknownOffset, "Broker %d voted for broker %d in term %d, and started again without having voted so", q.Member, was.Vote, was.Term)
	case has.Acked < was.Acked:
		v.breaks(VoterDurability, now, w, history.Offset(has.Acked+1), "Broker %d acknowledged metadata up to entry %d, and started again with entries up to %d", q.Member, was.Acked, has.Acked)
	}
}
