package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/history"
)

// text tells a finding in a few plain sentences.
func (c *logCheck) text(a *anomaly, f *Finding, d deposed) string {
	var t []string
	say := func(format string, args ...any) { t = append(t, fmt.Sprintf(format, args...)) }
	w := &f.Witness
	if c.sayConsumer(say, a, f) || c.sayCounted(say, a, f) {
		return strings.Join(t, " ")
	}
	switch a.class {
	case Phantom:
		switch {
		case a.send >= 0 && a.op >= 0:
			op := &c.h.Ops[a.op]
			say("Consumer %d read value %s at offset %d of %v%s at %s, before it was sent.", op.Process, a.value, a.offset, f.Partition, from(op), clock(int64(op.Return)))
		case a.send >= 0:
			say("Value %s stands at offset %d of %v: %s.", a.value, a.offset, f.Partition, a.detail)
		default:
			say("Value %s %s offset %d of %v was never sent there.", a.value, c.whereSeen(a), a.offset, f.Partition)
		}
		c.sayElsewhere(say, a)
	case Corrupted:
		c.sayCorrupted(say, a, f)
	case AbortedRead:
		op := &c.h.Ops[a.send]
		say("Value %s was reported as failed%s at %s, and %s offset %d of %v.", a.value, inBrackets(op.Error), clock(int64(op.Return)), c.whereStands(a), a.offset, f.Partition)
	case Duplicate:
		say("Value %s %s stands at offset %d of %v; %s.", a.value, c.howSent(a), a.offset, f.Partition, a.detail)
	case TwoValues:
		c.sayTwoValues(say, a, f)
	case NonmonotonicSend:
		op, earlier := &c.h.Ops[a.send], &c.h.Ops[a.op]
		if earlier.ReturnIndex > op.InvokeIndex {
			say("Producer %d sent value %s behind its %s in one operation; yet it stands before it, at offset %d of %v.",
				op.Process, a.value, earlier.Value, a.offset, f.Partition)
			break
		}
		say("Producer %d sent value %s at %s, when its %s, sent at %s, had been acknowledged; yet it stands before it, at offset %d of %v.",
			op.Process, a.value, clock(int64(op.Invoke)), earlier.Value, clock(int64(earlier.Invoke)), a.offset, f.Partition)
	case RealtimeOrder:
		op, earlier := &c.h.Ops[a.send], &c.h.Ops[a.op]
		say("Value %s was sent at %s, when %s, sent at %s, was already in the log of %v; yet it stands before it, at offset %d.",
			a.value, clock(int64(op.Invoke)), earlier.Value, clock(int64(earlier.Invoke)), f.Partition, a.offset)
	}
	if a.class == UncommittedRead && a.op >= 0 {
		op := &c.h.Ops[a.op]
		say("Consumer %d read value %s at offset %d of %v%s at %s.", op.Process, a.value, a.offset, f.Partition, from(op), clock(int64(op.Return)))
	}
	if a.class == LostWrite || a.class == UncommittedRead {
		c.sayTaken(say, a, f, d)
	} else {
		later := w.OtherAck != nil && w.OtherAck.Acked > w.Acked
		if !later {
			sayOtherAck(say, w)
		}
		c.sayHeld(say, a, f)
		if later {
			sayOtherAck(say, w)
		}
		if a.class == AckOffsetMismatch {
			say("%s.", upper(a.detail))
		}
	}
	if a.class != LostWrite && f.Count > 1 {
		say("This was found %d times.", f.Count)
	}
	if len(t) == 0 { // a history without times or brokers leaves nothing else to tell
		say("%s: value %s at offset %d.", upper(string(f.Class)), f.Value, f.Offset)
	}
	return strings.Join(t, " ")
}

func sayAck(say func(string, ...any), w *Witness, f *Finding) {
	if w.Acked < 0 {
		return
	}
	by := ""
	if w.AckedBy != history.NoBroker {
		by = fmt.Sprintf(" by broker %d", w.AckedBy)
		if w.Deposed == nil && w.AckEpoch >= 0 {
			by += fmt.Sprintf(" as leader of %v in epoch %d", f.Partition, w.AckEpoch)
		}
	}
	at := ""
	if (f.Class == LostWrite || f.Class == AckOffsetMismatch) && f.Offset >= 0 {
		at = fmt.Sprintf(" at offset %d", f.Offset)
	}
	say("Value %s was acknowledged at %s%s%s.", w.Value, clock(w.Acked), by, at)
	if d := w.Deposed; d != nil {
		say("Broker %d led %v no longer then: the leader of epoch %d until %s, it followed broker %d in epoch %d.",
			w.AckedBy, f.Partition, w.AckEpoch, clock(d.Time), d.Leader, d.Epoch)
	}
}

