package checker

import (
	"cmp"
	"slices"

	"tidemark/history"
)

// Records leave a log's beginning in two ways that are no loss: retention, where the run's configuration has it, and DeleteRecords, up to the
// offset that somebody asked for. A log start beyond that is nobody's wish, and what was acknowledged below it is lost.

// askTrims finds how far somebody asked for records to be removed. A request of unknown outcome may have been carried out, one that was refused
// was not; one that asked for all below the high watermark says how far that was only where it was answered.
func (c *partCheck) askTrims() {
	if !c.dense {
		c.removable = never
		return
	}
	for _, i := range c.deletes {
		op := &c.h.Ops[i]
		switch {
		case op.Outcome == history.Fail:
		case op.Position >= 0:
			c.removable = max(c.removable, op.Position)
		case op.Outcome == history.OK:
			c.removable = max(c.removable, op.LogStart)
		default:
			c.removable = never
		}
	}
}

// trimmed reports whether an offset is below the log start, where retention or DeleteRecords may have taken what stood there.
func (c *partCheck) trimmed(o history.Offset) bool {
	return o >= 0 && o < min(c.log.trimmedTo(), c.removable)
}

// vanished reports whether an offset is below a log start that nobody asked for.
func (c *partCheck) vanished(o history.Offset) bool {
	return c.removable <= o && o < c.log.begins
}

// mayBegin is the log start that a broker told, but no higher than anybody's wish: what it leaves out above that it skips.
func (c *partCheck) mayBegin(told history.Offset) history.Offset { return min(told, c.removable) }

// overTrimmed says of such an offset why the log may not begin where it does.
func (c *partCheck) overTrimmed() string {
	text := "the log begins at " + itoa(int64(c.log.begins))
	if c.removable > 0 {
		return text + ", though records were to be removed below offset " + itoa(int64(c.removable)) + " alone"
	}
	return text + ", though nothing that the run sets up removes records"
}

// checkRemoved compares with each other what was told of records that were removed, as no log tells of them any more: acknowledgements and
// polls that name two values for one offset contradict each other. An acknowledged write is lost if another was acknowledged at its offset that
// was sent later; of the others it can only be said that they were removed.
func (c *partCheck) checkRemoved() {
	slices.SortStableFunc(c.below, func(a, b sighting) int { return cmp.Compare(a.offset, b.offset) })
	for from := 0; from < len(c.below); {
		to := from + 1
		for to < len(c.below) && c.below[to].offset == c.below[from].offset {
			to++
		}
		c.compareRemoved(c.below[from:to])
		from = to
	}
}

// compareRemoved compares what was told of one offset.
func (c *partCheck) compareRemoved(told []sighting) {
	i := slices.IndexFunc(told, func(s sighting) bool { return s.value != told[0].value })
	if i < 0 {
		for _, s := range told {
			if s.send >= 0 {
				c.note(anomaly{class: Trimmed, part: c.part, offset: s.offset, value: s.value, send: s.op, op: -1})
			}
		}
		return
	}
	c.report(anomaly{class: TwoValues, part: c.part, offset: told[i].offset, value: told[0].value, other: told[i].value,
		send: c.sender(told[0].value), op: told[i].op, detail: "both were told to clients"})
	last := nth(-1) // the acknowledged write that was sent last
	for _, s := range told {
		if s.send >= 0 && (last < 0 || c.sent[s.send].invokeIndex > c.sent[last].invokeIndex) {
			last = s.send
		}
	}
	for _, s := range told {
		if s.send >= 0 && c.sent[s.send].returnIndex < c.sent[last].invokeIndex {
			c.found[s.send] = lost
			c.report(anomaly{class: LostWrite, part: c.part, offset: s.offset, value: s.value, send: s.op, op: -1,
				detail: c.sent[last].value + " was sent later and acknowledged at the same offset, which was below the log start at the end"})
		}
	}
}
