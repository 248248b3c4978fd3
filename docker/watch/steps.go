package watch

import (
	"time"

	"tidemark/history"
)

// What a look shows for the first time happened since the look before began. The steps made of it are put where nothing that follows from
// them stands before them: elections and a leader's appends, of which acknowledgements and copies come, at the beginning of that time; a
// follower's appends not before its leader's; truncations and high watermarks at its end. What a new leader has more than it was seen with is
// a copy of what it followed as far as that was seen to have as much, and else its own. A log that was cut and has grown beyond its old end
// between two looks shows as one that has grown.

// follow takes in a replica as a look showed it.
func (w *Watch) follow(steps []history.Step, t *Told, r *Replica, since time.Duration) []history.Step {
	at := place{t.Broker, r.Partition}
	now := r.ReplicaState
	leader := history.NoBroker
	if p := w.parts[r.Partition]; p != nil {
		leader = p.Leader
		if now.Epoch < 0 && now.Leads == (leader == t.Broker) { // it tells none: ZooKeeper has it, if both are of the same opinion
			now.Epoch = p.Epoch
		}
	}
	if w.keeper != nil && now.Leads && now.Epoch < 0 { // ZooKeeper will tell in which epoch: until then nothing of it has its place
		return steps
	}
	s := w.replicas[at]
	isNew := s == nil
	if isNew {
		s = &seen{ReplicaState: history.ReplicaState{Epoch: -1}, cut: -1, source: history.NoBroker}
		w.replicas[at] = s
	}
	old := s.ReplicaState
	if !isNew {
		since = s.looked
	}
	since = max(since, s.cut+1) // what it has now came after what it lost
	step := func(kind history.StepKind, when time.Duration, from, to history.Offset) *history.Step {
		steps = append(steps, history.Step{
			Time: when, Kind: kind, Broker: t.Broker, Partition: r.Partition, Epoch: now.Epoch, Peer: history.NoBroker, From: from, To: to,
		})
		return &steps[len(steps)-1]
	}
	end, hw := old.LEO, old.HW // as far as it is told already
	switch {
	case now.Leads && (!old.Leads || now.Epoch > old.Epoch):
		if before := w.replicas[place{s.source, r.Partition}]; before != nil && min(before.LEO, now.LEO) > end {
			copied := step(history.StepAppend, max(since, w.copied(s.source, r.Partition, before.LEO)+1), end, min(before.LEO, now.LEO))
			copied.Peer, copied.Epoch = s.source, old.Epoch
			end, since = copied.To, copied.Time
		}
		if began := min(now.HW, end); began < hw && !s.restarted { // what it followed may have known less: a leader's own does not go back
			step(history.StepHW, since, hw, began)
			hw = began
		}
		step(history.StepElection, since, min(now.HW, end), min(now.LEO, end))
	case !now.Leads && (old.Leads || now.Epoch > old.Epoch || isNew):
		step(history.StepFollow, t.To, now.HW, now.LEO).Peer = leader
	}
	source := leader // of what it appends
	if now.Leads {
		source = history.NoBroker
	}
	switch {
	case now.LEO < end:
		cut := step(history.StepTruncate, t.To, end, now.LEO)
		cut.Peer, s.cut = source, t.To
		if s.restarted {
			cut.Detail = "across its restart"
		}
	case now.LEO > end:
		when := since
		if !now.Leads {
			when = max(since, w.copied(leader, r.Partition, now.LEO)+1)
		}
		s.grown = when
		step(history.StepAppend, when, end, now.LEO).Peer = source
	}
	if now.Start > old.Start && old.Start >= 0 {
		step(history.StepTrim, t.To, old.Start, now.Start)
	}
	if now.HW != hw && !s.restarted {
		step(history.StepHW, t.To, hw, now.HW)
	}
	s.ReplicaState, s.looked, s.restarted, s.source = now, t.From, false, source
	return steps
}

// copied is when a leader appended what a follower is seen to have up to an offset: when its step says, or, if it was not seen to have that
// much itself yet, when its step will.
func (w *Watch) copied(leader history.BrokerID, p history.Partition, to history.Offset) time.Duration {
	if s := w.replicas[place{leader, p}]; s != nil && s.Leads && s.LEO >= to {
		return s.grown
	}
	if t := w.last[leader]; t != nil {
		return t.From
	}
	return 0
}
