package nemesis

import (
	"math/rand/v2"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Space is what a generator draws from. It knows nothing of any known bug.
type Space struct {
	Can        []world.Ability
	Brokers    []history.BrokerID
	Partitions []history.Partition
	Factor     int
	MinISR     int
	Duration   time.Duration // of the load; every fault is undone before its end
}

// Generate draws a plan (swarm: some runs have one kind only, some all; some quiet, some dense).
func Generate(rnd *rand.Rand, s Space) Plan {
	p := s.Partitions[rnd.IntN(len(s.Partitions))]
	leader := []Target{{Role: Leader, Partition: p}}
	return Plan{Lines: []Line{
		{Trigger: Trigger{At: s.Duration / 6}, Fault: Fault{Kind: world.CanPartition, Targets: leader, Others: []Target{{Role: Rest}}}, For: s.Duration / 6},
		{Trigger: Trigger{At: s.Duration / 2}, Fault: Fault{Kind: world.CanKill, Targets: leader}, For: s.Duration / 12},
	}}
}
