package exhaustive

import (
	"slices"

	"tidemark/history"
)

// Anomaly is one thing that is wrong by the definition of its class.
type Anomaly struct {
	Class     string
	Partition history.Partition
	Offset    history.Offset // UnknownOffset where an acknowledgement carried none
	Value     string         // of the record that it is about
	Other     string         // of the record that it is about besides, of an order; "" of all else
	Told      bool           // of two values: clients were told of both, by acknowledgements, or of a log that holds neither any more
}

// Concerns reports whether two anomalies are about one offset or one record.
func (a Anomaly) Concerns(b Anomaly) bool {
	same := func(v string) bool { return v != "" && (v == b.Value || v == b.Other) }
	return a.Partition == b.Partition && (a.Offset == b.Offset || same(a.Value) || same(a.Other))
}

// ledger is one partition as the definitions need it.
type ledger struct {
	name   history.Partition
	sends  []*history.Op
	polls  []*history.Op // that were answered, final reads too
	finals []*history.Op
	dumps  []*history.Dump
	ops    []*history.Op    // all
	log    []history.Record // whole, with what is known of the records that were removed
	start  history.Offset   // below it somebody had records removed
	found  []Anomaly
}

// Anomalies tries every definition. One fault of the log may be an anomaly by several of them.
func Anomalies(h *history.History) []Anomaly {
	var out []Anomaly
	for _, p := range partitions(h) {
		l := &ledger{name: p}
		var ops, lists []*history.Op
		for i := range h.Ops {
			op := &h.Ops[i]
			if op.Partition == p {
				ops = append(ops, op)
			}
			switch {
			case op.Partition != p:
			case op.Kind == history.ListOffsets:
				lists = append(lists, op)
			case op.Kind == history.Send:
				l.sends = append(l.sends, op)
			case op.Kind == history.Poll && op.Outcome == history.OK:
				l.polls = append(l.polls, op)
				if op.Final {
					l.finals = append(l.finals, op)
				}
			}
		}
		for i := range h.Dumps {
			if d := &h.Dumps[i]; d.Partition == p && d.Err == "" {
				l.dumps = append(l.dumps, d)
			}
		}
		l.ops, l.start = ops, trimmedTo(ops)
		l.log = l.whole()
		l.log = append(l.removed(), l.log...)
		l.ends(lists)
		l.records()
		l.acknowledgements()
		l.order()
		l.consumers()
		l.replicas()
		out = append(out, l.found...)
	}
	return out
}

// ends asks of each end of the log that ListOffsets told, and of each high watermark, whether it had told one beyond it before.
func (l *ledger) ends(lists []*history.Op) {
	for _, op := range lists {
		if slices.ContainsFunc(lists, func(before *history.Op) bool { return overtakes(before, op) }) {
			l.tell("end offset goes back", op.Offset, "", "")
		}
	}
	for _, op := range l.polls {
		if slices.ContainsFunc(lists, func(before *history.Op) bool { return belowTold(before, op) }) {
			l.tell("high watermark goes back", op.HW, "", "")
		}
	}
}

func (l *ledger) tell(class string, o history.Offset, value, other string) {
	l.add(Anomaly{Class: class, Partition: l.name, Offset: o, Value: value, Other: other})
}

func (l *ledger) add(a Anomaly) {
	if !slices.Contains(l.found, a) {
		l.found = append(l.found, a)
	}
}

// whole is what stands in the log at the end: what the first final read holds, and where it holds nothing what a replica does, up to the end
// of that read.
func (l *ledger) whole() []history.Record {
	if len(l.finals) == 0 {
		return nil
	}
	out := slices.Clone(l.finals[0].Records)
	to := end(out)
	for _, d := range l.dumps {
		for _, r := range d.Records {
			if r.Offset < to && !slices.ContainsFunc(out, func(x history.Record) bool { return x.Offset == r.Offset }) {
				out = append(out, history.Record{Offset: r.Offset, Value: r.Value})
			}
		}
	}
	slices.SortFunc(out, func(a, b history.Record) int { return int(a.Offset - b.Offset) })
	return out
}

// told lists what acknowledgements and answers said of the records that were removed, but for acknowledgements of what the log holds elsewhere.
func (l *ledger) told() []history.Record {
	var out []history.Record
	for _, op := range l.sends {
		stands := slices.ContainsFunc(l.log, func(r history.Record) bool { return r.Value == op.Value && r.Offset >= l.start })
		if op.Outcome == history.OK && 0 <= op.Offset && op.Offset < l.start && !stands {
			out = append(out, history.Record{Offset: op.Offset, Value: op.Value})
		}
	}
	for _, op := range l.polls {
		for _, r := range op.Records {
			if r.Offset < l.start {
				out = append(out, r)
			}
		}
	}
	return out
}

