package checker

import (
	"fmt"
	"strings"

	"tidemark/history"
)

// A leader's high watermark does not go back within its epoch: it is the smallest log end of the maximal ISR, a member joins only when it has
// caught up, and records are removed only by another epoch's leader. Consumers see it in answers to Fetch, the observer in what brokers say of
// themselves, and brokers tell of it as steps.

// teller is who told a high watermark.
type teller struct {
	broker history.BrokerID
	epoch  history.Epoch
}

// mark is a high watermark that an answer carried.
type mark struct {
	hw       history.Offset
	op       int32
	returned int64
}

// telling is what one leader told in one epoch: the highest that was told before the invocation that is asked about, and what is newer.
type telling struct {
	best  mark
	newer []mark
	told  bool // that it went back
}

// before takes in what had been returned by an index and returns the highest. Indices must rise.
func (t *telling) before(index int64) mark {
	kept := t.newer[:0]
	for _, m := range t.newer {
		switch {
		case m.returned >= index:
			kept = append(kept, m)
		case m.hw > t.best.hw:
			t.best = m
		}
	}
	t.newer = kept
	return t.best
}

// watermarks compares the high watermarks of answers, one leader epoch at a time, and the ends of the log that ListOffsets told with those of
// its own and earlier epochs (KIP-207: a new leader answers only when its high watermark has reached its epoch's start). The end that
// consumers are told is the high watermark, so it counts as one.
//
// Only an answer to a request that carried the epoch tells whose it is (KIP-320): the raw client's requests do. Kgo's clients keep to
// themselves what they were told.
type watermarks struct {
	c         *partCheck
	told      map[teller]*telling
	lists     []int32 // that are still to come
	anomalies []anomaly
}

func newWatermarks(c *partCheck) *watermarks {
	return &watermarks{c: c, told: map[teller]*telling{}, lists: c.lists}
}

// hear takes in the next poll that succeeded, and the ListOffsets before it.
func (m *watermarks) hear(i int32, op *history.Op) {
	for len(m.lists) > 0 && m.lists[0] < i {
		m.checkListOffsets(m.lists[0])
		m.lists = m.lists[1:]
	}
	if m.tells(op, op.HW) {
		m.hearHW(i, op)
	}
}

// tells reports whether it is known of an answer whose high watermark it carries.
func (m *watermarks) tells(op *history.Op, hw history.Offset) bool {
	return hw >= 0 && op.Epoch >= 0 && op.Broker != history.NoBroker && !m.c.run.Reticent(op.Process)
}

// by is what a leader told in an epoch.
func (m *watermarks) by(who teller) *telling {
	t := m.told[who]
	if t == nil {
		t = &telling{best: mark{hw: history.UnknownOffset, op: -1}}
		m.told[who] = t
	}
	return t
}

func (m *watermarks) hearHW(i int32, op *history.Op) {
	who := teller{op.Broker, op.Epoch}
	t := m.by(who)
	if before := t.before(op.InvokeIndex); before.hw > op.HW {
		if t.told {
			return
		}
		t.told = true
		earlier := &m.c.h.Ops[before.op]
		m.anomalies = append(m.anomalies, anomaly{class: HWBack, part: m.c.part, offset: op.HW, upto: before.hw, send: -1, op: i,
			detail: fmt.Sprintf("broker %d, leader in epoch %d, answered consumer %d at %s with the high watermark %d and consumer %d at %s with %d",
				op.Broker, op.Epoch, earlier.Process, clock(int64(earlier.Return)), before.hw, op.Process, clock(int64(op.Return)), op.HW)})
		return
	}
	t.newer = append(t.newer, mark{op.HW, i, op.ReturnIndex})
}

// finish judges the ListOffsets that no answer came after.
func (m *watermarks) finish() {
	for _, i := range m.lists {
		m.checkListOffsets(i)
	}
}

// checkListOffsets compares the end of the log that a ListOffsets told with what had been told when it was asked.
func (m *watermarks) checkListOffsets(i int32) {
	op := &m.c.h.Ops[i]
	if !m.tells(op, op.Offset) {
		return
	}
	best, by := mark{hw: history.UnknownOffset}, teller{}
	for who, t := range m.told {
		if who.epoch > op.Epoch {
			continue
		}
		if b := t.before(op.InvokeIndex); b.hw > best.hw || b.hw == best.hw && b.op < best.op {
			best, by = b, who
		}
	}
	if best.hw <= op.Offset {
		t := m.by(teller{op.Broker, op.Epoch})
		t.newer = append(t.newer, mark{op.Offset, i, op.ReturnIndex})
		return
	}
	m.anomalies = append(m.anomalies, anomaly{class: ListOffsetsBack, part: m.c.part, offset: op.Offset, upto: best.hw, send: -1, op: i,
		detail: fmt.Sprintf("broker %d, leader in epoch %d, told consumer %d at %s that the log ends at %d, and broker %d in epoch %d had answered at %s with the high watermark %d",
			op.Broker, op.Epoch, op.Process, clock(int64(op.Return)), op.Offset, by.broker, by.epoch, clock(int64(m.c.h.Ops[best.op].Return)), best.hw)})
}

