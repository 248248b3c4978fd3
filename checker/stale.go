package checker

import (
	"math"
	"time"

	"tidemark/history"
)

// StaleAfter is the bound on stale reads that is asked where the contract states none; what is beyond is then information. Kafka promises
// none: a leader that was deposed serves reads until it hears of it, however long that takes.
const StaleAfter = 10 * time.Second

// staleBound is how long a write may be acknowledged and still be beyond what a consumer is told is the end.
func (c Contract) staleBound() time.Duration {
	if c.ReadBound > 0 {
		return c.ReadBound
	}
	return StaleAfter
}

// reached is an answer that reached the high watermark that it carried, and so told the consumer that it has read all there is.
type reached struct {
	end    history.Offset // where the answer ended
	invoke time.Duration
	op     int32
}

// checkStale looks for answers that told a consumer that it has read all there is, though a write beyond had been acknowledged longer ago than the
// bound when the poll was sent. It judges by records of the log at the end: what was lost is told as lost. A final read is compared with the log
// anyhow, and what kgo gives out may have lain in its buffer.
func (c *partCheck) checkStale() {
	bound, slots := c.contract.staleBound(), c.log.slots
	var earliest []time.Duration
	told := false
	for _, r := range c.reached {
		at := c.log.search(r.end)
		if at == len(slots) || c.sentAfter(&slots[at], r.invoke-bound) {
			continue
		}
		if earliest == nil {
			earliest = c.earliestAcks()
		}
		if earliest[at]+bound >= r.invoke {
			continue
		}
		a := anomaly{class: StaleRead, part: c.part}
		if !told { // the others are counted
			told = true
			for ; !c.placed(&slots[at]) || c.h.Ops[c.sent[slots[at].send].op].Return+bound >= r.invoke; at++ {
			}
			s := &slots[at]
			a.offset, a.value, a.send, a.op = s.offset, s.value, c.sent[s.send].op, r.op
			a.detail = "it ended at offset " + itoa(int64(r.end)) + " with the high watermark " + itoa(int64(c.h.Ops[r.op].HW))
		}
		c.note(a)
	}
}

// sentAfter reports whether a record was sent after a moment. Whatever was acknowledged behind it was sent when it had been sent already, or the
// order is wrong, which is told.
func (c *partCheck) sentAfter(s *slot, t time.Duration) bool {
	return s.send >= 0 && !s.told && !s.lapsed && c.sent[s.send].invoke >= t
}

// placed reports whether a record's send was acknowledged at its offset, and nothing is wrong with it.
func (c *partCheck) placed(s *slot) bool {
	return s.send >= 0 && !s.told && !s.lapsed && c.ackedHere(s)
}

// earliestAcks is, of each record, when the first acknowledgement of it or of one behind it came.
func (c *partCheck) earliestAcks() []time.Duration {
	slots := c.log.slots
	out := make([]time.Duration, len(slots))
	earliest := time.Duration(math.MaxInt64) - c.contract.staleBound()
	for i := len(slots) - 1; i >= 0; i-- {
		if s := &slots[i]; c.placed(s) {
			earliest = min(earliest, c.h.Ops[c.sent[s.send].op].Return)
		}
		out[i] = earliest
	}
	return out
}