// contradicted reports whether another value was told of a record's offset.
func (l *ledger) contradicted(r history.Record) bool {
	return slices.ContainsFunc(l.told(), func(o history.Record) bool { return o.Offset == r.Offset && o.Value != r.Value })
}

// removed lists the records that were removed of which nobody told otherwise.
func (l *ledger) removed() []history.Record {
	var out []history.Record
	for _, r := range l.told() {
		if !l.contradicted(r) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b history.Record) int { return int(a.Offset - b.Offset) })
	return out
}

// room reports whether records were removed of which nothing is known.
func (l *ledger) room() bool {
	for o := range l.start {
		if l.at(o) == "" {
			return true
		}
	}
	return false
}

// standing is the log from its start on.
func (l *ledger) standing() []history.Record {
	return slices.DeleteFunc(slices.Clone(l.log), func(r history.Record) bool { return r.Offset < l.start })
}

// at is the value at an offset of the log, "" if there is none.
func (l *ledger) at(o history.Offset) string {
	for _, r := range l.log {
		if r.Offset == o {
			return r.Value
		}
	}
	return ""
}

// sent finds the send of a value, nil if nobody sent it.
func (l *ledger) sent(value string) *history.Op {
	for _, op := range l.sends {
		if op.Value == value {
			return op
		}
	}
	return nil
}

// belongs reports whether a record that was sent belongs at an offset at which somebody saw a value: the log holds it there; or it is nowhere
// in the log, and was acknowledged or read there.
func (l *ledger) belongs(o history.Offset, value string) bool {
	if here := l.at(o); here != "" && here != value {
		return l.sent(here) != nil
	}
	gone := func(v string, by int64) bool {
		send := l.sent(v)
		return send != nil && send.Outcome != history.Fail && send.InvokeIndex < by && !slices.ContainsFunc(l.log, func(r history.Record) bool { return r.Value == v })
	}
	for _, op := range l.sends {
		if op.Outcome == history.OK && op.Offset == o && gone(op.Value, op.ReturnIndex) {
			return true
		}
	}
	for _, op := range l.polls {
		for _, r := range op.Records {
			if o >= l.start && r.Offset == o && gone(r.Value, op.ReturnIndex) {
				return true
			}
		}
	}
	return false
}

// records asks of each record that the log holds or an answer showed whether it may be there. What one replica alone holds is not in the log.
func (l *ledger) records() {
	judge := func(r history.Record, by *history.Op) {
		send := l.sent(r.Value)
		switch {
		case send == nil && l.belongs(r.Offset, r.Value):
			l.tell("corrupted value", r.Offset, r.Value, "")
		case send == nil:
			l.tell("phantom", r.Offset, r.Value, "")
		case send.Outcome == history.Fail:
			l.tell("read of a failed write", r.Offset, r.Value, "")
		}
		if by == nil || send == nil {
			return
		}
		if by.ReturnIndex < send.InvokeIndex {
			l.tell("phantom", r.Offset, r.Value, "")
		}
		if !by.Final && l.at(r.Offset) != r.Value && r.Offset >= l.start {
			l.tell("read of uncommitted data", r.Offset, r.Value, "")
		}
	}
	for _, op := range l.polls {
		for _, r := range op.Records {
			judge(r, op)
		}
	}
	for _, r := range l.log {
		judge(r, nil)
	}
	for i, a := range l.log {
		for _, b := range l.log[:i] {
			if a.Value == b.Value {
				l.tell("duplicate", a.Offset, a.Value, "")
				l.tell("duplicate", b.Offset, b.Value, "")
			}
		}
	}
}

// acknowledgements asks of each acknowledged write whether it is there.
func (l *ledger) acknowledgements() {
	for _, op := range l.sends {
		if op.Outcome != history.OK {
			continue
		}
		stands := slices.ContainsFunc(l.log, func(r history.Record) bool { return r.Value == op.Value })
		switch {
		case !stands && op.Offset >= 0 && op.Offset < l.start:
			if slices.ContainsFunc(l.sends, func(o *history.Op) bool {
				return o.Outcome == history.OK && o.Offset == op.Offset && o.InvokeIndex > op.ReturnIndex
			}) {
				l.tell("lost acknowledged write", op.Offset, op.Value, "")
			}
		case !stands && op.Offset < 0 && l.room():
		case !stands:
			l.tell("lost acknowledged write", op.Offset, op.Value, "")
		case op.Offset >= 0 && l.at(op.Offset) != op.Value:
			l.tell("acknowledged at another offset", op.Offset, op.Value, "")
		}
	}
}

