package checker

import (
	"fmt"

	"tidemark/history"
)

// sayConsumer tells what a consumer was given or told that is wrong; false for another class. Who held the record says nothing about it.
func (c *logCheck) sayConsumer(say func(string, ...any), a *anomaly, f *Finding) bool {
	switch a.class {
	case NonmonotonicPoll:
		op := &c.h.Ops[a.op]
		say("The answer that consumer %d got at %s%s for %v, asked from offset %d, holds offset %d: %s.",
			op.Process, clock(int64(op.Return)), from(op), f.Partition, op.Position, a.offset, a.detail)
	case PollSkip:
		op := &c.h.Ops[a.op]
		say("The answer that consumer %d got at %s%s for %v, asked from offset %d, leaves out offset %d (value %s): %s.",
			op.Process, clock(int64(op.Return)), from(op), f.Partition, op.Position, a.offset, a.value, a.detail)
	case SeenBySome:
		op := &c.h.Ops[a.op]
		say("Consumer %d never got value %s at offset %d of %v, which the log holds: it was moved past it before the poll that was answered at %s; %s.",
			op.Process, a.value, a.offset, f.Partition, clock(int64(op.Return)), a.detail)
	case ListOffsetsBack, HWBack:
		say("On %v %s.", f.Partition, a.detail)
	default:
		return false
	}
	if f.Count > 1 {
		say("This was found %d times.", f.Count)
	}
	return true
}

// sayCounted tells a class that is counted, with the first of it; false for another class.
func (c *logCheck) sayCounted(say func(string, ...any), a *anomaly, f *Finding) bool {
	switch a.class {
	case StaleRead:
		op, sent := &c.h.Ops[a.op], &c.h.Ops[a.send]
		say("The answer that consumer %d got at %s%s says that it is at the end of %v: %s. Value %s at offset %d had been acknowledged %s before it asked, and the bound is %s.",
			op.Process, clock(int64(op.Return)), from(op), f.Partition, a.detail, a.value, a.offset,
			clock(int64(op.Invoke-sent.Return)), clock(int64(c.contract.staleBound())))
		if f.Count > 1 {
			say("%d answers were so.", f.Count)
		}
	case AckWithoutOffset:
		say("%s acknowledged on %v without an offset; the first is %s.", counted(f.Count, "write was", "writes were"), f.Partition, a.value)
	case Trimmed:
		say("%s below the log start %d of %v, where retention or DeleteRecords removes records; the first is %s, at offset %d.",
			counted(f.Count, "acknowledged write is", "acknowledged writes are"), c.parts[a.part].log.trimmedTo(), f.Partition, a.value, a.offset)
	case Unseen:
		say("%s in no answer on %v, and nothing tells whether the log has it; the first is %s.",
			counted(f.Count, "acknowledged write was", "acknowledged writes were"), f.Partition, a.value)
	default:
		return false
	}
	return true
}

// counted writes a number of things with the verb that goes with it.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sayCorrupted tells which record belongs where bytes stand, or were read, that nobody sent.
func (c *logCheck) sayCorrupted(say func(string, ...any), a *anomaly, f *Finding) {
	if a.op < 0 {
		say("Offset %d of %v holds %s, which nobody sent; value %s belongs there.", a.offset, f.Partition, a.other, a.value)
		return
	}
	op := &c.h.Ops[a.op]
	if a.send < 0 {
		say("Consumer %d, which asked for offset %d of %v, was answered%s at %s with bytes that nobody sent: %s.",
			op.Process, a.offset, f.Partition, from(op), clock(int64(op.Return)), a.detail)
		return
	}
	say("Consumer %d read %s at offset %d of %v%s at %s, which nobody sent; value %s belongs there.",
		op.Process, a.other, a.offset, f.Partition, from(op), clock(int64(op.Return)), a.value)
}

// sayElsewhere tells of a record that nobody sent to its partition that it was sent to another.
func (c *logCheck) sayElsewhere(say func(string, ...any), a *anomaly) {
	if a.send >= 0 {
		return
	}
	for n, p := range c.parts {
		if send := p.sender(a.value); send >= 0 {
			say("It was sent to %v by process %d.", c.numbers.names[n], c.h.Ops[send].Process)
			return
		}
	}
}

// whereSeen says of a record that must not be who holds or read it, up to the offset.
func (c *logCheck) whereSeen(a *anomaly) string {
	if a.op < 0 {
		return "at"
	}
	op := &c.h.Ops[a.op]
	return fmt.Sprintf("that consumer %d read at %s%s at", op.Process, clock(int64(op.Return)), from(op))
}

func (c *logCheck) whereStands(a *anomaly) string {
	if a.op < 0 {
		return "stands at"
	}
	op := &c.h.Ops[a.op]
	return fmt.Sprintf("consumer %d read it at %s%s at", op.Process, clock(int64(op.Return)), from(op))
}

// from names the broker that an answer came from, where the history tells it.
func from(op *history.Op) string {
	if op.Broker == history.NoBroker {
		return ""
	}
	return fmt.Sprintf(" from broker %d", op.Broker)
}
