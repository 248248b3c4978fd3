package checker

import (
	"cmp"
	"slices"
	"strings"

	"tidemark/history"
)

// sighting is an observation of a value at an offset.
type sighting struct {
	offset history.Offset
	value  string
	op     int32
	send   nth // whose acknowledgement it is, -1 if a poll saw it
}

// checkPolls walks every answer along the log. What a poll returned must stand there at the end; inside one answer offsets rise, none is
// below the position asked for, and no committed record between them is missing. Polls that did not succeed say nothing, but where they failed
// because what was answered does not fit its CRC.
//
// It looks at each poll once, and so has the others that ask something of every answer look at it too: consumers' positions, high watermarks, and
// what comes to the high watermark, for checkStale. It fetches a few polls before it judges them: each lies somewhere else in memory, and so do its
// records, and the processor waits for all of them at once and not for one after the other.
func (c *partCheck) checkPolls() {
	positions, watermarks := newPositions(c), newWatermarks(c)
	c.reached = make([]reached, 0, len(c.polls))
	few := make([]answer, 0, 64)
	for polls := range slices.Chunk(c.polls, cap(few)) {
		few = few[:0]
		for _, i := range polls {
			switch op := &c.h.Ops[i]; {
			case op.Outcome == history.OK:
				few = append(few, answer{op: i, position: op.Position, records: op.Records})
			case strings.Contains(op.Error, history.CorruptBatch):
				c.note(anomaly{class: Corrupted, part: c.part, offset: op.Position, send: -1, op: i, detail: op.Error})
			}
		}
		for n := range few {
			few[n].end = readTo(few[n].position, few[n].records)
		}
		for n := range few {
			a := &few[n]
			op := &c.h.Ops[a.op]
			if len(a.records) > 0 {
				c.checkPoll(a.op, op)
				c.hearBelow(op)
			}
			if op.LogStart > 0 {
				c.hearStart(op)
			}
			positions.follow(a.op, op, a.end)
			watermarks.hear(a.op, op)
			if a.end >= op.HW && op.HW >= 0 && !op.Final && !c.run.Reticent(op.Process) {
				c.reached = append(c.reached, reached{end: a.end, invoke: op.Invoke, op: a.op})
			}
		}
	}
	positions.finish()
	watermarks.finish()
	c.anomalies = slices.Concat(c.anomalies, positions.anomalies, watermarks.anomalies)
}

// answer is what a poll that succeeded returned, and where that ends.
type answer struct {
	op       int32
	position history.Offset
	end      history.Offset
	records  []history.Record
}

func (c *partCheck) checkPoll(at int32, op *history.Op) {
	l := &c.log
	expect := op.Position
	i := l.search(max(expect, 0))
	backwards, skipped := false, false
	for r := range op.Records {
		rec := &op.Records[r]
		if rec.Offset < expect {
			if !backwards {
				backwards = true
				c.report(anomaly{class: NonmonotonicPoll, part: c.part, offset: rec.Offset, value: rec.Value, send: c.sender(rec.Value), op: at,
					detail: "the next offset was " + itoa(int64(expect))})
			}
			i = l.search(rec.Offset)
		} else if i < len(l.slots) && l.slots[i].offset < rec.Offset {
			if missed := &l.slots[i]; !skipped && missed.offset >= c.mayBegin(op) {
				skipped = true
				c.report(anomaly{class: PollSkip, part: c.part, offset: missed.offset, value: missed.value, send: c.position(missed.send), op: at,
					detail: "the answer went on at offset " + itoa(int64(rec.Offset))})
			}
			i = l.search(rec.Offset)
		}
		expect = next(rec.Offset)
		if i < len(l.slots) && l.slots[i].offset == rec.Offset {
			s := &l.slots[i]
			i++
			if s.value == rec.Value {
				s.seen = min(s.seen, op.ReturnIndex)
				s.given = s.given || !op.Final
				continue
			}
		}
		c.strayRecord(at, rec)
	}
}

// strayRecord judges a record that a poll returned and that the final log does not hold there.
func (c *partCheck) strayRecord(at int32, rec *history.Record) {
	l := &c.log
	send := c.sends.find(rec.Value)
	a := anomaly{part: c.part, offset: rec.Offset, value: rec.Value, send: c.position(send), op: at}
	here := l.at(rec.Offset)
	a.other = valueOf(here)
	switch {
	case send < 0:
		a.class = Phantom
	case c.sent[send].invokeIndex > c.h.Ops[at].ReturnIndex:
		a.class = Phantom
	case c.sent[send].outcome == history.Fail:
		a.class = AbortedRead
	case l.assembled && here != nil:
		a.class, a.both, a.detail = TwoValues, true, "both were told to clients"
	case c.trimmed(rec.Offset):
		if c.found[send] == undecided {
			c.removed(send)
		}
		c.below = append(c.below, sighting{rec.Offset, rec.Value, at, -1})
		return
	case c.found[send] == lost:
		a.class = UncommittedRead
	case here != nil || l.covers(rec.Offset):
		a.class = UncommittedRead
	case c.vanished(rec.Offset):
		a.class, a.below, a.detail = UncommittedRead, true, c.overTrimmed()
	default:
		c.loose = append(c.loose, sighting{rec.Offset, rec.Value, at, -1})
		return
	}
	c.report(a)
}

// checkLoose compares the observations that no final read covers with each other: acknowledgements and polls that name two values for one
// offset contradict each other whatever the log holds.
func (c *partCheck) checkLoose() {
	slices.SortStableFunc(c.loose, func(a, b sighting) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(c.loose); i++ {
		one, two := c.loose[i-1], c.loose[i]
		if one.offset == two.offset && one.value != two.value {
			c.report(anomaly{class: TwoValues, part: c.part, offset: one.offset, value: one.value, other: two.value,
				send: c.sender(one.value), op: two.op, detail: "both were told to clients"})
		}
	}
}
