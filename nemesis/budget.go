package nemesis

import (
	"fmt"
	"slices"
	"time"

	"tidemark/history"
)

// Budget is the fault budget of a run: what may be unclean at once (the design's contract).
type Budget struct {
	MinISR  int
	ELR     bool // false: classic mode
	Ignored bool // the run was told to go beyond
}

// Unclean is the set of replicas that were killed or powered off and are not yet back in the ISR. The zero value is empty.
type Unclean struct {
	marks map[replica]mark
}

type replica struct {
	partition history.Partition
	broker    history.BrokerID
}

// mark is what is known of one unclean replica. The committed ISR may name a replica for as long as its old session lasts,
// so its name there proves nothing until the controller is seen to have dealt with the new incarnation.
type mark struct {
	lost  bool          // unsynced data may be gone
	down  bool          // not started again
	since time.Duration // of the start
	epoch history.Epoch // the partition's leader epoch, as far as it was seen while it was down
	out   bool          // seen outside the ISR since it went down
}

// registeredWithin is how long after its start a replica that never left the committed ISR still counts as unclean: several
// sessions, after which the controller has either registered the new incarnation or fenced the old one.
const registeredWithin = 15 * time.Second

// Empty reports whether every replica is clean.
func (u *Unclean) Empty() bool { return len(u.marks) == 0 }

// Has reports whether broker b's replica of p is unclean, and whether it may have lost unsynced data.
func (u *Unclean) Has(p history.Partition, b history.BrokerID) (unclean, lost bool) {
	m, ok := u.marks[replica{p, b}]
	return ok, m.lost
}

// Down makes every replica of b unclean; lost says that unsynced data may be gone. What a replica lost before it was clean
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
		u.marks[key] = mark{
			lost:  lost || u.marks[key].lost,
			down:  true,
			epoch: p.Epoch,
		}
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

// See takes in an observation that began at a time: replicas that are back in the committed ISR become clean.
func (u *Unclean) See(s history.ClusterState, began time.Duration) {
	if u.Empty() {
		return
	}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		for j := range p.Replicas {
			r := &p.Replicas[j]
			key := replica{p.Partition, r.Broker}
			m, ok := u.marks[key]
			if ok && m.down && p.Epoch > m.epoch {
				m.epoch = p.Epoch
				u.marks[key] = m
			}
			switch {
			case !ok:
			case !slices.Contains(p.ISR, r.Broker):
				m.out = true
				u.marks[key] = m
			case m.down || began < m.since:
			case m.out, r.Up && r.Leads && r.Epoch > m.epoch, began >= m.since+registeredWithin:
				delete(u.marks, key)
			}
		}
	}
}

// Refuse says why taking the targets down is outside the budget, given the latest observation and what is unclean by then; ""
// if it is inside. lost says that unsynced data may go.
//
// Inside means that afterwards, of every partition, fewer than min.insync.replicas replicas are unclean, or none of those lost
// unsynced data; in classic mode also that a replica loses unsynced data only while another, clean one is in the ISR.
func (b Budget) Refuse(s history.ClusterState, u *Unclean, targets []history.BrokerID, lost bool) string {
	if b.Ignored {
		return ""
	}
	for i := range s.Partitions {
		if why := b.refuse(&s.Partitions[i], u, targets, lost); why != "" {
			return why
		}
	}
	return ""
}

func (b Budget) refuse(p *history.PartitionState, u *Unclean, targets []history.BrokerID, lost bool) string {
	var dirty, gone, safe []history.BrokerID // unclean afterwards, with unsynced data lost among them; clean in the ISR
	var hit bool
	for _, r := range p.Replicas {
		unclean, wasLost := u.Has(p.Partition, r.Broker)
		target := slices.Contains(targets, r.Broker)
		hit = hit || target
		if unclean || target {
			dirty = append(dirty, r.Broker)
		} else if slices.Contains(p.ISR, r.Broker) {
			safe = append(safe, r.Broker)
		}
		if wasLost || target && lost {
			gone = append(gone, r.Broker)
		}
	}
	switch {
	case !hit:
		return ""
	case len(dirty) >= b.MinISR && len(gone) > 0:
		return fmt.Sprintf("outside the fault budget: of %v, brokers %s would be unclean and %s without unsynced data; expected fewer than min.insync.replicas=%d unclean, or no data lost",
			p.Partition, brokers(dirty), brokers(gone), b.MinISR)
	case !b.ELR && lost && len(safe) == 0:
		return fmt.Sprintf("outside the fault budget: no clean replica of %v would be left in the ISR %s (classic mode)", p.Partition, brokers(p.ISR))
	}
	return ""
}

func assigned(p *history.PartitionState, b history.BrokerID) bool {
	return slices.ContainsFunc(p.Replicas, func(r history.ReplicaState) bool { return r.Broker == b })
}

// brokers lists numbers for an event's detail: [1 2].
func brokers(bs []history.BrokerID) string { return fmt.Sprint(bs) }