// sayOtherAck tells that another value was acknowledged at the same offset.
func sayOtherAck(say func(string, ...any), w *Witness) {
	o, by, too := w.OtherAck, "", ""
	if o == nil {
		return
	}
	if o.Acked > w.Acked {
		too = " too"
	}
	if o.AckedBy != history.NoBroker {
		by = fmt.Sprintf(" by broker %d", o.AckedBy)
	}
	say("Value %s of producer %d was acknowledged at %s%s at offset %d%s.", o.Value, o.Producer, clock(o.Acked), by, w.Offset, too)
}

// howSent tells how often a value was sent, as far as the history does.
func (c *logCheck) howSent(a *anomaly) string {
	p := c.parts[a.part]
	if again := p.sends.again[p.sends.find(a.value)]; again > 0 {
		return fmt.Sprintf("was sent %d times and", again+1)
	}
	if c.run.Retries(c.h.Ops[a.send].Process) {
		return "was sent by a producer that retries, and"
	}
	return "was sent once and"
}

// sayHeld tells the acknowledgement, and who had the record then.
func (c *logCheck) sayHeld(say func(string, ...any), a *anomaly, f *Finding) {
	w := &f.Witness
	sayAck(say, w, f)
	switch {
	case a.class == Duplicate && !a.once:
		c.sayCopy(say, a, w)
	case w.Instead != nil:
		if len(w.ISR) > 0 {
			say("The ISR was %s then.", list(w.ISR))
		}
		sayInstead(say, a, w)
	case len(w.HeldBy) > 0:
		say("%s held it then%s.", brokers(w.HeldBy, "Only broker"), inISR(w.ISR))
		c.sayRule(say, w)
	case len(w.ISR) > 0 && w.Acked >= 0 && slices.ContainsFunc(w.RemovedBy, func(r Removal) bool { return r.Time >= 0 && r.Time <= w.Acked }):
		say("No replica held it any more%s.", inISR(w.ISR))
	case len(w.ISR) > 0 && w.Acked >= 0:
		say("The ISR was %s then.", list(w.ISR))
	}
}

// sayInstead tells what stood where a record was acknowledged that no replica appended there.
func sayInstead(say func(string, ...any), a *anomaly, w *Witness) {
	what, when := "another record", ""
	if w.Instead.Value != "" {
		what = "value " + w.Instead.Value
	}
	if w.Instead.Before {
		when = fmt.Sprintf(", before %s was sent,", a.value)
	}
	say("No replica appended it there: what broker %d wrote at offset %d at %s%s is %s.", w.Instead.Broker, a.offset, clock(w.Instead.Time), when, what)
}

// sayTaken tells how a record was acknowledged and went, in order of time.
func (c *logCheck) sayTaken(say func(string, ...any), a *anomaly, f *Finding, d deposed) {
	w := &f.Witness
	type told struct {
		at   int64
		text string
	}
	var all []told
	at := func(nanos int64) func(string, ...any) {
		return func(format string, args ...any) { all = append(all, told{nanos, fmt.Sprintf(format, args...)}) }
	}
	if d.by != nil && d.early {
		sayElection(at(int64(d.by.Time)), d)
	}
	if w.OtherAck != nil {
		sayOtherAck(at(w.OtherAck.Acked), w)
	}
	c.sayHeld(at(w.Acked), a, f)
	if d.by != nil && !d.early {
		sayElection(at(max(w.Acked, int64(d.by.Time))), d)
	}
	for i := range w.RemovedBy {
		sayRemoval(at(w.RemovedBy[i].Time), &w.RemovedBy[i])
	}
	slices.SortStableFunc(all, func(a, b told) int { return cmp.Compare(a.at, b.at) })
	for i := range all {
		say("%s", all[i].text)
	}
	c.sayEnd(say, a, f)
}

// sayCopy tells which copy of a value an acknowledgement is of. Who held the other then says nothing.
func (c *logCheck) sayCopy(say func(string, ...any), a *anomaly, w *Witness) {
	if op := &c.h.Ops[a.send]; w.Acked >= 0 && op.Offset >= 0 {
		say("The acknowledgement is of the copy at offset %d.", op.Offset)
	}
}

