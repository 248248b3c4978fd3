package checker

import (
	"fmt"
	"strings"

	"tidemark/history"
)

// settleFindings tells that the cluster did not come to rest: a fault could not be undone (a broker did not come back), or the cluster had
// not settled within the bound after every fault was undone.
func settleFindings(h *history.History, contract Contract) []Finding {
	for _, name := range []string{"heal", "settle"} {
		m := lastMark(h, name)
		if m == nil || !m.Failed {
			continue
		}
		class, text := NotSettled, fmt.Sprintf("The cluster had not settled at %s, with every fault undone.", clock(int64(m.Time)))
		detail, notBack := strings.CutPrefix(m.Detail, history.NotBack+": ")
		switch {
		case name == "heal" && notBack:
			class, text = BrokerNotBack, fmt.Sprintf("At %s a broker that had been started again was not back, though nothing held it any more.", clock(int64(m.Time)))
		case name == "heal":
			text = fmt.Sprintf("At %s a fault could not be undone, though nothing held the brokers any more.", clock(int64(m.Time)))
		}
		if detail != "" {
			text += " " + sentence(detail)
		}
		return []Finding{{Class: class, Severity: contract.Severity(class), Offset: history.UnknownOffset, Count: 1,
			Signature: string(class), Witness: nobody(), Text: text}}
	}
	return nil
}

// nobody is the witness of a finding that is about no record.
func nobody() Witness {
	return Witness{Offset: history.UnknownOffset, Acked: -1, AckedBy: history.NoBroker, AckEpoch: -1}
}

func lastMark(h *history.History, name string) *history.Mark {
	for i := len(h.Marks) - 1; i >= 0; i-- {
		if h.Marks[i].Name == name {
			return &h.Marks[i]
		}
	}
	return nil
}

// unfinished says what a run's history lacks before anything can be called valid: a run that was cut off in the middle, or that left a
// fault in force, proves nothing. "" if it is whole. A history that is no run's own (without a world) is judged as it stands.
func unfinished(run history.Run, h *history.History) string {
	if run.World == "" {
		return ""
	}
	for _, name := range []string{"load", "settle", "final", "end"} {
		m := lastMark(h, name)
		switch {
		case m == nil:
			return fmt.Sprintf("The history is not whole: it does not tell of the phase %q.", name)
		case m.Failed && name == "final":
			return fmt.Sprintf("The final reads failed: %s", sentence(m.Detail))
		}
	}
	open := map[int]string{}
	for i := range h.Faults {
		switch e := &h.Faults[i]; e.Phase {
		case history.FaultApplied:
			open[e.Fault] = e.Line
		case history.FaultVerified, history.FaultFailed:
			delete(open, e.Fault)
		}
	}
	for i := range h.Faults {
		if line, ok := open[h.Faults[i].Fault]; ok {
			return fmt.Sprintf("Nobody verified that the fault %q was undone.", line)
		}
	}
	return ""
}

// unread says of which partition's log the final reads, after settling, did not come to the end that they were told; "" if of none. Where brokers
// remove records unasked there may be none before that end.
func (c *logCheck) unread() string {
	if c.run.World == "" || !c.settled || !c.dense {
		return ""
	}
	for n, p := range c.parts {
		to, end := history.UnknownOffset, history.UnknownOffset
		for _, i := range p.finals {
			op := &c.h.Ops[i]
			to, end = max(to, readTo(op.Position, op.Records)), max(end, op.HW)
		}
		if to < end {
			return fmt.Sprintf("The final reads of %v ended at offset %d, and its high watermark was %d.", c.numbers.names[n], to, end)
		}
	}
	return ""
}

// differing compares what the replicas hold after the run had settled, when every one must hold the same: every log as long as the longest, none
// begun beyond what somebody asked for, and at each offset the same leader epoch. Values are compared elsewhere. Where another violation was found on the partition, what broke it shows
// here too, and is implied. A log that could not be read is no evidence.
func (c *logCheck) differing(found []Finding) []Finding {
	h := c.h
	if m := lastMark(h, "settle"); m == nil || m.Failed {
		return found
	}
	told := map[history.Partition]bool{}
	longest := map[history.Partition]*history.Dump{}
	for i := range h.Dumps {
		d := &h.Dumps[i]
		if l := longest[d.Partition]; d.Err == "" && (l == nil || dumpEnd(d) > dumpEnd(l)) {
			longest[d.Partition] = d
		}
	}
	ends, parts := map[history.Partition]history.Offset{}, map[history.Partition]*partCheck{}
	for p, d := range longest {
		ends[p] = dumpEnd(d)
	}
	for n, p := range c.parts {
		name := c.numbers.names[n]
		parts[name] = p
		for _, i := range p.finals {
			if r := h.Ops[i].Records; len(r) > 0 {
				ends[name] = max(ends[name], r[len(r)-1].Offset+1)
			}
		}
	}
	for i := range h.Dumps {
		d := &h.Dumps[i]
		if d.Err != "" || told[d.Partition] {
			continue
		}
		offset, text := history.UnknownOffset, ""
		if end := dumpEnd(d); end != ends[d.Partition] {
			offset = end
			text = fmt.Sprintf("After the run had settled, the log of broker %d ended at %d, where the partition's ends at %d.", d.Broker, end, ends[d.Partition])
		} else if o, value, dropped := parts[d.Partition].dropped(d); dropped {
			offset = o
			text = fmt.Sprintf("After the run had settled, the log of broker %d began at %d: it lacked %s at %d, which nobody had asked to be removed.", d.Broker, d.Start, value, o)
		} else if l := longest[d.Partition]; l != d {
			offset, text = otherEpoch(l, d)
		}
		if text != "" {
			told[d.Partition] = true
			found = differs(found, d.Partition, offset, text)
		}
	}
	return found
}

// differs enters that a partition's replicas differ: under the violation that was found there, or as a finding.
func differs(found []Finding, p history.Partition, offset history.Offset, text string) []Finding {
	for i := range found {
		if f := &found[i]; f.Severity == Violation && f.Partition == p {
			f.Implied = append(f.Implied, Implied{Class: ReplicasDiffer, Offset: offset, Count: 1, Text: text})
			return found
		}
	}
	w := nobody()
	w.Offset = offset
	return append(found, Finding{Class: ReplicasDiffer, Severity: Violation, Partition: p, Offset: offset, Count: 1,
		Signature: string(ReplicasDiffer), Witness: w, Text: text})
}

// dumpEnd is where a dumped log ends: after its last record, but never before the log end offset that the broker gave, nor after it.
func dumpEnd(d *history.Dump) history.Offset {
	if n := len(d.Records); n > 0 {
		return min(d.LEO, d.Records[n-1].Offset+1)
	}
	return min(d.LEO, max(d.Start, 0))
}

// otherEpoch finds the first offset at which two logs of the same length have records of different leader epochs.
func otherEpoch(a, b *history.Dump) (history.Offset, string) {
	i, k := 0, 0
	for i < len(a.Records) && k < len(b.Records) {
		x, y := &a.Records[i], &b.Records[k]
		switch {
		case x.Offset < y.Offset:
			i++
		case x.Offset > y.Offset:
			k++
		case x.Epoch != y.Epoch:
			return x.Offset, fmt.Sprintf("After the run had settled, broker %d held a record of leader epoch %d at offset %d, and broker %d one of epoch %d.",
				a.Broker, x.Epoch, x.Offset, b.Broker, y.Epoch)
		default:
			i++
			k++
		}
	}
	return history.UnknownOffset, ""
}
