package checker

import (
	"slices"

	"tidemark/history"
)

// walk follows one record through the steps of its partition: who held it, what touched its offset, who lost it.
type walk struct {
	src     source
	birth   *history.Step // the append that brought it, nil if the steps tell of none
	epoch   history.Epoch // of that append
	offset  history.Offset
	brokers []history.BrokerID // every broker that has to do with the partition, ascending
	held    map[history.BrokerID]bool
	follows map[history.BrokerID]*history.Step
	ends    map[history.BrokerID]history.Offset // log ends as far as known
	isr     []history.BrokerID

	heldThen []history.BrokerID
	isrThen  []history.BrokerID
	removals []Removal
	steps    []history.Step
	deposed  deposed
	kinds    []string // for the signature
	lostAt   int64    // index of the last removal
	born     bool     // the record was appended
	// elsewhere is the append of what stood where the record was acknowledged, if no replica appended it.
	elsewhere *history.Step
}

// follow walks the steps up to the index until, from the append that brought the record.
func (l *stepLog) follow(src source, o history.Offset, brokers []history.BrokerID, until int64, birth, elsewhere *history.Step) *walk {
	w := &walk{src: src, birth: birth, elsewhere: elsewhere, epoch: l.epochOf(birth, src), offset: o, brokers: brokers, held: map[history.BrokerID]bool{},
		follows: map[history.BrokerID]*history.Step{}, ends: map[history.BrokerID]history.Offset{}}
	w.deposed = l.deposedBy(w, src)
	then := false
	for _, s := range l.steps {
		if s.Index > until {
			break
		}
		if !then && s.Index > src.index {
			then = true
			w.noteThen()
		}
		w.step(s)
	}
	if !then {
		w.noteThen()
	}
	for _, b := range w.brokers {
		gone := slices.ContainsFunc(w.removals, func(r Removal) bool { return r.Broker == b })
		if w.born && !w.held[b] && !gone {
			r := Removal{Broker: b, How: "never had it", Time: -1, From: history.UnknownOffset, To: history.UnknownOffset, Leader: history.NoBroker, Epoch: -1}
			if f := w.follows[b]; f != nil {
				r.Leader, r.Epoch = f.Peer, f.Epoch
			}
			w.removals = append(w.removals, r)
		}
	}
	w.cutSteps()
	if elsewhere != nil {
		w.steps, w.kinds = []history.Step{*elsewhere}, []string{"never appended"}
	}
	return w
}

func (w *walk) noteThen() {
	for _, b := range w.brokers {
		if w.held[b] {
			w.heldThen = append(w.heldThen, b)
		}
	}
	w.isrThen = w.isr
}

// touch records that a kind of step touched the offset; each kind counts once, in order of its first.
func (w *walk) touch(kind string) {
	if w.born && !slices.Contains(w.kinds, kind) {
		w.kinds = append(w.kinds, kind)
	}
}

func (w *walk) step(s *history.Step) {
	b, o := s.Broker, w.offset
	tell := false
	switch s.Kind {
	case history.StepAppend:
		w.ends[b] = s.To
		if s.From <= o && o < s.To {
			w.append(s)
			tell = w.held[b]
		}
	case history.StepTruncate:
		tell = true
		w.ends[b] = s.To
		if s.To <= o && o < s.From {
			w.touch("truncation")
			w.remove(s, "truncated", s.From)
		}
	case history.StepTrim:
		if s.From <= o && o < s.To {
			tell = true
			w.touch("trim")
			w.remove(s, "trimmed", s.From)
		}
	case history.StepRecovery:
		tell = true
		if s.To <= o && o < s.From {
			w.touch("restart")
			w.remove(s, "recovery", s.From)
		}
		w.ends[b] = s.To
	case history.StepStart:
		tell = true
		if s.Partition != (history.Partition{}) {
			if s.To <= o && w.held[b] {
				w.touch("restart")
				w.remove(s, "recovery", w.ends[b])
			}
			w.ends[b] = s.To
		}
	case history.StepDown:
		tell = true
		if w.held[b] {
			w.touch("restart")
		}
	case history.StepElection:
		tell = true
		if logEnd(s) <= o && s.Epoch > w.epoch {
			w.touch("election")
		}
	case history.StepFollow:
		w.follows[b] = s
	case history.StepISR:
		tell = true
		if w.isr != nil && w.riskier(s.ISR) {
			w.touch("ISR change")
		}
		w.isr = s.ISR
	case history.StepHW:
		if s.From <= o && o < s.To {
			w.touch("HW move")
		}
	}
	if tell && w.brokers != nil && (w.born || s.Index >= w.deposed.from) && len(w.steps) < maxWitnessSteps {
		w.steps = append(w.steps, *s)
	}
}

// append decides whether the record that a broker appended at the offset is the one followed: what its birth brought is, and a copy from a
// broker that holds it.
func (w *walk) append(s *history.Step) {
	switch {
	case s == w.birth:
		w.born = true
		w.held[s.Broker] = true
	case s.Peer >= 0 && s.Peer != s.Broker:
		w.held[s.Broker] = w.held[s.Peer]
		w.born = w.born || w.held[s.Broker]
	default:
		w.held[s.Broker] = false
	}
}

// riskier reports whether an ISR takes in a broker that does not hold the record, or leaves out one that does.
func (w *walk) riskier(isr []history.BrokerID) bool {
	for _, b := range isr {
		if !slices.Contains(w.isr, b) && !w.held[b] {
			return true
		}
	}
	for _, b := range w.isr {
		if !slices.Contains(isr, b) && w.held[b] {
			return true
		}
	}
	return false
}

func (w *walk) remove(s *history.Step, how string, from history.Offset) {
	if !w.held[s.Broker] {
		return
	}
	w.held[s.Broker] = false
	w.lostAt = s.Index
	r := Removal{Broker: s.Broker, How: how, Time: int64(s.Time), From: from, To: s.To, Leader: history.NoBroker, Epoch: s.Epoch}
	if how == "truncated" {
		if f := w.follows[s.Broker]; f != nil {
			r.Leader = f.Peer
		}
		if slices.Contains(w.brokers, s.Peer) && s.Peer != s.Broker {
			r.Leader = s.Peer
		}
	}
	w.removals = append(w.removals, r)
}

// cutSteps drops the steps after the last replica lost the record.
func (w *walk) cutSteps() {
	if w.lostAt == 0 {
		return
	}
	for i := range w.steps {
		if w.steps[i].Index > w.lostAt {
			w.steps = w.steps[:i]
			return
		}
	}
}