func (c *logCheck) sayTwoValues(say func(string, ...any), a *anomaly, f *Finding) {
	switch {
	case !a.apart && c.acknowledgedBoth(a):
		say("Values %s and %s were both acknowledged at offset %d of %v.", a.value, a.other, a.offset, f.Partition)
	case a.other == "":
		say("Offset %d of %v holds %s, and one replica has nothing there; %s.", a.offset, f.Partition, a.value, a.detail)
	default:
		say("Offset %d of %v holds %s and %s; %s.", a.offset, f.Partition, a.value, a.other, a.detail)
	}
	for i := range c.h.Dumps {
		d := &c.h.Dumps[i]
		if d.Partition != f.Partition || d.Err != "" {
			continue
		}
		for r := range d.Records {
			if d.Records[r].Offset == a.offset {
				say("Broker %d holds %s from epoch %d.", d.Broker, d.Records[r].Value, d.Records[r].Epoch)
				break
			}
		}
	}
}

// acknowledgedBoth reports whether the operations that prove two values at one offset are sends, which were told of it.
func (c *logCheck) acknowledgedBoth(a *anomaly) bool {
	return a.send >= 0 && a.op >= 0 && c.h.Ops[a.op].Kind == history.Send
}

// sayRule tells which rule an acknowledgement broke: acks=all with min.insync.replicas asks for that many replicas before it.
func (c *logCheck) sayRule(say func(string, ...any), w *Witness) {
	need := c.contract.MinISR
	if c.contract.Acks != -1 || w.Acked < 0 || len(w.HeldBy) >= need {
		return
	}
	who := fmt.Sprintf("%d replicas", need)
	if need == 2 {
		who = "a second replica"
	}
	say("min.insync.replicas is %d, so %s had to hold it before the acknowledgement.", need, who)
}

// sayElection tells the election of the leader that lost the record; one before the acknowledgement is told before it.
func sayElection(say func(string, ...any), d deposed) {
	s, how := d.by, "was elected"
	if d.early {
		how = "had already been elected"
	}
	if d.unclean {
		how += " uncleanly, from outside ISR and ELR,"
	}
	unaware := ""
	if d.unaware {
		unaware = fmt.Sprintf("; broker %d did not know yet", d.broker)
	}
	say("Broker %d %s at %s in epoch %d with its log ending at %d%s.", s.Broker, how, clock(int64(s.Time)), s.Epoch, logEnd(s), unaware)
}

// sayRemoval tells how a replica lost a record.
func sayRemoval(say func(string, ...any), r *Removal) {
	switch r.How {
	case "truncated":
		following := ""
		if r.Leader != history.NoBroker {
			following = fmt.Sprintf(" on following broker %d", r.Leader)
		}
		say("Broker %d truncated %d → %d at %s%s.", r.Broker, r.From, r.To, clock(r.Time), following)
	case "trimmed":
		say("Broker %d moved its log start %d → %d at %s.", r.Broker, r.From, r.To, clock(r.Time))
	case "recovery":
		say("Broker %d lost %d → %d at %s, on recovering its log.", r.Broker, r.From, r.To, clock(r.Time))
	}
}

// sayEnd tells who never had the record, and what stands at its offset now.
func (c *logCheck) sayEnd(say func(string, ...any), a *anomaly, f *Finding) {
	var without []history.BrokerID
	for _, r := range f.Witness.RemovedBy {
		if r.How == "never had it" {
			without = append(without, r.Broker)
		}
	}
	if len(without) > 0 {
		say("%s never had it.", brokers(without, "Broker"))
	}
	if a.detail != "" {
		say("%s.", upper(a.detail))
	}
	switch l := &c.parts[a.part].log; {
	case a.other != "":
		say("At the end offset %d holds %s.", a.offset, a.other)
	case l.ended && a.offset >= l.end:
		say("At the end the log ends at %d.", l.end)
	case a.offset >= 0 && l.covers(a.offset):
		say("At the end nothing stands at offset %d.", a.offset)
	}
	if f.Count > 1 {
		say("%d more went the same way.", f.Count-1)
	}
}

// brokers names brokers as a sentence's subject; one alone is introduced by only.
func brokers(ids []history.BrokerID, only string) string {
	if len(ids) == 1 {
		return only + " " + itoa(int64(ids[0]))
	}
	return "Brokers " + list(ids[:len(ids)-1]) + " and " + itoa(int64(ids[len(ids)-1]))
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func inISR(isr []history.BrokerID) string {
	if len(isr) == 0 {
		return ""
	}
	return " (ISR " + list(isr) + ")"
}

func list(ids []history.BrokerID) string {
	parts := make([]string, len(ids))
	for i, b := range ids {
		parts[i] = itoa(int64(b))
	}
	return strings.Join(parts, ",")
}

// count writes a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// clock writes nanoseconds since the run's start as seconds.
func clock(nanos int64) string {
	return strconv.FormatFloat(time.Duration(nanos).Seconds(), 'f', 3, 64) + "s"
}

// upper begins a text with a capital letter.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// lower begins a text with a small letter.
func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	s = upper(strings.TrimSpace(s))
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
