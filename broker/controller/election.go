package controller

import (
	"slices"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
	"tidemark/broker/refused"
)

// electionKind is how far an election may go.
type electionKind uint8

const (
	electAny       electionKind = iota // keep the leader if it may stay, else the first that may lead
	electPreferred                     // the first replica if it may lead
	electUnclean                       // whoever is alive, if none may lead
)

// circumstances are what an election depends on besides the partition.
type circumstances struct {
	eligibleLeaders bool // KIP-966; false is the classic mode
	unclean         bool // unclean.leader.election.enable
	minISR          int  // min.insync.replicas
	active          func(kafka.BrokerID) bool
	bug             *bug.Switch
	refused         *refused.Log
}

// target is what a partition is to become, as far as a decision asks for it; change works out the rest.
type target struct {
	isr                        []kafka.BrokerID
	replicas, adding, removing []kafka.BrokerID
	lost                       kafka.BrokerID // a broker whose log may lack what it acknowledged, NoBroker for none
	election                   electionKind
}

// asIs is the target that asks for nothing.
func asIs(p metadata.Partition) target {
	return target{isr: p.ISR, replicas: p.Replicas, adding: p.Adding, removing: p.Removing, lost: kafka.NoBroker}
}

// change works out what follows from a target: whether a reassignment is complete, who is an eligible leader replica, who
// leads. It is Kafka's PartitionChangeBuilder. False if nothing changes.
//
// The leader epoch grows when the leader changes and when a replica leaves the assignment. As in Kafka since 3.6, an ISR that
// shrinks does not raise it: the leader learns of it by the partition epoch, and its own requests on the old one are refused.
func change(p metadata.Partition, t target, c circumstances) (metadata.PartitionChange, bool) {
	done := reassigned(t.replicas, t.adding, t.removing, t.isr)
	if !done && begun(t.replicas, t.adding, t.removing, t.isr) {
		c.refused.Note(refused.ReassignmentToWait, refused.Left, refused.About{})
	}
	if c.bug.Bites(bug.ReassignedWithLaggards, !done && begun(t.replicas, t.adding, t.removing, t.isr)) {
		done = true
	}
	if done {
		t.isr, t.replicas = without(t.isr, t.removing...), without(t.replicas, t.removing...)
		t.adding, t.removing = nil, nil
	}
	if len(t.isr) == 0 && !c.eligibleLeaders {
		t.isr = p.ISR // the last member stays, dead or alive: only it is known to have everything
	}
	after := p
	after.Replicas, after.Adding, after.Removing, after.ISR = t.replicas, t.adding, t.removing, t.isr
	after.ELR = eligibleReplicas(p, t, c)

	leader, how := elect(after, t.election, c)
	if how == byELR || how == byLuck {
		after.ISR = []kafka.BrokerID{leader}
	}
	after.ELR = without(after.ELR, after.ISR...)
	if how == byLuck || len(after.ISR) >= effectiveMinISR(c.minISR, after.Replicas) {
		after.ELR = nil
		if left := without(leavers(p, t), after.ISR...); c.bug.Bites(bug.ELRIgnoresMinISR, how == byISR && c.eligibleLeaders && len(left) > 0) {
			after.ELR = left
		}
	}
	after.LastKnownELR = lastKnown(p, after, leader, c)
	return difference(p, after, leader, how == byLuck)
}

// eligibleReplicas are those that left the ISR when it went below min.insync.replicas: the high watermark has not moved since,
// so they have everything below it (KIP-966). One that was lost is none of them.
func eligibleReplicas(p metadata.Partition, t target, c circumstances) []kafka.BrokerID {
	if !c.eligibleLeaders || len(t.isr) >= effectiveMinISR(c.minISR, t.replicas) {
		return nil
	}
	return leavers(p, t)
}

