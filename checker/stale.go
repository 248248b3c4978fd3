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

// checkStale looks for answers that reached the high watermark that they carried, and so told the consumer that it has read all there is,
// though a write beyond had been acknowledged longer ago than the bound when the poll was sent. It judges by records of the log at the end:
// what was lost is told as lost. A final read is compared with the log anyhow, and what kgo gives out may have lain in its buffer.
func (c *partCheck) checkStale() {
	bound, slots := c.contract.staleBound(), c.log.slots
	for n, i := range c.polls {
		op := &c.h.Ops[i]
		if op.Outcome != history.OK || op.Final || op.HW < 0 || c.run.Reticent(op.Process) {
			continue
		}
		end := c.ends[n]
		if end < op.HW {
			continue
		}
		// Whatever was acknowledged behind a record was sent when that record had been sent already, or the order is wrong, which is told: so
		// the first record that was sent too late ends the search.
		for at := c.log.search(end); at < len(slots); at++ {
			s := &slots[at]
			if s.send < 0 || s.told {
				continue
			}
			sent := &c.h.Ops[s.send]
			if sent.Invoke+bound >= op.Invoke {
				break
			}
			if c.ackedHere(s) && sent.Return+bound < op.Invoke {
				c.note(anomaly{class: StaleRead, part: c.part, offset: s.offset, value: s.value, send: s.send, op: i,
					detail: "it ended at offset " + itoa(int64(end)) + " with the high watermark " + itoa(int64(op.HW))})
				break
			}
		}
	}
}
