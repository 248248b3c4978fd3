package nemesis

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Budget is the fault budget of a run. Of every partition, fewer than min.insync.replicas replicas are unclean at once (killed, wiped or
// powered off and not back in the ISR), or none of those lost data. Inside it everything holds that checker.ContractOf derives from the
// configuration; a run that goes beyond it is promised nothing.
type Budget struct {
	MinISR  int
	ELR     bool // false: classic mode
	Ignored bool // the run was told to go beyond
}

// Unclean is the set of replicas that were killed, wiped or powered off and are not yet back in the ISR. The zero value is empty.
type Unclean struct {
	marks map[replica]mark
}

type replica struct {
	partition history.Partition
	broker    history.BrokerID
}

// mark is what is known of one unclean replica. The committed ISR may name a replica for as long as its old session lasts, and as an
// eligible leader replica the dead incarnation may even be elected back into it, so its name there proves nothing until the controller is
// known to have registered the new incarnation.
type mark struct {
	lost  bool          // data may be gone
	down  bool          // not started again
	since time.Duration // of the start
}

// registeredWithin is how long after its start a replica of which its broker tells nothing counts as unclean: several sessions, after
// which the controller has either registered the new incarnation or fenced the old one.
const registeredWithin = 15 * time.Second

// Empty reports whether every replica is clean.
func (u *Unclean) Empty() bool { return len(u.marks) == 0 }

// Has reports whether broker b's replica of p is unclean, and whether it may have lost data.
func (u *Unclean) Has(p history.Partition, b history.BrokerID) (unclean, lost bool) {
	m, ok := u.marks[replica{p, b}]
	return ok, m.lost
}

// Down makes every replica of b unclean; lost says that data may be gone. What a replica lost before it was clean
// again stays lost.
func (u *Unclean) Down(s history.ClusterState, b history.BrokerID, lost bool) {
	for i := range s.Partitions {
		p := &s.Partitions[i]
		if !assigned(p, b) {
			continue
		}
		if u.marks == nil {
			u.marks = make(map[replica]mark)
		}
		key := replica{p.Partition, b}
		u.marks[key] = mark{lost: lost || u.marks[key].lost, down: true}
	}
}

// Stopped says that b was shut down cleanly: its replicas are as clean as they were, but while it is down none becomes clean.
func (u *Unclean) Stopped(s history.ClusterState, b history.BrokerID) {
	for i := range s.Partitions {
		key := replica{s.Partitions[i].Partition, b}
		if m, ok := u.marks[key]; ok {
			m.down = true
			u.marks[key] = m
		}
	}
}

// Started says that b was started, before now.
func (u *Unclean) Started(s history.ClusterState, b history.BrokerID, now time.Duration) {
	for i := range s.Partitions {
		key := replica{s.Partitions[i].Partition, b}
		if m, ok := u.marks[key]; ok && m.down {
			m.down, m.since = false, now
			u.marks[key] = m
		}
	}
}

// See takes in an observation that began at a time: replicas that are back in the committed ISR become clean, if they hold again
// what they may have lost: all that is below the leader's high watermark.
func (u *Unclean) See(s history.ClusterState, began time.Duration) {
	if u.Empty() {
		return
	}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		u.forget(p)
		for j := range p.Replicas {
			r := &p.Replicas[j]
			key := replica{p.Partition, r.Broker}
			m, ok := u.marks[key]
			switch {
			case !ok, m.down, began < m.since, !slices.Contains(p.ISR, r.Broker), m.lost && !reaches(p, r):
			case follows(r), began >= m.since+registeredWithin:
				delete(u.marks, key)
			}
		}
	}
}

// follows reports whether a replica's broker acts on the metadata, which no incarnation does before that contains its own registration. By
// then whatever the controller granted to the incarnation before it is taken back.
func follows(r *history.ReplicaState) bool { return r.Up && r.Epoch >= 0 }

// forget drops what is known of replicas that a reassignment took away: whatever they have, nothing is expected of them. One that comes back
// is outside the ISR, and joins it with all that the leader has.
func (u *Unclean) forget(p *history.PartitionState) {
	maps.DeleteFunc(u.marks, func(key replica, _ mark) bool { return key.partition == p.Partition && !assigned(p, key.broker) })
}

// reaches reports whether a replica's log reaches the high watermark of its partition's leader.
func reaches(p *history.PartitionState, r *history.ReplicaState) bool {
	return slices.ContainsFunc(p.Replicas, func(l history.ReplicaState) bool { return l.Broker == p.Leader && r.LEO >= l.HW })
}