// order asks of each two records of the log whether the one behind was there before the other was sent. Where a producer went back behind its
// own writes, that is what it is.
func (l *ledger) order() {
	for _, a := range l.log {
		late := l.sent(a.Value)
		class, before := "", []string{}
		for _, b := range l.log {
			early := l.sent(b.Value)
			if late == nil || early == nil || a.Offset >= b.Offset || late == early {
				continue
			}
			acked := early.Outcome == history.OK && early.ReturnIndex < late.InvokeIndex
			seen := slices.ContainsFunc(l.polls, func(op *history.Op) bool {
				return op.ReturnIndex < late.InvokeIndex && slices.Contains(op.Records, b)
			})
			if acked || seen {
				before = append(before, b.Value)
			}
			switch {
			case acked && early.Process == late.Process:
				class = "producer goes back"
			case class == "" && (acked || seen):
				class = "order against real time"
			}
		}
		for _, b := range before {
			l.tell(class, a.Offset, a.Value, b)
		}
	}
}

// consumers asks of each answer whether it goes forward and leaves nothing out.
func (l *ledger) consumers() {
	for _, op := range l.polls {
		expect := op.Position
		if at, known := stood(l.polls, op); known {
			l.skipped(max(at, begun(l.ops, op)), op.Position)
			if len(op.Records) > 0 && op.Records[0].Offset < at {
				l.tell("consumer goes back", op.Records[0].Offset, op.Records[0].Value, "")
			}
		}
		for _, r := range op.Records {
			if r.Offset < expect {
				l.tell("consumer goes back", r.Offset, r.Value, "")
			} else {
				l.skipped(max(expect, mayBegin(l.ops, op)), r.Offset)
			}
			expect = r.Offset + 1
		}
	}
}

// skipped tells the records of the log from an offset to below another.
func (l *ledger) skipped(from, to history.Offset) {
	for _, r := range l.log {
		if from <= r.Offset && r.Offset < to {
			l.tell("consumer skips", r.Offset, r.Value, "")
		}
	}
}

// replicas asks whether all who told the log tell the same. What a final read leaves out it skips; a replica's log that is shorter or longer
// than the others' holds no other value.
func (l *ledger) replicas() {
	for _, r := range l.told() {
		if s := l.sent(r.Value); s != nil && s.Outcome != history.Fail && l.contradicted(r) {
			l.add(Anomaly{Class: "two values at one offset", Partition: l.name, Offset: r.Offset, Value: r.Value, Told: true})
		}
	}
	for _, one := range l.sends {
		for _, two := range l.sends {
			if one.Outcome == history.OK && two.Outcome == history.OK && one.Offset >= 0 && one.Offset == two.Offset && one.Value != two.Value {
				l.add(Anomaly{Class: "two values at one offset", Partition: l.name, Offset: one.Offset, Value: one.Value, Told: true})
			}
		}
	}
	for _, op := range l.finals {
		for _, r := range op.Records {
			if !slices.Contains(l.log, r) {
				l.tell("two values at one offset", r.Offset, r.Value, "")
			}
		}
	}
	for _, d := range l.dumps {
		held := make([]history.Record, 0, len(d.Records))
		for _, r := range d.Records {
			held = append(held, history.Record{Offset: r.Offset, Value: r.Value})
		}
		l.compare(held, l.standing(), 0)
		l.compare(l.standing(), held, d.Start)
	}
}

// compare tells the records of one log that another lacks, which begins at an offset.
func (l *ledger) compare(one, other []history.Record, begins history.Offset) {
	for _, r := range one {
		switch {
		case r.Offset >= end(other) || r.Offset < begins:
			l.tell("replicas differ", r.Offset, r.Value, "")
		case !slices.Contains(other, r):
			l.tell("two values at one offset", r.Offset, r.Value, "")
		}
	}
}

func end(records []history.Record) history.Offset {
	if len(records) == 0 {
		return 0
	}
	return records[len(records)-1].Offset + 1
}
