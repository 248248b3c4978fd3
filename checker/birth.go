package checker

import (
	"slices"

	"tidemark/history"
)

// source is where a record was seen: on which broker, by which journal index; and when it was sent, which no append of it can have come before.
type source struct {
	broker history.BrokerID
	index  int64
	sent   int64 // -1 if not known
	acked  bool  // it is an acknowledgement
}

func (c *logCheck) sourceOf(a *anomaly) source {
	src := source{broker: history.NoBroker, index: never, sent: -1}
	var send *history.Op
	if a.send >= 0 {
		send = &c.h.Ops[a.send]
		if a.class != Phantom { // which is what was there before it was sent
			src.sent = c.firstSent(a.part, send)
		}
	}
	switch {
	case send != nil && send.Outcome == history.OK:
		src.broker, src.index, src.acked = send.Broker, send.ReturnIndex, true
	case a.op >= 0:
		op := &c.h.Ops[a.op]
		src.broker, src.index = op.Broker, op.ReturnIndex
	case send != nil:
		src.broker, src.index = send.Broker, max(send.InvokeIndex, send.ReturnIndex)
	}
	return src
}

// firstSent is when a send's value was sent first.
func (c *logCheck) firstSent(part int32, send *history.Op) int64 {
	p := c.parts[part]
	if first := p.sends.find(send.Value); first >= 0 {
		return min(send.InvokeIndex, p.sent[first].invokeIndex)
	}
	return send.InvokeIndex
}

// brought lists the appends for a producer by which a broker had something at an offset, each once, up to an index. What it copied is followed to
// the broker that appended it, as far as the steps tell.
func (l *stepLog) brought(src source, o history.Offset) []*history.Step {
	var out []*history.Step
	at := map[history.BrokerID]*history.Step{}
	for _, s := range l.steps {
		if s.Index > src.index {
			break
		}
		if s.Kind != history.StepAppend || o < s.From || s.To <= o {
			continue
		}
		from := s
		if s.Peer != s.Broker && at[s.Peer] != nil {
			from = at[s.Peer]
		}
		at[s.Broker] = from
		if s.Broker == src.broker && !slices.Contains(out, from) {
			out = append(out, from)
		}
	}
	return out
}

// birth is the append with which a record came into the log: the last since it was sent by which its source had something at its offset, and of an
// acknowledgement one of the acknowledging broker's own before one that it copied. It is nil where there is none; then elsewhere is the append of
// what stood at the offset that an acknowledgement of the record named, nil where the steps tell of none.
func (c *logCheck) birth(a *anomaly, l *stepLog, src source) (birth, elsewhere *history.Step) {
	all := l.brought(src, a.offset)
	if len(all) == 0 {
		return nil, nil
	}
	gone := src.acked && (a.class == LostWrite || a.class == AckOffsetMismatch)
	for _, s := range all {
		switch {
		case s.Index <= src.sent || gone && c.stands(a, l, src, s):
		case src.acked && birth != nil && birth.Broker == src.broker && s.Broker != src.broker:
		default:
			birth = s
		}
	}
	if birth == nil && gone {
		elsewhere = all[len(all)-1]
	}
	return birth, elsewhere
}

// stands reports whether what an append brought is another record: a replica still has it, and its dump shows another value at the offset.
func (c *logCheck) stands(a *anomaly, l *stepLog, src source, birth *history.Step) bool {
	w := l.follow(src, a.offset, nil, never, birth, nil)
	for _, d := range c.parts[a.part].dumps {
		at, ok := slices.BinarySearchFunc(d.Records, a.offset, func(r history.DumpRecord, o history.Offset) int { return int(r.Offset - o) })
		if ok && w.held[d.Broker] && d.Records[at].Value != a.value {
			return true
		}
	}
	return false
}

// epochOf is the leader epoch of an append; where there is none, that of its source's last election.
func (l *stepLog) epochOf(birth *history.Step, src source) history.Epoch {
	if birth != nil {
		return birth.Epoch
	}
	epoch := history.Epoch(-1)
	for _, s := range l.elections {
		if s.Index <= src.index && s.Broker == src.broker {
			epoch = s.Epoch
		}
	}
	return epoch
}

// leadership is the epoch in which a send's broker led last before it was acknowledged, as far as the steps tell, and whom it followed by then
// instead. An answer may be on its way when a leader is deposed; so the broker led no longer only if its high watermark had not passed the offset by
// then. Where no step tells of leaders it is the epoch that the client believed in.
func (l *stepLog) leadership(src source, op *history.Op) (history.Epoch, *Deposed) {
	epoch := history.Epoch(-1)
	var since *Deposed
	for _, s := range l.steps {
		if s.Index > src.index {
			break
		}
		if s.Broker != src.broker {
			continue
		}
		leads := s.Kind == history.StepElection || s.Kind == history.StepAppend && (s.Peer == s.Broker || s.Peer == history.NoBroker)
		switch {
		case leads && s.Epoch >= epoch:
			epoch, since = s.Epoch, nil
		case s.Kind == history.StepFollow && s.Epoch > epoch && epoch >= 0 && since == nil && op.Acks == -1 && s.From <= op.Offset:
			since = &Deposed{Leader: s.Peer, Epoch: s.Epoch, Time: int64(s.Time)}
		}
	}
	if epoch < 0 && len(l.elections) == 0 {
		epoch = op.Epoch
	}
	return epoch, since
}

// instead tells what stood where a record was acknowledged that no replica appended; nil if one did, or the steps do not tell.
func (c *logCheck) instead(a *anomaly, w *walk) *Instead {
	s := w.elsewhere
	if s == nil {
		return nil
	}
	in := &Instead{Time: int64(s.Time), Broker: s.Broker, Epoch: s.Epoch, Before: s.Index <= w.src.sent}
	may := func(send int32) bool { return send >= 0 && c.h.Ops[send].InvokeIndex < s.Index }
	if other := c.acknowledgedToo(a); other != nil && other.InvokeIndex < s.Index {
		in.Value = other.Value
	} else if a.other != "" && may(c.parts[a.part].sender(a.other)) {
		in.Value = a.other
	}
	return in
}

// acknowledgedToo is the first send of another value that was acknowledged at the same offset, of that which stands there at the end if it is one;
// nil if there is none.
func (c *logCheck) acknowledgedToo(a *anomaly) *history.Op {
	if a.class != LostWrite && a.class != AckOffsetMismatch || a.offset < 0 {
		return nil
	}
	var found *history.Op
	p := c.parts[a.part]
	for i := range p.sent {
		w := &p.sent[i]
		if !w.told || w.offset != a.offset || w.value == a.value {
			continue
		}
		op := &c.h.Ops[w.op]
		if op.Value == a.other {
			return op
		}
		if found == nil || op.ReturnIndex < found.ReturnIndex {
			found = op
		}
	}
	return found
}

func (c *logCheck) otherAck(a *anomaly) *OtherAck {
	op := c.acknowledgedToo(a)
	if op == nil {
		return nil
	}
	return &OtherAck{Value: op.Value, Producer: op.Process, Sent: int64(op.Invoke), Acked: int64(op.Return), AckedBy: op.Broker}
}