// lead is a leader as it was last seen.
type lead struct {
	epoch history.Epoch
	hw    history.Offset
	at    int64 // when, in nanoseconds since the run's start
	index int64
	told  bool // its watermark was seen to go back
}

// checkObserved compares the high watermarks of leaders as the observer saw them, and as they told them in steps. One that went down, or that
// a fault struck in between, may have begun anew.
func (c *logCheck) checkObserved() {
	c.checkStates()
	c.checkHWSteps()
	c.checkRestarts()
}

func (c *logCheck) checkStates() {
	type place struct {
		part   int32
		broker history.BrokerID
	}
	struck := c.struck()
	leads := map[place]*lead{}
	for i := range c.h.States {
		s := &c.h.States[i]
		for j := range s.Partitions {
			p := &s.Partitions[j]
			part, known := c.numbers.index[p.Partition]
			if !known {
				continue
			}
			for _, r := range p.Replicas {
				at := place{part, r.Broker}
				if !r.Up || !r.Leads || r.HW < 0 {
					delete(leads, at)
					continue
				}
				l := leads[at]
				if l == nil || l.epoch != r.Epoch || struck(r.Broker, l.index, s.Index) {
					l = &lead{epoch: r.Epoch, hw: r.HW}
					leads[at] = l
				}
				if r.HW < l.hw && !l.told {
					l.told = true
					c.hwBack(part, r.HW, l.hw, fmt.Sprintf("broker %d, leader in epoch %d, was seen with the high watermark %d at %s and with %d at %s",
						r.Broker, r.Epoch, l.hw, clock(l.at), r.HW, clock(int64(s.Time))))
				}
				l.hw, l.at, l.index = max(l.hw, r.HW), int64(s.Time), s.Index
			}
		}
	}
}

func (c *logCheck) checkHWSteps() {
	type place struct {
		part   history.Partition
		broker history.BrokerID
	}
	epochs := map[place]history.Epoch{} // in which it leads
	for i := range c.h.Steps {
		s := &c.h.Steps[i]
		at := place{s.Partition, s.Broker}
		switch s.Kind {
		case history.StepElection:
			epochs[at] = s.Epoch
		case history.StepFollow:
			delete(epochs, at)
		case history.StepDown, history.StepStart:
			for other := range epochs {
				if other.broker == s.Broker {
					delete(epochs, other)
				}
			}
		case history.StepHW:
			epoch, leads := epochs[at]
			if part, known := c.numbers.index[s.Partition]; known && leads && epoch == s.Epoch && s.To < s.From {
				c.hwBack(part, s.To, s.From, fmt.Sprintf("broker %d, leader in epoch %d, took its high watermark from %d back to %d at %s",
					s.Broker, s.Epoch, s.From, s.To, clock(int64(s.Time))))
			}
		}
	}
}

func (c *logCheck) hwBack(part int32, to, from history.Offset, detail string) {
	c.anomalies = append(c.anomalies, anomaly{class: HWBack, part: part, offset: to, upto: from, send: -1, op: -1, detail: detail})
}

// struck tells whether a broker went down or came up, or a fault aimed at it began or ended, between two moments.
func (c *logCheck) struck() func(b history.BrokerID, from, to int64) bool {
	at := map[history.BrokerID][]int64{}
	for i := range c.h.Steps {
		if s := &c.h.Steps[i]; s.Kind == history.StepDown || s.Kind == history.StepStart && s.Partition == (history.Partition{}) {
			at[s.Broker] = append(at[s.Broker], s.Index)
		}
	}
	for i := range c.h.Faults {
		e := &c.h.Faults[i]
		if strings.HasPrefix(e.Kind, "partition") || strings.HasPrefix(e.Kind, "loss") || e.Kind == "lag" {
			continue // what happens on links takes no broker's state
		}
		for _, b := range e.Targets {
			at[b] = append(at[b], e.Index)
		}
	}
	return func(b history.BrokerID, from, to int64) bool {
		for _, index := range at[b] {
			if from < index && index <= to {
				return true
			}
		}
		return false
	}
}