// leavers are the replicas of ISR and ELR that are not to be in the ISR any more, without one that was lost.
func leavers(p metadata.Partition, t target) []kafka.BrokerID {
	var out []kafka.BrokerID
	for _, b := range t.replicas {
		if (kafka.Contains(p.ELR, b) || kafka.Contains(p.ISR, b)) && !kafka.Contains(t.isr, b) && b != t.lost {
			out = append(out, b)
		}
	}
	return out
}

// lastKnown is who led last before the ISR became empty, until someone leads again.
func lastKnown(p, after metadata.Partition, leader kafka.BrokerID, c circumstances) []kafka.BrokerID {
	switch {
	case !c.eligibleLeaders || leader != kafka.NoBroker:
		return nil
	case len(after.ISR) == 0 && p.Leader != kafka.NoBroker:
		return []kafka.BrokerID{p.Leader}
	default:
		return p.LastKnownELR
	}
}

// grounds is why a replica may lead.
type grounds uint8

const (
	byNothing grounds = iota // nobody may
	byISR
	byELR
	byLuck // as the last known leader, or uncleanly: it may lack acknowledged records
)

// elect chooses the leader of a partition in the order of KIP-966: a live member of the ISR, in order of assignment, but first
// the present leader; a live eligible leader replica; where both sets are empty, the last known leader once it is back; and if
// unclean election is allowed, the first that is alive.
func elect(p metadata.Partition, kind electionKind, c circumstances) (kafka.BrokerID, grounds) {
	inSync := func(b kafka.BrokerID) bool { return kafka.Contains(p.ISR, b) && c.active(b) }
	if kind == electPreferred && len(p.Replicas) > 0 && inSync(p.Replicas[0]) {
		return p.Replicas[0], byISR
	}
	if inSync(p.Leader) && kafka.Contains(p.Replicas, p.Leader) {
		return p.Leader, byISR
	}
	for _, b := range p.Replicas {
		if inSync(b) {
			return b, byISR
		}
	}
	for _, b := range p.Replicas {
		if c.eligibleLeaders && kafka.Contains(p.ELR, b) && c.active(b) {
			return b, byELR
		}
	}
	for _, b := range p.LastKnownELR {
		if c.eligibleLeaders && len(p.ISR)+len(p.ELR) == 0 && kafka.Contains(p.Replicas, b) && c.active(b) {
			return b, byLuck
		}
	}
	if kind != electUnclean && !c.unclean && slices.ContainsFunc(p.Replicas, c.active) {
		c.refused.Note(refused.UncleanElection, refused.Elected, refused.About{})
	}
	for _, b := range p.Replicas {
		if c.active(b) && (kind == electUnclean || c.unclean || c.bug.Bites(bug.UncleanElection, true)) {
			return b, byLuck
		}
	}
	return kafka.NoBroker, byNothing
}

// difference is the record that turns p into after under leader; false if they are the same.
func difference(p, after metadata.Partition, leader kafka.BrokerID, unclean bool) (metadata.PartitionChange, bool) {
	r := metadata.PartitionChange{Leader: kafka.NoBroker}
	if leader != p.Leader || !subset(p.Replicas, after.Replicas) {
		r.Sets, r.Leader, r.Unclean = metadata.SetLeader, leader, unclean
	}
	for _, f := range []struct {
		field    metadata.Fields
		old, new []kafka.BrokerID
		to       *[]kafka.BrokerID
	}{
		{metadata.SetISR, p.ISR, after.ISR, &r.ISR},
		{metadata.SetReplicas, p.Replicas, after.Replicas, &r.Replicas},
		{metadata.SetAdding, p.Adding, after.Adding, &r.Adding},
		{metadata.SetRemoving, p.Removing, after.Removing, &r.Removing},
		{metadata.SetELR, p.ELR, after.ELR, &r.ELR},
		{metadata.SetLastKnownELR, p.LastKnownELR, after.LastKnownELR, &r.LastKnownELR},
	} {
		if !slices.Equal(f.old, f.new) {
			r.Sets |= f.field
			*f.to = f.new
		}
	}
	return r, r.Sets != 0
}
