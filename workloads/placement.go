package workloads

import (
	"cmp"
	"slices"

	"tidemark/history"
)

// Placement is where this program's own brokers put the replicas of a cluster's first topic, by partition, the preferred leader first: on those
// with the fewest replicas, led by the one that leads the fewest. Brokers of another make are asked for the same, so that a plan which names a
// broker by its number means the same on them.
func Placement(brokers []history.BrokerID, parts, factor int) [][]history.BrokerID {
	replicas, leaders := map[history.BrokerID]int{}, map[history.BrokerID]int{}
	out := make([][]history.BrokerID, parts)
	for i := range out {
		order := slices.SortedStableFunc(slices.Values(brokers), func(a, b history.BrokerID) int {
			return cmp.Or(cmp.Compare(replicas[a], replicas[b]), cmp.Compare(leaders[a], leaders[b]), cmp.Compare(a, b))
		})
		chosen := order[:min(factor, len(order))]
		slices.SortFunc(chosen, func(a, b history.BrokerID) int {
			return cmp.Or(cmp.Compare(leaders[a], leaders[b]), cmp.Compare(a, b))
		})
		for _, b := range chosen {
			replicas[b]++
		}
		if len(chosen) > 0 {
			leaders[chosen[0]]++
		}
		out[i] = chosen
	}
	return out
}
