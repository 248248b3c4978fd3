package checker

import (
	"fmt"
	"slices"
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
	DueHW       history.Offset     // of a leader whose committed ISR has just changed: the HW that its rules give by what it knows
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

// The invariants that compare entries below a high watermark. All are decided by comparing with the ghost, the true committed log; the
// name says who disagrees with it.
const (
	// LogMatching states that a follower's entries below its own HW are the committed ones, so that any two replicas agree below both
	// their HWs. From the TLA+ specification github.com/Vanlightly/kafka-tlaplus, as the Raft paper's property of that name.
	LogMatching = "LogMatching"
	// WeakIsr states the same of a leader that was deposed and does not know it yet. From the TLA+ specification
	// github.com/hachikuji/kafka-specification.
	WeakIsr = "WeakIsr"
	// StrongIsr states that every member of the controller's ISR, or ELR, has the committed entries below the true HW. From
	// hachikuji/kafka-specification; the ELR (KIP-966) joins as it may be elected just so.
	StrongIsr = "StrongIsr"
	// ConsistentRead states that the leader's entries below its HW are the committed ones: what a consumer read at an offset stays there.
	// From Vanlightly/kafka-tlaplus.
	ConsistentRead = "ConsistentRead"
)

// The invariants that compare a log's end with the true HW.
const (
	// ValidHighWatermark states that the log of every member of the controller's ISR reaches the true HW. From hachikuji/kafka-specification.
	ValidHighWatermark = "ValidHighWatermark"
	// LeaderCandidate states the same of every member of the ELR, which may be elected too (KIP-966). From Vanlightly/kafka-tlaplus.
	LeaderCandidate = "LeaderCandidateCompleteness"
	// LeaderCompleteness states that the log of the leader that the controller chose reaches the true HW. From Vanlightly/kafka-tlaplus.
	LeaderCompleteness = "LeaderCompleteness"
)

// The invariants of who leads and of who must be waited for.
const (
	// LeaderInISR states that the leader which the controller committed is a member of the ISR that it committed. From
	// hachikuji/kafka-specification.
	LeaderInISR = "LeaderInIsr"
	// ReplicationQuorumSuperset states that a leader of the committed epoch waits, before it moves its HW, for every member of the
	// controller's ISR at least: its maximal ISR contains it (KIP-497). From Vanlightly/kafka-tlaplus.
	ReplicationQuorumSuperset = "ReplicationQuorumSuperset"
	// ValidControllerState states that ISR and ELR are among the assigned replicas and have no member in common, that no member of the ISR
	// is fenced (but the last one in classic mode), and that the ELR is empty while the ISR has min.insync.replicas members (KIP-966). From
	// Vanlightly/kafka-tlaplus.
	ValidControllerState = "ValidControllerState"
	// OneLeaderPerEpoch states that nobody leads in the committed epoch but the broker that the controller made its leader: the Raft
	// paper's election safety, of partitions (KIP-101 rests on it).
	OneLeaderPerEpoch = "OneLeaderPerEpoch"
)

// CurrentHighWatermark states that a leader whose committed ISR changed has looked at its HW again: it is not behind what its rules give by what the
// leader knows (KAFKA-13091).
const CurrentHighWatermark = "CurrentHighWatermark"

// The invariants of what never goes back.
const (
	// MonotoneEpoch states that a partition's leader epoch goes back neither at the controller nor, within one incarnation, on a broker
	// (KIP-101, KIP-320). Kafka's RaftEventSimulationTest asks the same of the metadata log, as MonotonicEpoch.
	MonotoneEpoch = "MonotoneEpoch"
	// MonotoneLeader states that a leader's LEO and HW do not go back while it leads in one epoch; across elections a local HW may. As
	// MonotonicHighWatermark of Kafka's RaftEventSimulationTest.
	MonotoneLeader = "MonotoneLeader"
	// ValidOffsets states that log start ≤ HW ≤ LEO on every replica, as Kafka's UnifiedLog keeps them.
	ValidOffsets = "ValidOffsets"
)

// InvariantMeans says what it means that an invariant is broken; "" of one that is not known.
func InvariantMeans(name string) string {
	switch name {
	case LogMatching, WeakIsr:
		return "a follower, or a deposed leader, has other entries below its own high watermark than were committed"
	case StrongIsr:
		return "a member of the ISR or ELR lacks a committed entry, or has another one in its place"
	case ConsistentRead:
		return "the leader has another entry below its high watermark than consumers may have read"
	case ValidHighWatermark, LeaderCandidate, LeaderCompleteness:
		return "the log of a member of the ISR, of the ELR, or of the leader that the controller chose ends below the true high watermark"
	case LeaderInISR, ValidControllerState:
		return "the controller committed a leader outside of the ISR, or an ISR and ELR that cannot be"
	case ReplicationQuorumSuperset:
		return "a leader moves its high watermark without waiting for a member that the controller may have in the ISR"
	case OneLeaderPerEpoch:
		return "two brokers lead in one epoch"
	case CurrentHighWatermark:
		return "a leader did not look at its high watermark again when its ISR changed"
	case MonotoneEpoch, MonotoneLeader, ValidOffsets:
		return "an epoch, or a leader's log end or high watermark, went back; or log start, high watermark and log end are out of order"
	case ElectionSafety:
		return "two brokers led the controller quorum in one term"
	case MetadataLogMatching:
		return "two members of the quorum applied different metadata entries at one index, or one passed an index over"
	case MetadataLeaderCompleteness:
		return "a member leads the quorum in the highest term so far and lacks a metadata entry that another one applied"
	case OneVoterChange:
		return "the quorum's leader proposed a change of its voters before the one before it was committed"
	case VoterDurability:
		return "a voter started again without the term, the vote, or the metadata entries that it had told others of"
	default:
		return ""
	}
}

// Invariants looks at every state that a simulated cluster goes through. It keeps ghosts: the true high watermark of each
// partition (the highest that a leader of a committed epoch exposed) and the entries below it.
//
// What is watched follows from the contract. Where the true HW may be taken back (unclean election, faults beyond the budget) there is no
// ghost, and the invariants that need it are off: all that compare entries or log ends. acks and min.insync.replicas switch none of them off,
// as the HW waits for the maximal ISR whatever the producer asked for. Beyond the budget nothing is watched at all, for the controller itself
// may have forgotten.
//
// Who is looked at matters as much. A log end is compared with the true HW only on a replica that runs in the incarnation that the controller
// has registered: one that lost unsynced data stays in a stale ISR until its new registration commits, and that is no mistake. A deposed
// leader that does not know it yet may hold anything above its own HW, and exposes nothing to the ghost. A follower may hold anything
// above its own HW. A local HW may go back except on a leader within its epoch.
type Invariants struct {
	contract   Contract
	partitions map[history.Partition]*watched
	last       *watched
	quorum     quorum
	broken     []Broken
}

// watched is what is known of one partition.
type watched struct {
	name      history.Partition
	committed PartitionView
	known     bool // committed was told
	ghost     ghost
	replicas  []*replica // ascending by broker
}

// replica is the last view of one replica, with how far it was compared with the ghost.
type replica struct {
	ReplicaView
	checked history.Offset // entries below were compared
}

// NewInvariants returns invariants for a contract.
func NewInvariants(c Contract) *Invariants {
	return &Invariants{contract: c, partitions: map[history.Partition]*watched{}}
}

func (v *Invariants) at(p history.Partition) *watched {
	if v.last != nil && v.last.name == p {
		return v.last
	}
	w := v.partitions[p]
	if w == nil {
		w = &watched{name: p, committed: PartitionView{Leader: history.NoBroker, Epoch: -1}}
		v.partitions[p] = w
	}
	v.last = w
	return w
}

// breaks records a broken invariant, the first of each name on each partition.
func (v *Invariants) breaks(name string, now time.Duration, w *watched, o history.Offset, format string, args ...any) {
	for i := range v.broken {
		if v.broken[i].Name == name && v.broken[i].Partition == w.name {
			return
		}
	}
	v.broken = append(v.broken, Broken{Name: name, Time: int64(now), Partition: w.name, Offset: o, Detail: fmt.Sprintf(format, args...)})
}

// Broken lists what was broken, the first of each name on each partition, in order of time.
func (v *Invariants) Broken() []Broken { return v.broken }

// Partition tells the committed state of a partition after it changed.
func (v *Invariants) Partition(now time.Duration, p PartitionView) {
	if !v.contract.WithinBudget {
		return
	}
	w := v.at(p.Partition)
	if w.known && p.Epoch < w.committed.Epoch {
		v.breaks(MonotoneEpoch, now, w, history.UnknownOffset, "the controller's leader epoch went from %d back to %d", w.committed.Epoch, p.Epoch)
	}
	if sameView(&w.committed, &p) {
		return
	}
	w.committed, w.known = p, true
	v.controllerState(now, w)
	for _, r := range w.replicas {
		v.examine(now, w, r)
	}
}

// Deleted tells that a partition is no more. Its last changes may have been committed with its deletion, unseen, and its replicas live on until
// their brokers hear of it: from here on nothing is expected of them.
func (v *Invariants) Deleted(p history.Partition) { v.at(p).known = false }

// sameView reports whether two committed states say the same; a metadata record elsewhere repeats every partition.
func sameView(a, b *PartitionView) bool {
	if a.Leader != b.Leader || a.Epoch != b.Epoch || a.MinISR != b.MinISR || !slices.Equal(a.ISR, b.ISR) || !slices.Equal(a.ELR, b.ELR) ||
		!slices.Equal(a.Replicas, b.Replicas) || len(a.Known) != len(b.Known) {
		return false
	}
	for id, k := range b.Known {
		if a.Known[id] != k {
			return false
		}
	}
	return true
}

// controllerState checks ValidControllerState and LeaderInIsr.
func (v *Invariants) controllerState(now time.Duration, w *watched) {
	p := &w.committed
	if p.Leader != history.NoBroker && !slices.Contains(p.ISR, p.Leader) {
		v.breaks(LeaderInISR, now, w, history.UnknownOffset, "leader %d is not in the ISR %s", p.Leader, list(p.ISR))
	}
	bad := func(format string, args ...any) {
		v.breaks(ValidControllerState, now, w, history.UnknownOffset, format, args...)
	}
	for _, b := range p.ISR {
		switch {
		case !slices.Contains(p.Replicas, b):
			bad("ISR member %d is not one of the replicas %s", b, list(p.Replicas))
		case slices.Contains(p.ELR, b):
			bad("broker %d is in the ISR and in the ELR", b)
		case p.Known[b].Fenced && (v.contract.ELR || len(p.ISR) > 1): // in classic mode the last member stays, dead or alive
			bad("ISR member %d is fenced", b)
		}
	}
	for _, b := range p.ELR {
		if !slices.Contains(p.Replicas, b) {
			bad("ELR member %d is not one of the replicas %s", b, list(p.Replicas))
		}
	}
	if len(p.ELR) > 0 && len(p.ISR) >= min(p.MinISR, len(p.Replicas)) {
		bad("the ISR %s has min.insync.replicas %d members, and the ELR is %s", list(p.ISR), p.MinISR, list(p.ELR))
	}
}

// Replica tells a replica's state after it changed.
func (v *Invariants) Replica(now time.Duration, p history.Partition, view ReplicaView) {
	if !v.contract.WithinBudget {
		return
	}
	w := v.at(p)
	r := w.replica(view.Broker)
	if r.Running && view.Running && r.Incarnation == view.Incarnation {
		v.monotone(now, w, &r.ReplicaView, &view)
	} else {
		r.checked = max(0, r.checked-recheck) // what recovery may have changed is at the end
	}
	if view.Epoch != r.Epoch {
		r.checked = min(r.checked, max(0, r.LEO-recheck))
	}
	isr, maximal := append(r.ISR[:0], view.ISR...), append(r.Maximal[:0], view.Maximal...) // the caller's slices may be reused
	r.ReplicaView = view
	r.ISR, r.Maximal = isr, maximal
	r.checked = max(min(r.checked, view.LEO), view.Start)
	if view.Running && (view.HW < view.Start || view.HW > view.LEO) {
		v.breaks(ValidOffsets, now, w, view.HW, "broker %d has log start %d, HW %d, LEO %d", view.Broker, view.Start, view.HW, view.LEO)
	}
	if view.Running && view.Leads && view.HW < view.DueHW {
		v.breaks(CurrentHighWatermark, now, w, view.HW, "leader %d in epoch %d has HW %d after its ISR became %s, and its rules give %d",
			view.Broker, view.Epoch, view.HW, list(view.ISR), view.DueHW)
	}
	v.examine(now, w, r)
}

// recheck is how many entries are compared again where they may have been replaced without the log end showing it.
const recheck = 64

func (w *watched) replica(b history.BrokerID) *replica {
	at, found := slices.BinarySearchFunc(w.replicas, b, func(r *replica, b history.BrokerID) int { return int(r.Broker) - int(b) })
	if !found {
		w.replicas = slices.Insert(w.replicas, at, &replica{ReplicaView: ReplicaView{Broker: b, Epoch: -1}})
	}
	return w.replicas[at]
}

// monotone checks what may not go back within one incarnation.
func (v *Invariants) monotone(now time.Duration, w *watched, old, view *ReplicaView) {
	if view.Epoch < old.Epoch {
		v.breaks(MonotoneEpoch, now, w, history.UnknownOffset, "broker %d went from leader epoch %d back to %d", view.Broker, old.Epoch, view.Epoch)
	}
	if !old.Leads || !view.Leads || old.Epoch != view.Epoch {
		return
	}
	if view.LEO < old.LEO {
		v.breaks(MonotoneLeader, now, w, view.LEO, "broker %d, leader in epoch %d, cut its log from %d to %d", view.Broker, view.Epoch, old.LEO, view.LEO)
	}
	if view.HW < old.HW {
		v.breaks(MonotoneLeader, now, w, view.HW, "broker %d, leader in epoch %d, took its HW from %d back to %d", view.Broker, view.Epoch, old.HW, view.HW)
	}
}

// registered reports whether a replica runs in the incarnation that the controller knows.
func (w *watched) registered(r *replica) bool {
	k, ok := w.committed.Known[r.Broker]
	return ok && r.Running && k.Incarnation == r.Incarnation
}

// leads reports whether a replica leads in the committed epoch.
func (w *watched) leads(r *replica) bool {
	return r.Leads && w.committed.Leader == r.Broker && w.committed.Epoch == r.Epoch && w.registered(r)
}

// examine checks one replica against the committed state and the ghost, and what the ghost's growth means for the others.
func (v *Invariants) examine(now time.Duration, w *watched, r *replica) {
	if !w.known || !r.Running {
		return
	}
	c := &w.committed
	if r.Leads && r.Epoch == c.Epoch && c.Leader != r.Broker && c.Leader != history.NoBroker {
		v.breaks(OneLeaderPerEpoch, now, w, r.LEO, "broker %d leads in epoch %d, and the controller made broker %d its leader", r.Broker, r.Epoch, c.Leader)
	}
	leads := w.leads(r)
	if leads {
		for _, b := range c.ISR {
			if !slices.Contains(r.Maximal, b) {
				v.breaks(ReplicationQuorumSuperset, now, w, r.HW, "leader %d waits for %s in epoch %d, and the ISR is %s", r.Broker, list(r.Maximal), r.Epoch, list(c.ISR))
				break
			}
		}
	}
	if !v.contract.CommittedReads {
		return
	}
	v.compare(now, w, r)
	if leads && w.ghost.grow(r) {
		for _, other := range w.replicas {
			v.candidate(now, w, other)
		}
		return
	}
	v.candidate(now, w, r)
}

// candidate checks that a replica that leads or may be elected has everything below the true HW.
func (v *Invariants) candidate(now time.Duration, w *watched, r *replica) {
	if !w.registered(r) {
		return
	}
	c, hw := &w.committed, w.ghost.end()
	inISR := slices.Contains(c.ISR, r.Broker)
	name := ""
	switch {
	case c.Leader == r.Broker: // whether it knows of its election or not
		name = LeaderCompleteness
	case inISR:
		name = ValidHighWatermark
	case slices.Contains(c.ELR, r.Broker):
		name = LeaderCandidate
	default:
		return
	}
	if r.LEO < hw {
		v.breaks(name, now, w, r.LEO, "the log of broker %d ends at %d, below the true HW %d (epoch %d, leader %d, ISR %s, ELR %s)",
			r.Broker, r.LEO, hw, c.Epoch, c.Leader, orNone(c.ISR), orNone(c.ELR))
	}
	v.compare(now, w, r)
}

// orNone lists brokers; none is said to be none.
func orNone(brokers []history.BrokerID) string {
	if len(brokers) == 0 {
		return "none"
	}
	return list(brokers)
}

// compare checks a replica's entries that were not compared yet: up to the true HW on a registered member of the ISR or ELR, up to its own HW
// on every other. Each entry is asked for once, and at most recheck of them again after a restart or a new epoch.
func (v *Invariants) compare(now time.Duration, w *watched, r *replica) {
	if r.Entry == nil {
		return
	}
	c := &w.committed
	name, to := LogMatching, r.HW
	member := w.registered(r) && (slices.Contains(c.ISR, r.Broker) || slices.Contains(c.ELR, r.Broker))
	switch {
	case w.leads(r):
		name = ConsistentRead
	case r.Leads:
		name = WeakIsr
	case member:
		name, to = StrongIsr, w.ghost.end()
	}
	to = min(to, r.LEO, w.ghost.end())
	for o := max(r.checked, w.ghost.base); o < to; o++ {
		r.checked = o + 1
		want := w.ghost.entry(o)
		got, ok := r.Entry(o)
		if !ok {
			v.breaks(name, now, w, o, "broker %d has no entry at %d, where an entry of epoch %d was committed", r.Broker, o, want.Epoch)
			return
		}
		if got != want {
			v.breaks(name, now, w, o, "broker %d has an entry of epoch %d (%x) at %d, where one of epoch %d (%x) was committed",
				r.Broker, got.Epoch, got.Digest, o, want.Epoch, want.Digest)
			return
		}
	}
}
