package harness

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/history"
	"tidemark/nemesis"
)

// Phase is a part of a run's life, in words.
type Phase string

// The phases, in their order. Only a run in containers starts brokers, reads logs and removes containers.
const (
	PhaseStart  Phase = "starting brokers"
	PhaseCreate Phase = "creating the topic"
	PhaseLoad   Phase = "load"
	PhaseHeal   Phase = "waiting for the last faults to end"
	PhaseSettle Phase = "settling"
	PhaseFinal  Phase = "reading everything back"
	PhaseLogs   Phase = "reading logs"
	PhaseRemove Phase = "removing containers"
	PhaseJudge  Phase = "judging"
)

// Progress is how far a run is.
type Progress struct {
	Phase Phase
	Now   time.Duration // on the run's clock
	Load  time.Duration // how much of the load is over
	Acked int64         // writes acknowledged so far
	Force []string      // the faults in force, as plans write them, in order of the plan
	News  string        // what has just become of a fault; "" if that is not why this is told
}

// teller tells how a run goes on. Its methods may be called by several at once; what it tells comes one at a time.
type teller struct {
	tell func(Progress) // nil tells nobody

	mu     sync.Mutex
	now    func() time.Duration
	record *history.Recorder // nil while there is none
	plan   nemesis.Plan
	phase  Phase
	loaded time.Duration // when the load began
	force  []int         // plan lines in force, ascending
}

// enter says that a phase begins.
func (t *teller) enter(phase Phase) {
	if t.tell == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phase = phase
	if phase == PhaseLoad {
		t.loaded = t.now()
	}
	t.say("")
}

// tick says how far the phase is.
func (t *teller) tick() {
	if t.tell == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say("")
}

// watch tells of the faults of a plan as a recorder learns of them.
func (t *teller) watch(record *history.Recorder, now func() time.Duration, plan nemesis.Plan) {
	if t.tell == nil {
		return
	}
	t.mu.Lock()
	t.record, t.now, t.plan = record, now, plan
	t.mu.Unlock()
	record.OnFault(t.fault)
}

// fault takes down what becomes of a fault. Only one that a probe observed is in force.
func (t *teller) fault(e history.FaultEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Fault < 0 || e.Fault >= len(t.plan.Lines) {
		return
	}
	i, in := slices.BinarySearch(t.force, e.Fault)
	switch {
	case e.Phase == history.FaultObserved && !in:
		t.force = slices.Insert(t.force, i, e.Fault)
		t.say(fmt.Sprintf("fault %d in force: %s", e.Fault+1, e.Line))
	case e.Phase == history.FaultUndone && in:
		t.force = slices.Delete(t.force, i, i+1)
		t.say(fmt.Sprintf("fault %d undone: %s", e.Fault+1, e.Line))
	}
}

// say tells where the run is. The lock is held.
func (t *teller) say(news string) {
	p := Progress{Phase: t.phase, News: news}
	if t.record != nil {
		p.Now, p.Acked = t.now(), t.record.Acked(history.Partition{})
		if t.loaded > 0 || t.phase == PhaseLoad {
			p.Load = p.Now - t.loaded
		}
	}
	for _, line := range t.force {
		p.Force = append(p.Force, t.plan.Lines[line].Fault.String())
	}
	t.tell(p)
}
