package harness

import (
	"maps"
	"slices"

	"tidemark/docker/targets"
	"tidemark/history"
	"tidemark/world"
)

// A simulated run may be like a target (--like): its brokers are this program's own, with whatever bug is on, but they have the target's times and
// elect as it does, its plan has the faults alone that the target admits, and it is judged by what the target shows, too. So a plan that fails there
// need not be changed, in its times either, to be carried over.

// likeQuick is the shorter times of a run that is like a target: the target's own, where brokers of this program have the key. What a session with
// ZooKeeper is there, one with the controller is here.
func likeQuick(t targets.Target) map[string]string {
	out := maps.Clone(quick)
	for key := range quick {
		if value, has := t.Quick[key]; has {
			out[key] = value
		}
	}
	if session, has := t.Quick["zookeeper.session.timeout.ms"]; has {
		out["broker.session.timeout.ms"] = session
	}
	return out
}

// likeAbilities is what a run that is like a target can do: what both can.
func likeAbilities(run history.Run, can []world.Ability) []world.Ability {
	if run.Like == "" {
		return can
	}
	admitted := targetAbilities(run)
	return slices.DeleteFunc(slices.Clone(can), func(a world.Ability) bool { return !slices.Contains(admitted, a) })
}
