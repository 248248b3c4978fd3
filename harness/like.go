package harness

import (
	"maps"
	"slices"
	"time"

	"tidemark/docker/targets"
	"tidemark/history"
	"tidemark/sim"
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

// likeCluster is the simulated brokers of a run as those of the target that it is like, if it is like one: beside a ZooKeeper, where a broker that was
// killed is taken in once its session is over and is therefore started no sooner (docker's targets), it stays down here for as long.
func likeCluster(run history.Run, w *sim.World) world.Cluster {
	if t, err := targetOf(run); err != nil || run.Like == "" || !t.Keeper {
		return w
	}
	return &patient{World: w, session: span(run, "broker.session.timeout.ms"), killed: map[history.BrokerID]time.Duration{}}
}

// patient starts no broker that was killed before its session is over.
type patient struct {
	*sim.World
	session time.Duration
	killed  map[history.BrokerID]time.Duration // when
}

// Kill is kill -9.
func (p *patient) Kill(b history.BrokerID) error {
	p.killed[b] = p.Now()
	return p.World.Kill(b)
}

// Start starts a broker, once its session is over if it was killed.
func (p *patient) Start(b history.BrokerID) error {
	if at, was := p.killed[b]; was {
		delete(p.killed, b)
		p.Sleep(max(0, at+p.session-p.Now()))
	}
	return p.World.Start(b)
}
