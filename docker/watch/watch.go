package watch

import (
	"slices"
	"time"

	"tidemark/history"
)

// Watch puts together what single brokers tell, look by look. Its methods are called one at a time, with the looks at one broker in their
// order.
type Watch struct {
	brokers  []history.BrokerID
	last     map[history.BrokerID]*Told
	up       map[history.BrokerID]bool
	keeper   *Kept // what ZooKeeper held last; nil if nobody looks there
	parts    map[history.Partition]*part
	replicas map[place]*seen
}

// place is one replica.
type place struct {
	broker    history.BrokerID
	partition history.Partition
}

// part is a partition as it is believed to be registered.
type part struct {
	Registration
	changes int32
}

// seen is a replica as it was last seen.
type seen struct {
	history.ReplicaState
	looked    time.Duration    // when the look began that showed it so
	grown     time.Duration    // when it last appended, as its step has it
	cut       time.Duration    // when it was last cut; -1 if it never was
	restarted bool             // its broker was started since
	source    history.BrokerID // whom it copied from; NoBroker for a leader
}

// New returns a watch over brokers, of which nothing is known.
func New(brokers []history.BrokerID) *Watch {
	return &Watch{
		brokers: brokers, last: map[history.BrokerID]*Told{}, up: map[history.BrokerID]bool{},
		parts: map[history.Partition]*part{}, replicas: map[place]*seen{},
	}
}

// Tell takes in what a broker told, and returns the protocol steps that its difference from the look before implies, each with its time.
func (w *Watch) Tell(t Told) []history.Step {
	before := w.last[t.Broker]
	since := t.From
	if before != nil {
		since = before.From
	}
	w.last[t.Broker], w.up[t.Broker] = &t, true
	var steps []history.Step
	for _, r := range t.Partitions {
		steps = w.register(steps, r, t.Broker, since)
	}
	for i := range t.Replicas {
		steps = w.follow(steps, &t, &t.Replicas[i], since)
	}
	return steps
}

// Down says that a broker does not answer: what is known of it stays, as of one that is down.
func (w *Watch) Down(b history.BrokerID) { w.up[b] = false }

// Restarted says that a broker was started anew: what its replicas lost was lost in between, and high watermarks may begin where a file had
// them.
func (w *Watch) Restarted(b history.BrokerID) {
	for at, s := range w.replicas {
		if at.broker == b {
			s.restarted = true
		}
	}
}

// Keep takes in what ZooKeeper holds, which is what the controller decided, and returns the steps that it implies. Begun is when the look
// before began.
func (w *Watch) Keep(k Kept, begun time.Duration) []history.Step {
	w.keeper = &k
	var steps []history.Step
	for _, r := range k.Partitions {
		steps = w.register(steps, r, k.Controller, begun)
	}
	return steps
}

// register takes in a partition's registration as somebody has it, if it is newer than the known one.
func (w *Watch) register(steps []history.Step, r Registration, by history.BrokerID, at time.Duration) []history.Step {
	p := w.parts[r.Partition]
	if p == nil {
		p = &part{Registration: Registration{Leader: history.NoBroker, Epoch: -1, Version: -1}}
		w.parts[r.Partition] = p
	} else if !w.newer(p, &r, by) {
		return steps
	}
	led := p.Leader == r.Leader && p.Epoch == r.Epoch && slices.Equal(p.ISR, r.ISR)
	if led && slices.Equal(p.ELR, r.ELR) && slices.Equal(p.Replicas, r.Replicas) {
		p.Version = r.Version
		return steps
	}
	p.Registration = r
	p.changes++
	if led {
		return steps
	}
	return append(steps, history.Step{
		Time: at, Kind: history.StepISR, Broker: by, Partition: r.Partition, Epoch: r.Epoch, Peer: r.Leader,
		From: history.UnknownOffset, To: history.UnknownOffset, ISR: r.ISR,
	})
}

// newer reports whether a registration replaces the known one. Brokers hear of changes at different times, and most are told without a version:
// in one epoch one voice counts, that of the broker that is the controller, else of the leader, who asks for the changes, else anybody's.
func (w *Watch) newer(p *part, r *Registration, by history.BrokerID) bool {
	switch {
	case w.keeper != nil:
		return r.Version >= 0 && r.Version >= p.Version
	case r.Epoch != p.Epoch:
		return r.Epoch > p.Epoch
	}
	voice := w.controller()
	if !w.up[voice] {
		voice = p.Leader
	}
	return !w.up[voice] || voice == by
}

// controller is the active controller by the newest word, NoBroker if nobody knows any.
func (w *Watch) controller() history.BrokerID {
	if w.keeper != nil {
		return w.keeper.Controller
	}
	newest := history.NoBroker
	at := time.Duration(-1)
	for _, b := range w.brokers {
		if t := w.last[b]; t != nil && w.up[b] && t.Controller != history.NoBroker && t.From > at {
			newest, at = t.Controller, t.From
		}
	}
	return newest
}

// State is the cluster as it stands, by all that was told until now.
func (w *Watch) State(now time.Duration) history.ClusterState {
	out := history.ClusterState{Time: now, Controller: w.controller()}
	for name, p := range w.parts {
		if !w.exists(name) {
			continue
		}
		s := history.PartitionState{
			Partition: name, Leader: p.Leader, Epoch: p.Epoch, PartitionEpoch: p.Version, ISR: p.ISR, ELR: p.ELR,
		}
		if p.Version < 0 { // nobody tells it: the changes that were seen stand for it
			s.PartitionEpoch = p.changes
		}
		for _, b := range p.Replicas {
			r := history.ReplicaState{Broker: b, Epoch: -1, LEO: history.UnknownOffset, HW: history.UnknownOffset, Start: history.UnknownOffset}
			if known := w.replicas[place{b, name}]; known != nil {
				r = known.ReplicaState
			}
			r.Up = w.up[b]
			s.Replicas = append(s.Replicas, r)
		}
		out.Partitions = append(out.Partitions, s)
	}
	slices.SortFunc(out.Partitions, func(a, b history.PartitionState) int { return a.Partition.Compare(b.Partition) })
	return out
}

// exists reports whether a partition is there still: in ZooKeeper, else by the word of a broker that answers, or of any if none does.
func (w *Watch) exists(name history.Partition) bool {
	has := func(told []Registration) bool {
		_, found := slices.BinarySearchFunc(told, name, func(r Registration, p history.Partition) int { return r.Partition.Compare(p) })
		return found
	}
	if w.keeper != nil {
		return has(w.keeper.Partitions)
	}
	any := slices.ContainsFunc(w.brokers, func(b history.BrokerID) bool { return w.up[b] })
	return slices.ContainsFunc(w.brokers, func(b history.BrokerID) bool {
		return w.last[b] != nil && w.up[b] == any && has(w.last[b].Partitions)
	})
}
