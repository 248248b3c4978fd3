package checker

import (
	"cmp"
	"slices"

	"tidemark/history"
)

// Records leave a log's beginning in two ways that are no loss: retention, where the run's configuration has it, and DeleteRecords, up to the
// offset that somebody asked for. A log start beyond that is nobody's wish, and what was acknowledged below it is lost.

// asking is that somebody had asked for records to be removed below an offset.
type asking struct {
	index int64 // from this index of the history on
	below history.Offset
}

// askTrims finds how far somebody asked for records to be removed, and when. A request of unknown outcome may have been carried out, one that
// was refused was not; one that asked for all below the high watermark says how far that was only where it was answered.
func (c *partCheck) askTrims() {
	if !c.dense {
		c.removable = never
		return
	}
	for _, i := range c.deletes {
		op := &c.h.Ops[i]
		switch {
		case op.Outcome == history.Fail:
			continue
		case op.Position >= 0:
			c.removable = max(c.removable, op.Position)
		case op.Outcome == history.OK:
			c.removable = max(c.removable, op.LogStart)
		default:
			c.removable = never
		}
		c.asked = append(c.asked, asking{op.InvokeIndex, c.removable})
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

// mayBegin is the log start that an answer told, but no higher than anybody's wish by then: what it leaves out above that it skips.
func (c *partCheck) mayBegin(op *history.Op) history.Offset {
	if op.LogStart <= 0 || !c.dense {
		return op.LogStart
	}
	return min(op.LogStart, c.mayHaveBegun(op))
}

// mayHaveBegun is the highest log start that any broker may have told a consumer by the time of an answer, in words that no answer holds
// (OFFSET_OUT_OF_RANGE, say): the leader of the next epoch may not know of it.
func (c *partCheck) mayHaveBegun(op *history.Op) history.Offset {
	if !c.dense {
		return c.log.trimmedTo()
	}
	n, _ := slices.BinarySearchFunc(c.asked, op.ReturnIndex, func(a asking, index int64) int { return cmp.Compare(a.index, index) })
	if n == 0 {
		return 0
	}
	return c.asked[n-1].below
}

// hearStart takes in the log start that an answer told.
func (c *partCheck) hearStart(op *history.Op) {
	below := len(op.Records) > 0 && op.Records[0].Offset < op.LogStart
	if c.early == nil && c.mayBegin(op) < op.LogStart && !below {
		c.early = op
	}
}

// hearBelow takes in that an answer holds a record: where it is below a log start that was told before, that was not true.
func (c *partCheck) hearBelow(op *history.Op) {
	if c.early != nil && op.Records[0].Offset < c.early.LogStart && op.InvokeIndex > c.early.ReturnIndex {
		c.early = nil
	}
}

// dropped is the first record of the log that a replica lacks because its own begins behind it, though nobody had asked for that.
func (c *partCheck) dropped(d *history.Dump) (o history.Offset, value string, ok bool) {
	if c == nil || d.Start <= c.removable {
		return 0, "", false
	}
	at := c.log.search(c.removable)
	if at == len(c.log.slots) || c.log.slots[at].offset >= d.Start {
		return 0, "", false
	}
	return c.log.slots[at].offset, c.log.slots[at].value, true
}

// checkEarly asks of the acknowledged writes that were removed whether they were gone before anybody had asked for that.
func (c *partCheck) checkEarly() {
	if c.early == nil {
		return
	}
	from, to := c.mayBegin(c.early), c.early.LogStart
	for i := range c.sent {
		w := &c.sent[i]
		if !w.told || w.offset < from || w.offset >= to || w.returnIndex > c.early.InvokeIndex || !c.trimmed(w.offset) {
			continue
		}
		c.report(anomaly{class: LostWrite, part: c.part, offset: w.offset, value: w.value, send: w.op, op: -1, below: true,
			detail: "broker " + itoa(int64(c.early.Broker)) + " told a log start of " + itoa(int64(to)) + " before anybody had asked for records from " + itoa(int64(from)) + " on to be removed"})
	}
}

// overTrimmed says of such an offset why the log may not begin where it does.
func (c *partCheck) overTrimmed() string {
	text := "the log begins at " + itoa(int64(c.log.begins))
	if c.removable > 0 {
		return text + ", though records were to be removed below offset " + itoa(int64(c.removable)) + " alone"
	}
	return text + ", though nothing that the run sets up removes records"
}

// readRemoved takes into the log what was told of the records that were removed from its beginning: where acknowledgements and answers agree on
// an offset's value, it stood there. An acknowledgement of what the log holds elsewhere tells nothing. Where the contract lets such a record be
// lost, another of which nobody told may have stood there later: it is only known to have been in some log.
func (c *partCheck) readRemoved() {
	to := min(c.log.trimmedTo(), c.removable)
	if to <= 0 {
		return
	}
	elsewhere := make(map[string]struct{}, len(c.log.slots))
	for i := range c.log.slots {
		elsewhere[c.log.slots[i].value] = struct{}{}
	}
	var told []slot
	add := func(o history.Offset, value string, stays bool) {
		if 0 <= o && o < to && c.log.at(o) == nil {
			told = append(told, slot{offset: o, value: value, send: -1, seen: never, lapsed: !stays})
		}
	}
	for i := range c.sent {
		if w := &c.sent[i]; w.told {
			if _, stands := elsewhere[w.value]; !stands {
				add(w.offset, w.value, c.contract.Durable)
			}
		}
	}
	for _, i := range c.polls {
		if op := &c.h.Ops[i]; op.Outcome == history.OK {
			for r := range op.Records {
				add(op.Records[r].Offset, op.Records[r].Value, c.contract.CommittedReads)
			}
		}
	}
	slices.SortStableFunc(told, func(a, b slot) int { return cmp.Compare(a.offset, b.offset) })
	agreed := told[:0]
	for from := 0; from < len(told); {
		upto, same, one := from+1, true, told[from]
		for ; upto < len(told) && told[upto].offset == one.offset; upto++ {
			same = same && told[upto].value == one.value
			one.lapsed = one.lapsed && told[upto].lapsed
		}
		if same {
			agreed = append(agreed, one)
		}
		from = upto
	}
	c.log.slots = mergeSlots(agreed, c.log.slots)
}

// knownBelow reports whether a record is known of every offset below one, so that no other can have stood there.
func (l *finalLog) knownBelow(o history.Offset) bool { return history.Offset(l.search(o)) == o }

// checkRemoved compares with each other what was told of records that were removed where it does not agree: acknowledgements and
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
				detail: "value " + c.sent[last].value + " was sent later and acknowledged at the same offset, which was below the log start at the end"})
		}
	}
}
