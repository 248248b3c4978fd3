package checker

import (
	"slices"

	"tidemark/history"
)

// MinOperations is how many operations must have completed for a run to mean anything; one send acknowledged and one record read besides.
const MinOperations = 100

// activity is what a run did, as the vacuous verdict asks for it: Stats, and what happened after the first fault took effect.
type activity struct {
	stats     Stats
	completed int64
	planned   bool  // the plan has faults
	baseline  bool  // it has none, and nobody else did anything either
	changed   bool  // an outcome, a leader or an ISR, after the first fault was applied; or a value was sent again
	fault     int64 // index at which the first fault that was observed had been applied, never if none was
}

// measure counts what a history shows.
func measure(run history.Run, h *history.History) activity {
	a := activity{stats: Stats{FaultsByKind: map[string]int64{}}}
	firstFault := a.countFaults(h)
	a.fault = firstFault
	a.planned = a.stats.planned(run)
	a.baseline = !a.planned && run.World != "" // of another harness' history nobody knows
	a.countOps(h, firstFault)
	a.countSteps(h, firstFault)
	for i := range h.Dumps {
		if h.Dumps[i].Err != "" {
			a.stats.DumpErrors++
		} else {
			a.stats.DumpedReplicas++
		}
	}
	return a
}

// planned reports whether a run was to have faults, or had some.
func (s *Stats) planned(run history.Run) bool { return s.Faults > 0 || planHasFaults(run.Plan) }

// planHasFaults reports whether a plan's text has a line that is neither empty nor a comment.
func planHasFaults(plan string) bool {
	start := true
	comment := false
	for _, r := range plan {
		switch {
		case r == '\n':
			start, comment = true, false
		case comment || r == ' ' || r == '\t' || r == '\r':
		case start && r == '#':
			comment = true
		default:
			return true
		}
	}
	return false
}

// countFaults returns the index at which the first fault that was observed had been applied, never if none was.
func (a *activity) countFaults(h *history.History) int64 {
	type life struct {
		applied  int64
		observed bool
	}
	lives := map[int]*life{}
	first := int64(never)
	for i := range h.Faults {
		f := &h.Faults[i]
		l := lives[f.Fault]
		if l == nil {
			l = &life{applied: never}
			lives[f.Fault] = l
			a.stats.Faults++
		}
		switch f.Phase {
		case history.FaultApplied:
			l.applied = min(l.applied, f.Index)
		case history.FaultObserved:
			if !l.observed {
				l.observed = true
				a.stats.FaultsObserved++
				a.stats.FaultsByKind[f.Kind]++
			}
			first = min(first, l.applied, f.Index)
		case history.FaultFailed: // it was seen in force and did not last
			if l.observed {
				l.observed = false
				a.stats.FaultsObserved--
				a.stats.FaultsByKind[f.Kind]--
			}
		}
	}
	return first
}

func (a *activity) countOps(h *history.History, firstFault int64) {
	counts := make([]activity, stretches(len(h.Ops)))
	inStretches(len(h.Ops), func(n, from, to int) { counts[n].countStretch(h.Ops[from:to], firstFault) })
	s := &a.stats
	for i := range counts {
		n := &counts[i]
		a.completed += n.completed
		a.changed = a.changed || n.changed
		s.Sends += n.stats.Sends
		s.Acked += n.stats.Acked
		s.Failed += n.stats.Failed
		s.Unknown += n.stats.Unknown
		s.Polls += n.stats.Polls
		s.Records += n.stats.Records
	}
}

