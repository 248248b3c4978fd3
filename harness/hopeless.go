package harness

import (
	"fmt"
	"slices"

	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/world"
)

// Hopeless tells of lines of a run's plan that can be known beforehand to be refused: a reassignment to another number of replicas, and one
// that waits for a message to be caught, or let go, where no line catches any such.
func Hopeless(run history.Run) (out []string) {
	plan, err := nemesis.Parse(run.Plan)
	if err != nil {
		return nil // who carries it out will say so
	}
	some := func(such func(world.Ability) bool, of nemesis.Messages) bool {
		return slices.ContainsFunc(plan.Lines, func(l nemesis.Line) bool {
			return such(l.Fault.Kind) && (of == nemesis.Messages{} || of == l.Fault.Messages())
		})
	}
	for _, l := range plan.Lines {
		if n := len(l.Fault.Targets); l.Fault.Kind == world.CanReassign && n != run.Factor {
			out = append(out, fmt.Sprintf("%v: %d replicas, expected %d as before", l, n, run.Factor))
		}
		if l.Trigger.Kind == nemesis.AfterCatches && !some(world.OfMessages, l.Trigger.Of) {
			out = append(out, fmt.Sprintf("%v: no line of the plan holds, drops or delays such messages, so none is ever caught", l))
		}
		if l.Trigger.Kind == nemesis.AfterReleases && !some(world.Keeps, l.Trigger.Of) {
			out = append(out, fmt.Sprintf("%v: no line of the plan holds or delays such messages, so none is ever let go", l))
		}
	}
	return out
}
