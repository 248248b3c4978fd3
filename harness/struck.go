package harness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/world"
)

// leadership tells, a line a kind of fault, what the first fault of that kind that hit a leader did to the leadership, and of how many more it does not. Times
// count from the load, as the plan's do. What meets messages strikes nobody's leadership, and is not told of.
func leadership(h *history.History, load time.Duration) string {
	var out strings.Builder
	for _, kind := range simAbilities {
		all := struckLeaders(h, kind)
		if len(all) == 0 || checker.OnMessages(string(kind)) {
			continue
		}
		s := &all[0]
		after := fmt.Sprintf("broker %d when it was undone", s.after)
		switch s.after {
		case s.before:
			after = "and when it was undone"
		case history.NoBroker:
			after = "nobody when it was undone"
		}
		more := ""
		if n := len(all) - 1; n > 0 {
			more = fmt.Sprintf("; %d more of this kind struck a leader", n)
		}
		fmt.Fprintf(&out, "  %s of a leader, fault #%d, %.2fs into the load: broker %d led when it struck, %s%s\n    %s\n", kind, s.fault+1, (s.at - load).Seconds(), s.before, after, more, s.line)
	}
	return out.String()
}

// struckLeader is a fault that was observed to hit the leader of its line's partition.
type struckLeader struct {
	fault         int // of the plan's, from 0
	line          string
	at            time.Duration    // when it was applied
	before, after history.BrokerID // who led then, and who when it was undone
}

// StruckLeader finds the first fault of a kind that was observed to hit the leader of its line's partition, and says who led when it
// was applied and who when it was undone; NoBroker if there was none.
func StruckLeader(h *history.History, kind world.Ability) (before, after history.BrokerID) {
	if all := struckLeaders(h, kind); len(all) > 0 {
		return all[0].before, all[0].after
	}
	return history.NoBroker, history.NoBroker
}

// struckLeaders are all faults of a kind that were, in their order.
func struckLeaders(h *history.History, kind world.Ability) (all []struckLeader) {
	for _, seen := range h.Faults {
		if seen.Kind != string(kind) || seen.Phase != history.FaultObserved {
			continue
		}
		_, rest, _ := strings.Cut(seen.Line, "leader(")
		name, _, _ := strings.Cut(rest, ")")
		s := struckLeader{fault: seen.Fault, line: seen.Line, before: history.NoBroker, after: history.NoBroker}
		for _, e := range h.Faults {
			switch {
			case e.Fault != seen.Fault:
			case e.Phase == history.FaultApplied:
				s.at = e.Time
				s.before, _ = leaderAround(h, name, e)
			case e.Phase == history.FaultUndone:
				_, s.after = leaderAround(h, name, e)
			}
		}
		if s.before != history.NoBroker && slices.Equal(seen.Targets, []history.BrokerID{s.before}) {
			all = append(all, s)
		}
	}
	return all
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
