// Package nemesis is what goes wrong: the fault kinds, plans and their text form, the generator that draws plans from a seed, and each fault's
// life from requested to verified undone.
package nemesis

import (
	"math/rand/v2"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Plan is a list of faults, one a line.
type Plan struct{ Lines []Line }

// Line is one fault of a plan.
type Line struct{}

// Parse reads a plan's text; an error names line, word and what was expected.
func Parse(text string) (Plan, error) { panic("not built") }

// String is the plan's canonical text: Parse(p.String()) is p.
func (p Plan) String() string { panic("not built") }

// Needs lists the abilities that the plan needs, sorted.
func (p Plan) Needs() []world.Ability { panic("not built") }

// Check reports what of the plan the world cannot do or the cluster does not have (a broker or partition that does not exist).
func (p Plan) Check(can []world.Ability, brokers []history.BrokerID, parts []history.Partition) error {
	panic("not built")
}

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
func Generate(rnd *rand.Rand, s Space) Plan { panic("not built") }

// Budget is the fault budget of a run: what may be unclean at once (the design's contract).
type Budget struct {
	MinISR  int
	ELR     bool // false: classic mode
	Ignored bool // the run was told to go beyond
}

// Runner carries out a plan on a cluster.
type Runner struct {
	Env     world.Env
	Cluster world.Cluster
	Record  *history.Recorder
	Budget  Budget
	Parts   []history.Partition
	Bound   time.Duration // longest wait for a probe, a start or an undo
}

// Run carries out the plan until every fault is verified undone or stop returns true; it then undoes what is in force, starts
// what is down, and verifies. The error lists faults that could not be verified undone.
func (r *Runner) Run(p Plan, until time.Duration) error { panic("not built") }