// losing reports whether a replica that may have lost data is not clean yet.
func (u *Unclean) losing() bool {
	for _, m := range u.marks {
		if m.lost {
			return true
		}
	}
	return false
}

// Strike is a fault that asks to begin, and what else goes on.
type Strike struct {
	Kind    world.Ability
	Targets []history.BrokerID
	Others  int           // faults that have begun and are not yet verified undone
	Calm    time.Duration // since the last such fault ended
}

// calmBefore is how long the cluster is left alone before a power failure or a wipe in classic mode: a leader's request to shrink the ISR,
// sent while a fault was in force, has by then been dealt with or timed out (controller.socket.timeout.ms).
const calmBefore = 2 * time.Second

// Refuse says why a fault must not begin, given the latest observation and what is unclean by then; "" if it may.
//
// A kill, wipe or power failure is inside the budget if afterwards, of every partition, fewer than min.insync.replicas replicas are
// unclean, or none of those lost data.
//
// In classic mode the ISR alone says who may lead, and its last member stays in it whatever becomes of it. Any fault that takes
// the clean members out of the ISR while it still names one that lost data therefore hands the partition to the latter. So there
// a loss of data runs alone: it begins when no other fault is in force, every replica is clean and every ISR full, and until its
// victims are clean again nothing else begins.
func (b Budget) Refuse(s history.ClusterState, u *Unclean, f Strike) string {
	if b.Ignored {
		return ""
	}
	if crashes(f.Kind) {
		for i := range s.Partitions {
			if why := b.refuse(&s.Partitions[i], u, f); why != "" {
				return why
			}
		}
	}
	if b.ELR {
		return ""
	}
	if why := f.alone(s, u); why != "" {
		return "outside the fault budget: in classic mode a loss of data runs alone, and " + why
	}
	return ""
}

func (b Budget) refuse(p *history.PartitionState, u *Unclean, f Strike) string {
	var dirty, gone []history.BrokerID // unclean afterwards; among them those that may lack data
	var hit bool
	for _, r := range p.Replicas {
		unclean, lost := u.Has(p.Partition, r.Broker)
		target := slices.Contains(f.Targets, r.Broker)
		hit = hit || target
		if unclean || target {
			dirty = append(dirty, r.Broker)
		}
		if lost || target && loses(f.Kind) {
			gone = append(gone, r.Broker)
		}
	}
	if hit && len(dirty) >= b.MinISR && len(gone) > 0 {
		return fmt.Sprintf("outside the fault budget: of %v, %s would be unclean and %s may lack data; expected fewer than min.insync.replicas=%d unclean, or no data lost",
			p.Partition, named(dirty, "", ""), brokers(gone), b.MinISR)
	}
	return ""
}

// alone says what keeps a fault from being, or from leaving, the only one around a loss of data; "" if nothing does.
func (f Strike) alone(s history.ClusterState, u *Unclean) string {
	if u.losing() {
		return "the last one's victim is not clean yet"
	}
	if !loses(f.Kind) {
		return ""
	}
	switch {
	case f.Others > 0:
		return fmt.Sprintf("%d other faults are in force", f.Others)
	case f.Calm < calmBefore:
		return fmt.Sprintf("the last fault ended only %v ago, expected %v", f.Calm, calmBefore)
	case !u.Empty():
		return "a replica is unclean"
	}
	for i := range s.Partitions {
		if p := &s.Partitions[i]; len(p.ISR) < len(p.Replicas) {
			return fmt.Sprintf("the ISR %s of %v has %d of %d replicas", brokers(p.ISR), p.Partition, len(p.ISR), len(p.Replicas))
		}
	}
	return ""
}

func assigned(p *history.PartitionState, b history.BrokerID) bool {
	return slices.ContainsFunc(p.Replicas, func(r history.ReplicaState) bool { return r.Broker == b })
}

// brokers lists numbers for an event's detail: 1,2.
func brokers(bs []history.BrokerID) string {
	words := make([]string, len(bs))
	for i, b := range bs {
		words[i] = number(b)
	}
	return strings.Join(words, ",")
}

// named is brokers with what they are or do, in the singular or the plural: broker 1 serves, brokers 1,2 serve.
func named(bs []history.BrokerID, one, many string) string {
	who, verb := "broker ", one
	if len(bs) != 1 {
		who, verb = "brokers ", many
	}
	return strings.TrimSpace(who + brokers(bs) + " " + verb)
}
