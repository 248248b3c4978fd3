package edn

import (
	"math"

	"tidemark/history"
)

// micro is the name of a micro-operation, :send or :poll, and its other members.
func (b *builder) micro(m int32) (name string, args []int32, err error) {
	if b.p.sequence(m) {
		for i := range b.p.members(m) {
			if len(args) == 3 {
				return "", nil, b.p.wrong(i, "found a further member, expected the end of a micro-operation")
			}
			args = append(args, i)
		}
	}
	if len(args) > 0 && (b.p.is(args[0], ":send") || b.p.is(args[0], ":poll")) {
		return b.p.name(args[0]), args[1:], nil
	}
	return "", nil, b.p.wrong(m, "found %s, expected a micro-operation: [:send key value] or [:poll]", short(b.p.written(m)))
}

// invokeMicro makes an operation of each micro-operation that an entry asks for.
func (b *builder) invokeMicro(e *entry, u *underway) error {
	if e.value < 0 || !b.p.sequence(e.value) {
		form := max(e.value, 0)
		return b.p.wrong(form, "found :%s without micro-operations, expected a :value of [[:send key value]] or [[:poll]]", e.f)
	}
	for m := range b.p.members(e.value) {
		name, args, err := b.micro(m)
		if err != nil {
			return err
		}
		op := history.Op{Process: e.process, Kind: history.Poll, Final: e.own.final, Broker: e.own.broker, Epoch: e.own.epoch, Invoke: e.at,
			InvokeIndex: b.index(len(u.ops)), ReturnIndex: -1, Offset: history.UnknownOffset, Position: e.own.position,
			HW: history.UnknownOffset, LogStart: history.UnknownOffset}
		switch {
		case e.f != "txn" && name != e.f:
			return b.p.wrong(m, "found [:%s ...] in a :%s, expected [:%s ...]", name, e.f, e.f)
		case name == "send" && len(args) != 2:
			return b.p.wrong(m, "found a :send of %d members, expected [:send key value]", 1+len(args))
		case name == "send":
			op.Kind, op.Acks, op.Marker, op.Position = history.Send, e.own.acks, e.own.marker, history.UnknownOffset
			if op.Partition, err = b.key(args[0]); err != nil {
				return err
			}
			if op.Value, err = b.message(args[1], true); err != nil {
				return err
			}
		case len(args) > 0:
			return b.p.wrong(args[0], "found %s, expected [:poll], as nothing is polled yet", b.p.described(args[0]))
		case e.own.key >= 0:
			u.asked = true
			if op.Partition, err = b.key(e.own.key); err != nil {
				return err
			}
		}
		u.ops = append(u.ops, int32(len(b.h.Ops)))
		b.h.Ops = append(b.h.Ops, op)
	}
	return nil
}

// completeMicro completes the operations of an entry. Where a completion without effect says nothing of them, they are as they were invoked.
func (b *builder) completeMicro(e *entry, u *underway) error {
	if e.outcome != history.OK && e.f != "send" {
		defer clear(b.consumer(e.process).next) // it may have read on, or been set back
	}
	done := history.Op{Outcome: e.outcome, Return: e.at, Error: e.err, HW: e.own.hw, LogStart: e.own.start}
	if e.outcome != history.OK && (e.value < 0 || b.p.forms[e.value].kind == null) {
		for n, i := range u.ops {
			b.end(&b.h.Ops[i], &done, n)
		}
		return nil
	}
	if e.value < 0 || !b.p.sequence(e.value) {
		return b.p.wrong(max(e.value, 0), "found :%s completed without micro-operations, expected those of line %d", e.f, u.line)
	}
	n := 0
	returned := 0
	for m := range b.p.members(e.value) {
		name, args, err := b.micro(m)
		if err != nil {
			return err
		}
		if n == len(u.ops) {
			return b.p.wrong(m, "found a micro-operation, expected %d of them, as invoked at line %d", n, u.line)
		}
		i := u.ops[n]
		n++
		switch sent := b.h.Ops[i].Kind == history.Send; {
		case sent != (name == "send"):
			return b.p.wrong(m, "found [:%s ...], expected what was invoked at line %d", name, u.line)
		case sent:
			err = b.endSend(i, &done, m, args, u, returned)
			returned++
		default:
			returned, err = b.endPoll(i, &done, m, args, e, u, returned)
		}
		if err != nil {
			return err
		}
	}
	if n < len(u.ops) {
		return b.p.wrong(e.value, "found %d micro-operations, expected %d, as invoked at line %d", n, len(u.ops), u.line)
	}
	return nil
}

// end completes an operation; n counts those that its entry completes.
func (b *builder) end(op, done *history.Op, n int) {
	op.Outcome, op.Return, op.Error, op.HW, op.LogStart, op.ReturnIndex = done.Outcome, done.Return, done.Error, done.HW, done.LogStart, b.index(n)
}

