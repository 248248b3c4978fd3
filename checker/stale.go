package checker

import (
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
	for _, r := range c.reached {
		// Whatever was acknowledged behind a record was sent when that record had been sent already, or the order is wrong, which is told: so
		// the first record that was sent too late ends the search.
		for at := c.log.search(r.end); at < len(slots); at++ {
			s := &slots[at]
			if s.send < 0 || s.told {
				continue
			}
			w := &c.sent[s.send]
			if w.invoke+bound >= r.invoke {
				break
			}
			if c.ackedHere(s) && c.h.Ops[w.op].Return+bound < r.invoke {
				c.note(anomaly{class: StaleRead, part: c.part, offset: s.offset, value: s.value, send: w.op, op: r.op,
					detail: "it ended at offset " + itoa(int64(r.end)) + " with the high watermark " + itoa(int64(c.h.Ops[r.op].HW))})
				break
			}
		}
	}
}
