package nemesis

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/history"
)

// waiter is a line that waits for its trigger.
type waiter struct {
	trigger Trigger
	base    int64 // what had been counted when it began to count
	fired   bool
}

// listen prepares for the plan's triggers: acknowledgements are counted as they are recorded, states are looked at by a watcher
// that also follows the unclean replicas.
func (x *run) listen(p Plan) {
	kinds := func(ks ...TriggerKind) bool {
		return slices.ContainsFunc(p.Lines, func(l Line) bool { return slices.Contains(ks, l.Trigger.Kind) })
	}
	if kinds(AfterAcks) {
		x.Record.OnEntry(x.entry)
	}
	if kinds(AfterElections) {
		x.base = make(map[history.Partition]history.Epoch)
		for _, s := range x.known {
			x.base[s.Partition] = s.Epoch
		}
	}
	if kinds(AfterElections, AfterShrinks, AfterExpands, WhenISR, WhenLeader) {
		x.Record.OnStep(x.step)
	}
	x.watching = true
	x.Env.Go("nemesis watch", x.watch)
}

// step is called after every step of the protocol: who waits for one looks at once.
func (x *run) step(s history.Step) {
	if s.Kind != history.StepISR && s.Kind != history.StepElection {
		return
	}
	x.locked(func() { x.stirred = true })
	x.changed.Notify()
}

// entry is called after every entry of the history, so it does no more than it must.
func (x *run) entry() {
	fired := false
	x.locked(func() {
		for _, w := range x.waiting {
			if w.trigger.Kind == AfterAcks && !w.fired && x.Record.Acked(w.trigger.Partition)-w.base >= w.trigger.Count {
				w.fired, fired = true, true
			}
		}
	})
	if fired {
		x.changed.Notify()
	}
}

// met counts a fault on messages that has met its first.
func (x *run) met(m Messages) { x.tick(x.catches, m) }

// letGo counts one that has let go of what it held or made late.
func (x *run) letGo(m Messages) { x.tick(x.releases, m) }

// tick counts, and wakes who waits for that.
func (x *run) tick(counts map[Messages]int64, m Messages) {
	x.locked(func() {
		counts[Messages{}]++
		counts[m]++
		for _, w := range x.waiting {
			w.fired = w.fired || x.enough(w)
		}
	})
	x.changed.Notify()
}

// enough reports whether as many faults on messages as a line waits for have met one, or have let go. The lock is held.
func (x *run) enough(w *waiter) bool {
	t := w.trigger
	return t.Kind == AfterCatches && x.catches[t.Of]-w.base >= t.Count || t.Kind == AfterReleases && x.releases[t.Of]-w.base >= t.Count
}

// watch observes the cluster while a line waits for a state or a replica is unclean.
func (x *run) watch() {
	over := false
	for !over {
		x.wait(func() bool { return x.over || x.curious() }, -1)
		x.locked(func() { x.stirred = false })
		v := x.observe()
		fired := false
		x.locked(func() {
			for _, w := range x.waiting {
				if !w.fired && x.holds(w, v.known) {
					w.fired, fired = true, true
				}
			}
		})
		if fired {
			x.changed.Notify()
		}
		x.wait(func() bool { return x.over || x.stirred }, pollEvery)
		x.locked(func() { over = x.over })
	}
	x.locked(func() { x.watching = false })
	x.changed.Notify()
}

// curious reports whether anybody needs to know the cluster's state. The lock is held.
func (x *run) curious() bool {
	return !x.unclean.Empty() || slices.ContainsFunc(x.waiting, func(w *waiter) bool {
		return !w.fired && w.trigger.ofState()
	})
}

// ofState reports whether an observer sees the trigger come.
func (t Trigger) ofState() bool {
	switch t.Kind {
	case AtTime, AfterAcks, AfterCatches, AfterReleases:
		return false
	}
	return true
}

// holds reports whether a line that waits for a state has it. The lock is held.
func (x *run) holds(w *waiter, s history.ClusterState) bool {
	t := w.trigger
	if t.Kind != WhenISR && t.Kind != WhenLeader {
		return t.ofState() && x.tally(t, s)-w.base >= t.Count
	}
	return slices.ContainsFunc(s.Partitions, func(p history.PartitionState) bool {
		return p.Partition == t.Partition && (t.Kind == WhenISR && int64(len(p.ISR)) == t.Count || t.Kind == WhenLeader && p.Leader == t.Broker)
	})
}

// tally is how many of the events that a trigger counts there have been since the start, as far as an observer knows. The lock is held.
func (x *run) tally(t Trigger, s history.ClusterState) (count int64) {
	switch t.Kind {
	case AfterAcks:
		return x.Record.Acked(t.Partition)
	case AfterCatches:
		return x.catches[t.Of]
	case AfterReleases:
		return x.releases[t.Of]
	}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		if t.Partition == p.Partition || t.Partition == (history.Partition{}) {
			switch t.Kind {
			case AfterElections:
				count += max(0, int64(p.Epoch-x.base[p.Partition]))
			case AfterShrinks:
				count += x.shrinks[p.Partition]
			case AfterExpands:
				count += x.expands[p.Partition]
			}
		}
	}
	return count
}

// await blocks until the trigger comes; why says that it did not.
func (x *run) await(t Trigger) (why string) {
	if t.Kind == AtTime || t.At > 0 {
		x.Env.Sleep(min(x.start+t.At, x.until) - x.Env.Now())
		if x.start+t.At >= x.until {
			return fmt.Sprintf("the trigger never came: the plan ended at %v", x.until-x.start)
		}
	}
	if t.Kind == AtTime {
		return ""
	}
	w := &waiter{trigger: t}
	var known history.ClusterState
	if t.At > 0 && t.ofState() {
		known = x.observe().known
	}
	x.locked(func() {
		if t.At > 0 {
			w.base = x.tally(t, known)
		}
		w.fired = x.enough(w)
		x.waiting = append(x.waiting, w)
	})
	x.entry()
	x.changed.Notify()
	came := x.wait(func() bool { return w.fired }, max(0, x.until-x.Env.Now()))
	x.locked(func() { x.waiting = slices.DeleteFunc(x.waiting, func(o *waiter) bool { return o == w }) })
	if !came {
		return "the trigger never came: " + x.stands(t)
	}
	if x.Env.Sleep(min(t.Plus, x.until-x.Env.Now())); t.Plus > 0 && x.Env.Now() >= x.until {
		return fmt.Sprintf("the trigger came, and the plan ended within %v", t.Plus)
	}
	return ""
}

// stands says how far a trigger had come.
func (x *run) stands(t Trigger) string {
	switch t.Kind {
	case AfterAcks:
		return fmt.Sprintf("%d acks", x.Record.Acked(t.Partition))
	case AfterCatches, AfterReleases:
		n := int64(0)
		x.locked(func() { n = x.tally(t, history.ClusterState{}) })
		return strings.TrimPrefix(Trigger{Kind: t.Kind, Count: n, Of: t.Of}.String(), "after ")
	}
	s := x.observe().known
	for i := range s.Partitions {
		if p := &s.Partitions[i]; p.Partition == t.Partition {
			return fmt.Sprintf("%v has leader %d, epoch %d, ISR %v", p.Partition, p.Leader, p.Epoch, p.ISR)
		}
	}
	return "not within the plan's time"
}