// endSend completes a send by [:send k v] or [:send k [offset v]].
func (b *builder) endSend(i int32, done *history.Op, m int32, args []int32, u *underway, n int) error {
	op := &b.h.Ops[i]
	b.end(op, done, n)
	if len(args) != 2 {
		return b.p.wrong(m, "found a :send of %d members, expected [:send key [offset value]]", 1+len(args))
	}
	key, err := b.key(args[0])
	if err != nil {
		return err
	}
	if key != op.Partition {
		return b.p.wrong(args[0], "found key %s, expected that of the invocation at line %d", short(b.p.written(args[0])), u.line)
	}
	value := args[1]
	if b.p.sequence(value) {
		var offset history.Offset
		if offset, value, err = b.pair(value); err != nil {
			return err
		}
		if done.Outcome == history.OK {
			op.Offset = offset
		}
	}
	text, err := b.message(value, false)
	if err != nil {
		return err
	}
	if text != op.Value {
		return b.p.wrong(value, "found the value %s, expected %s, which was sent at line %d", short(text), short(op.Value), u.line)
	}
	return nil
}

// pair reads [offset value]; an offset of nil is unknown.
func (b *builder) pair(v int32) (offset history.Offset, value int32, err error) {
	o := v + 1
	if !b.p.sequence(v) || o >= b.p.forms[v].end || b.p.forms[o].end >= b.p.forms[v].end || b.p.forms[b.p.forms[o].end].end != b.p.forms[v].end {
		return 0, 0, b.p.wrong(v, "found %s, expected [offset value]", short(b.p.written(v)))
	}
	value = b.p.forms[o].end
	if b.p.forms[o].kind == null {
		return history.UnknownOffset, value, nil
	}
	n, err := b.p.number(o, 0, math.MaxInt64, "an offset, or nil,")
	return history.Offset(n), value, err
}

// endPoll completes a poll by [:poll], [:poll nil] or [:poll {k [[offset v] ...]}]: its operation takes the first key, further ones are added.
// It returns how many operations the entry has completed.
func (b *builder) endPoll(i int32, done *history.Op, m int32, args []int32, e *entry, u *underway, n int) (int, error) {
	b.end(&b.h.Ops[i], done, n)
	n++
	if done.Outcome != history.OK && b.consumer(e.process).subscribed {
		b.unread = true
	}
	if len(args) == 0 || b.p.forms[args[0]].kind == null {
		return n, nil
	}
	if len(args) > 1 || b.p.forms[args[0]].kind != dict {
		return n, b.p.wrong(m, "found %s, expected [:poll {key [[offset value] ...]}]", short(b.p.written(m)))
	}
	answer := args[0]
	c := b.consumer(e.process)
	moved, err := b.rebalanced(e.rebalance)
	if err != nil {
		return n, err
	}
	seen := map[history.Partition]bool{}
	first := true
	add := func(key history.Partition, records []history.Record, position history.Offset) {
		if !first {
			op := b.h.Ops[i]
			b.h.Ops = append(b.h.Ops, op)
			i = int32(len(b.h.Ops) - 1)
			b.end(&b.h.Ops[i], done, n)
			n++
		}
		first = false
		op := &b.h.Ops[i]
		op.Partition, op.Records = key, records
		if !u.asked {
			op.Position = position
		}
		if len(records) > 0 {
			op.Outcome = history.OK
		}
	}
	for k := answer + 1; k < b.p.forms[answer].end; {
		v := b.p.forms[k].end
		key, err := b.key(k)
		if err != nil {
			return n, err
		}
		if seen[key] {
			return n, b.p.wrong(k, "found key %s a second time, expected it once", short(b.p.written(k)))
		}
		seen[key] = true
		if moved[key] {
			c.forget(key)
		}
		if err := b.answer(v, key, c, add); err != nil {
			return n, err
		}
		k = b.p.forms[v].end
	}
	return n, nil
}

// answer reads what a poll returned of a key. A record without an offset is left out; what is behind it may stand anywhere, so an operation
// of its own begins there.
func (b *builder) answer(v int32, key history.Partition, c *consumer, add func(history.Partition, []history.Record, history.Offset)) error {
	if !b.p.sequence(v) {
		return b.p.wrong(v, "found %s, expected [[offset value] ...]", b.p.described(v))
	}
	var records []history.Record
	flush := func() {
		add(key, records, c.position(key, records))
		if over, ok := c.passes(key, records); ok {
			b.passed[key] = append(b.passed[key], over)
		}
		c.read(key, records)
		records = nil
	}
	for r := range b.p.members(v) {
		offset, value, err := b.pair(r)
		if err != nil {
			return err
		}
		text, err := b.message(value, false)
		if err != nil {
			return err
		}
		if offset == history.UnknownOffset {
			if len(records) > 0 {
				flush()
			}
			c.forget(key)
			continue
		}
		records = append(records, history.Record{Offset: offset, Value: text})
	}
	flush()
	return nil
}

// rebalanced reads the keys of a :rebalance-log: [{:keys [k ...]} ...].
func (b *builder) rebalanced(v int32) (map[history.Partition]bool, error) {
	if v < 0 || !b.p.sequence(v) {
		return nil, nil
	}
	moved := map[history.Partition]bool{}
	for event := range b.p.members(v) {
		if b.p.forms[event].kind != dict {
			continue
		}
		for k := event + 1; k < b.p.forms[event].end; k = b.p.forms[b.p.forms[k].end].end {
			if !b.p.is(k, ":keys") {
				continue
			}
			var keys []history.Partition
			if err := b.assignment(b.p.forms[k].end, &keys); err != nil {
				return nil, err
			}
			for _, key := range keys {
				moved[key] = true
			}
		}
	}
	return moved, nil
}
