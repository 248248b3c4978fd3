package harness

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/history"
	"tidemark/world"
)

// leadership tells, a line a kind of fault, what the first fault of that kind that hit a leader did to the leadership.
func leadership(h *history.History) string {
	var out strings.Builder
	for _, kind := range simAbilities {
		switch before, after := StruckLeader(h, kind); {
		case before == history.NoBroker:
		case after == before:
			fmt.Fprintf(&out, "  %s of a leader: broker %d led when it struck, and when it was undone\n", kind, before)
		case after == history.NoBroker:
			fmt.Fprintf(&out, "  %s of a leader: broker %d led when it struck, nobody when it was undone\n", kind, before)
		default:
			fmt.Fprintf(&out, "  %s of a leader: broker %d led when it struck, broker %d when it was undone\n", kind, before, after)
		}
	}
	return out.String()
}

// StruckLeader finds the first fault of a kind that was observed to hit the leader of its line's partition, and says who led when it
// was applied and who when it was undone; NoBroker if there was none.
func StruckLeader(h *history.History, kind world.Ability) (before, after history.BrokerID) {
	for _, seen := range h.Faults {
		if seen.Kind != string(kind) || seen.Phase != history.FaultObserved {
			continue
		}
		_, rest, _ := strings.Cut(seen.Line, "leader(")
		name, _, _ := strings.Cut(rest, ")")
		before, after = history.NoBroker, history.NoBroker
		for _, e := range h.Faults {
			switch {
			case e.Fault != seen.Fault:
			case e.Phase == history.FaultApplied:
				before, _ = leaderAround(h, name, e)
			case e.Phase == history.FaultUndone:
				_, after = leaderAround(h, name, e)
			}
		}
		if slices.Equal(seen.Targets, []history.BrokerID{before}) {
			return before, after
		}
	}
	return history.NoBroker, history.NoBroker
}

// leaderAround is the leader of a partition as it was observed last before an event, and first after it: in containers an election may be
// a moment younger than the last look before.
func leaderAround(h *history.History, name string, e history.FaultEvent) (before, after history.BrokerID) {
	before, after = history.NoBroker, history.NoBroker
	for _, s := range h.States {
		for _, p := range s.Partitions {
			switch {
			case p.Partition.String() != name:
			case s.Index < e.Index:
				before, after = p.Leader, p.Leader
			default:
				return before, p.Leader
			}
		}
	}
	return before, after
}