func (a *activity) countStretch(ops []history.Op, firstFault int64) {
	s := &a.stats
	for i := range ops {
		op := &ops[i]
		if op.Process < 0 {
			continue // nobody asked: it is what all answers together showed
		}
		if op.Outcome != history.Pending {
			a.completed++
		}
		disturbed := op.Outcome == history.Fail || op.Outcome == history.Info || op.Outcome == history.Pending
		if disturbed && (op.ReturnIndex > firstFault || op.Outcome == history.Pending && firstFault != never) {
			a.changed = true
		}
		switch op.Kind {
		case history.Send:
			s.Sends++
			switch op.Outcome {
			case history.OK:
				s.Acked++
			case history.Fail:
				s.Failed++
			default:
				s.Unknown++
			}
		case history.Poll:
			s.Polls++
			if op.Outcome == history.OK {
				s.Records += int64(len(op.Records))
			}
		}
	}
}

// shape is a partition's leadership as it was last seen.
type shape struct {
	leader history.BrokerID
	isr    []history.BrokerID
}

// countSteps counts leader and ISR changes from the protocol steps; a world whose brokers report none is counted from the observer's states.
// The first leader and ISR of a partition are its creation, not a change.
func (a *activity) countSteps(h *history.History, firstFault int64) {
	s := &a.stats
	shapes := map[history.Partition]*shape{}
	at := func(p history.Partition) *shape {
		x := shapes[p]
		if x == nil {
			x = &shape{leader: history.NoBroker}
			shapes[p] = x
		}
		return x
	}
	stepped := false
	for i := range h.Steps {
		st := &h.Steps[i]
		switch st.Kind {
		case history.StepElection:
			stepped = true
			a.sawLeader(at(st.Partition), st.Broker, st.Index > firstFault)
		case history.StepISR:
			stepped = true
			a.sawISR(at(st.Partition), st.ISR, st.Index > firstFault)
		case history.StepTruncate:
			if st.To < st.From {
				s.Truncations++
			}
		case history.StepRecovery:
			s.TornRecoveries++
		}
	}
	if stepped {
		return
	}
	for i := range h.States {
		st := &h.States[i]
		for j := range st.Partitions {
			p := &st.Partitions[j]
			a.sawLeader(at(p.Partition), p.Leader, st.Index > firstFault)
			a.sawISR(at(p.Partition), p.ISR, st.Index > firstFault)
		}
	}
}

func (a *activity) sawLeader(x *shape, leader history.BrokerID, afterFault bool) {
	if leader == history.NoBroker || leader == x.leader {
		return
	}
	if x.leader != history.NoBroker {
		a.stats.LeaderChanges++
		a.changed = a.changed || afterFault
	}
	x.leader = leader
}

func (a *activity) sawISR(x *shape, isr []history.BrokerID, afterFault bool) {
	if len(isr) == 0 {
		return
	}
	if x.isr != nil {
		lost, gained := missing(x.isr, isr), missing(isr, x.isr)
		if lost > 0 {
			a.stats.ISRShrinks++
		}
		if gained > 0 {
			a.stats.ISRGrowths++
		}
		a.changed = a.changed || afterFault && lost+gained > 0
	}
	x.isr = isr
}

// missing counts the members of a that b lacks.
func missing(a, b []history.BrokerID) int {
	n := 0
	for _, m := range a {
		if !slices.Contains(b, m) {
			n++
		}
	}
	return n
}

// vacuous says why the run means nothing, or "".
func (a *activity) vacuous() string {
	nothing := a.stats.nothing(a.planned)
	switch {
	case a.completed < MinOperations:
		return "Only " + itoa(a.completed) + " operations completed; at least " + itoa(MinOperations) + " are needed."
	case nothing != "":
		return nothing
	case a.planned && !a.changed:
		return "The plan has faults, and none of them changed an outcome, a leader or an ISR."
	}
	return ""
}

// nothing says what the counts alone show that a run did not do, so that it means nothing, or "".
func (s *Stats) nothing(planned bool) string {
	switch {
	case s.Acked == 0:
		return "No write was acknowledged."
	case s.Records == 0:
		return "No record was read."
	case planned && s.FaultsObserved == 0:
		return "The plan has faults, and none of them was observed to take effect."
	}
	return ""
}
