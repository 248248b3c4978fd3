package controller

import (
	"testing"

	"pgregory.net/rapid"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

func someOf(t *rapid.T, set []kafka.BrokerID, what string) []kafka.BrokerID {
	var out []kafka.BrokerID
	for _, b := range set {
		if rapid.Bool().Draw(t, what) {
			out = append(out, b)
		}
	}
	return out
}

// TestChangesKeepThePromise: whatever a partition looks like and whatever is asked of it, the outcome is a valid state, and
// unless it says that it is unclean its leader was in the ISR or eligible, and was not lost. If someone of those is alive,
// someone leads.
func TestChangesKeepThePromise(t *testing.T) {
	everyone := []kafka.BrokerID{1, 2, 3, 4}
	rapid.Check(t, func(t *rapid.T) {
		replicas := rapid.SliceOfNDistinct(rapid.SampledFrom(everyone), 1, 4, rapid.ID[kafka.BrokerID]).Draw(t, "replicas")
		alive := someOf(t, everyone, "alive")
		c := circumstances{eligibleLeaders: rapid.Bool().Draw(t, "eligible leaders"), unclean: rapid.Bool().Draw(t, "unclean"),
			minISR: rapid.IntRange(1, 3).Draw(t, "min-isr"), active: func(b kafka.BrokerID) bool { return kafka.Contains(alive, b) }}
		p := metadata.Partition{Replicas: replicas, ISR: someOf(t, replicas, "isr"), Leader: kafka.NoBroker}
		if c.eligibleLeaders {
			p.ELR = someOf(t, without(replicas, p.ISR...), "elr")
			if len(p.ISR) == 0 {
				p.LastKnownELR = []kafka.BrokerID{rapid.SampledFrom(replicas).Draw(t, "last known")}
			}
		} else if len(p.ISR) == 0 {
			p.ISR = replicas[:1]
		}
		if len(p.ISR) > 0 && rapid.Bool().Draw(t, "led") {
			p.Leader = rapid.SampledFrom(p.ISR).Draw(t, "leader")
		}
		want := asIs(p)
		want.election = electionKind(rapid.IntRange(0, 2).Draw(t, "kind"))
		switch rapid.IntRange(0, 3).Draw(t, "asked") {
		case 0:
			b := rapid.SampledFrom(replicas).Draw(t, "out")
			alive = without(alive, b)
			want.isr = without(p.ISR, b)
			if c.eligibleLeaders && rapid.Bool().Draw(t, "lost") {
				want.lost = b
			}
		case 1:
			if joined := someOf(t, alive, "joined"); len(joined) > 0 && subset(joined, replicas) {
				want.isr = joined
			}
		case 2:
			to := rapid.SliceOfNDistinct(rapid.SampledFrom(everyone), 1, 4, rapid.ID[kafka.BrokerID]).Draw(t, "to")
			want.adding, want.removing = without(to, replicas...), without(replicas, to...)
			want.replicas = append(to, want.removing...)
		}
		r, changed := change(p, want, c)
		after := p
		if changed {
			after = p.With(r)
		}
		judgeChange(t, p, after, want, c, changed && r.Unclean)
	})
}

func judgeChange(t *rapid.T, p, after metadata.Partition, want target, c circumstances, unclean bool) {
	minISR := effectiveMinISR(c.minISR, after.Replicas)
	had := append(append([]kafka.BrokerID{}, want.isr...), without(p.ELR, want.lost)...)
	if !c.eligibleLeaders {
		had = append(had, p.ISR...)
	}
	electable := false
	for _, b := range after.Replicas {
		electable = electable || (kafka.Contains(append(after.ISR, after.ELR...), b) && c.active(b))
	}
	switch {
	case !subset(after.ISR, after.Replicas) || !subset(after.ELR, after.Replicas):
		t.Fatalf("ISR %v or ELR %v not within %v", after.ISR, after.ELR, after.Replicas)
	case len(without(after.ELR, after.ISR...)) != len(after.ELR):
		t.Fatalf("ISR %v and ELR %v overlap", after.ISR, after.ELR)
	case len(after.ISR) >= minISR && len(after.ELR) > 0:
		t.Fatalf("ISR %v of at least %d, yet ELR %v", after.ISR, minISR, after.ELR)
	case kafka.Contains(after.ELR, want.lost) || (kafka.Contains(after.ISR, want.lost) && !unclean):
		t.Fatalf("%d was lost, yet ISR is %v and ELR %v", want.lost, after.ISR, after.ELR)
	case len(after.ISR) == 0 && !c.eligibleLeaders:
		t.Fatal("classic mode, yet nobody is in the ISR")
	case after.Leader == kafka.NoBroker && electable:
		t.Fatalf("nobody leads, yet of ISR %v and ELR %v someone is alive", after.ISR, after.ELR)
	case after.Leader != kafka.NoBroker && (!c.active(after.Leader) || !kafka.Contains(after.ISR, after.Leader)):
		t.Fatalf("%d leads, out of ISR %v or not alive", after.Leader, after.ISR)
	case after.Leader != kafka.NoBroker && after.Leader != p.Leader && !unclean && !kafka.Contains(had, after.Leader):
		t.Fatalf("%d leads cleanly, yet only %v had everything", after.Leader, had)
	case after.Leader != p.Leader && after.LeaderEpoch != p.LeaderEpoch+1:
		t.Fatalf("another leader, yet epoch %d after %d", after.LeaderEpoch, p.LeaderEpoch)
	case len(after.Adding)+len(after.Removing) == 0 && len(want.adding)+len(want.removing) > 0 &&
		!subset(without(want.replicas, want.removing...), want.isr):
		t.Fatalf("the reassignment to %v is complete, yet the ISR was only %v", after.Replicas, want.isr)
	}
}
