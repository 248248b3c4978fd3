package nemesis

import (
	"fmt"
	"slices"

	"tidemark/history"
)

// waiter is a line that waits for its trigger.
type waiter struct {
	trigger Trigger
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
	x.watching = true
	x.Env.Go("nemesis watch", x.watch)
}

// entry is called after every entry of the history, so it does no more than it must.
func (x *run) entry() {
	fired := false
	x.locked(func() {
		for _, w := range x.waiting {
			if w.trigger.Kind == AfterAcks && !w.fired && x.Record.Acked(w.trigger.Partition) >= w.trigger.Count {
				w.fired, fired = true, true
			}
		}
	})
	if fired {
		x.changed.Notify()
	}
}

// met counts a fault on messages that has met its first.
func (x *run) met() {
	x.locked(func() {
		x.catches++
		for _, w := range x.waiting {
			w.fired = w.fired || x.caughtUp(w.trigger)
		}
	})
	x.changed.Notify()
}

// caughtUp reports whether as many faults on messages as a trigger waits for have met one. The lock is held.
func (x *run) caughtUp(t Trigger) bool { return t.Kind == AfterCatches && x.catches >= t.Count }

// watch observes the cluster while a line waits for a state or a replica is unclean.
func (x *run) watch() {
	over := false
	for !over {
		x.wait(func() bool { return x.over || x.curious() }, -1)
		v := x.observe()
		fired := false
		x.locked(func() {
			for _, w := range x.waiting {
				if !w.fired && x.holds(w.trigger, v.known) {
					w.fired, fired = true, true
				}
			}
		})
		if fired {
			x.changed.Notify()
		}
		x.wait(func() bool { return x.over }, pollEvery)
		x.locked(func() { over = x.over })
	}
	x.locked(func() { x.watching = false })
	x.changed.Notify()
}

// curious reports whether anybody needs to know the cluster's state. The lock is held.
func (x *run) curious() bool {
	return !x.unclean.Empty() || slices.ContainsFunc(x.waiting, func(w *waiter) bool {
		return !w.fired && w.trigger.Kind != AfterAcks && w.trigger.Kind != AfterCatches
	})
}

// holds reports whether a trigger that waits for a state has it.
func (x *run) holds(t Trigger, s history.ClusterState) bool {
	var count int64
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
		if t.Partition == p.Partition {
			switch t.Kind {
			case WhenISR:
				return int64(len(p.ISR)) == t.Count
			case WhenLeader:
				return p.Leader == t.Broker
			}
		}
	}
	return t.Count > 0 && count >= t.Count
}

// await blocks until the trigger comes; why says that it did not.
func (x *run) await(t Trigger) (why string) {
	if t.Kind == AtTime {
		x.Env.Sleep(min(x.start+t.At, x.until) - x.Env.Now())
		if x.start+t.At >= x.until {
			return fmt.Sprintf("the trigger never came: the plan ended at %v", x.until-x.start)
		}
		return ""
	}
	w := &waiter{trigger: t}
	x.locked(func() {
		w.fired = x.caughtUp(t)
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
	case AfterCatches:
		n := int64(0)
		x.locked(func() { n = x.catches })
		return fmt.Sprintf("%d catches", n)
	}
	s := x.observe().known
	for i := range s.Partitions {
		if p := &s.Partitions[i]; p.Partition == t.Partition {
			return fmt.Sprintf("%v has leader %d, epoch %d, ISR %v", p.Partition, p.Leader, p.Epoch, p.ISR)
		}
	}
	return "not within the plan's time"
}
