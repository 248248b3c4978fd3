package edn

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tidemark/history"
)

// builder turns entries into a history. While it reads, an index counts the entry and, below it, the micro-operation; finish counts anew.
type builder struct {
	p         *parser
	h         *history.History
	run       history.Run
	ours      bool // tidemark wrote the file
	busy      map[int32]*underway
	consumers map[int32]*consumer
	keys      map[string]history.Partition
	values    map[string]string // those that were sent
	faults    map[string]int    // of the nemesis: what is under way or in force, by :f
	nfaults   int
	asked     map[int32]int                // of each process: its operation that waits for a :tidemark/answer, by position in the history
	passed    map[history.Partition][]span // stretches that subscribed consumers passed over between two answers
	unread    bool                         // a subscribed consumer's poll failed: what it was given nobody knows
	entries   int64
	last      time.Duration
	lastIndex int64
	indices   []int64 // of each entry, its :index
	scratch   []byte
}

// entryShift makes room for as many micro-operations as an entry may have.
const entryShift = 24

func newBuilder(p *parser) *builder {
	return &builder{p: p, h: &history.History{}, busy: map[int32]*underway{}, consumers: map[int32]*consumer{}, keys: map[string]history.Partition{},
		values: map[string]string{}, faults: map[string]int{}, asked: map[int32]int{}, passed: map[history.Partition][]span{}, lastIndex: -1,
		run: history.Run{Format: 1, Tool: "jepsen", Topic: Topic, Acks: -1}}
}

// underway is an invocation that waits for its completion.
type underway struct {
	f         string
	line      int
	ops       []int32 // of send, poll and txn: the operation of each micro-operation, by position in the history
	asked     bool    // the polls name their partition
	keys      []history.Partition
	beginning bool
}

// index numbers micro-operation n of the entry under way.
func (b *builder) index(n int) int64 { return b.entries<<entryShift | int64(n) }

// entry takes in the entry that the parser holds.
func (b *builder) entry() error {
	e, err := b.p.fields()
	if err != nil {
		return err
	}
	b.entries++
	if e.index >= 0 {
		if e.index <= b.lastIndex {
			return b.p.wrong(0, "found index %d, expected one above %d, that of the operation before", e.index, b.lastIndex)
		}
		b.lastIndex = e.index
	}
	if e.index < 0 {
		e.index = b.entries - 1 // as Jepsen would number it
	}
	b.indices = append(b.indices, e.index)
	b.last = max(b.last, e.at)
	e.at = b.last
	switch {
	case e.process == nemesis:
		return b.nemesis(&e)
	case e.process == aside:
		return b.aside(&e)
	case e.outcome == history.Pending:
		return b.invoke(&e)
	}
	return b.complete(&e)
}

func (b *builder) invoke(e *entry) error {
	if u := b.busy[e.process]; u != nil {
		return b.p.wrong(0, "found process %d invoking :%s, expected the completion of its :%s of line %d first", e.process, short(e.f), short(u.f), u.line)
	}
	u := &underway{f: e.f, line: int(b.p.forms[0].line), beginning: e.beginning}
	b.busy[e.process] = u
	switch e.f {
	case "send", "poll", "txn":
		return b.invokeMicro(e, u)
	case "assign", "subscribe":
		return b.assignment(e.value, &u.keys)
	case "crash", "debug-topic-partitions":
		return nil
	}
	return b.p.wrong(0, "found :f :%s, expected :send, :poll, :txn, :assign, :subscribe, :crash or :debug-topic-partitions", short(e.f))
}

func (b *builder) complete(e *entry) error {
	u := b.busy[e.process]
	switch {
	case u == nil:
		return b.p.wrong(0, "found process %d completing :%s, expected an invocation of it before", e.process, short(e.f))
	case u.f != e.f:
		return b.p.wrong(0, "found process %d completing :%s, expected :%s, which it invoked at line %d", e.process, short(e.f), short(u.f), u.line)
	}
	delete(b.busy, e.process)
	switch e.f {
	case "send", "poll", "txn":
		if e.own.pending {
			return nil
		}
		return b.completeMicro(e, u)
	case "assign", "subscribe":
		b.consumer(e.process).assign(u, e.outcome)
	case "crash":
		delete(b.consumers, e.process)
	}
	return nil
}

// assignment reads the keys of an assign or subscribe.
func (b *builder) assignment(v int32, keys *[]history.Partition) error {
	switch {
	case v < 0 || b.p.forms[v].kind == null:
		return nil
	case !b.p.sequence(v) && b.p.forms[v].kind != set:
		return b.p.wrong(v, "found %s, expected a vector of keys", b.p.described(v))
	}
	for k := range b.p.members(v) {
		key, err := b.key(k)
		if err != nil {
			return err
		}
		*keys = append(*keys, key)
	}
	return nil
}

// key is the partition that a key stands for.
func (b *builder) key(v int32) (history.Partition, error) {
	switch f := &b.p.forms[v]; {
	case f.kind == integer && f.n >= 0 && f.n <= math.MaxInt32, f.kind == text, f.kind == keyword:
	default:
		return history.Partition{}, b.p.wrong(v, "found %s, expected a key: a number from 0 to %d, a string or a keyword", b.p.described(v), math.MaxInt32)
	}
	b.scratch = b.p.appendAtom(b.scratch[:0], v)
	key, known := b.keys[string(b.scratch)]
	if !known {
		key = history.Partition{Topic: string(b.scratch)}
		if f := &b.p.forms[v]; f.kind == integer {
			key = history.Partition{Topic: b.run.Topic, Index: int32(f.n)}
		}
		b.keys[string(b.scratch)] = key
	}
	return key, nil
}

// message is a message's value as its text.
func (b *builder) message(v int32, sent bool) (string, error) {
	if k := b.p.forms[v].kind; k <= null {
		return "", b.p.wrong(v, "found %s, expected a message's value: a number, a string or the like", b.p.described(v))
	}
	b.scratch = b.p.appendAtom(b.scratch[:0], v)
	if value, known := b.values[string(b.scratch)]; known {
		return value, nil
	}
	value := string(b.scratch)
	if sent {
		b.values[value] = value
	}
	return value, nil
}

// finish puts the operations in order of invocation, adds what the end of the log is known to be, and numbers everything densely.
func (b *builder) finish() (history.Run, *history.History, Origins) {
	b.entries++
	if !b.ours {
		b.run.Parts = len(b.keys)
		b.addFinals()
	}
	ops := b.h.Ops
	slices.SortStableFunc(ops, func(x, y history.Op) int { return cmp.Compare(x.InvokeIndex, y.InvokeIndex) })
	origins := make(Origins, len(ops))
	for i := range ops {
		if origins[i] = -1; ops[i].Process >= 0 {
			origins[i] = b.indices[ops[i].InvokeIndex>>entryShift-1]
		}
	}
	indices := make([]*int64, 0, 2*len(ops)+len(b.h.Faults)+len(b.h.Marks))
	for i := range ops {
		ops[i].ID = int64(i)
		indices = append(indices, &ops[i].InvokeIndex)
		if ops[i].Outcome != history.Pending {
			indices = append(indices, &ops[i].ReturnIndex)
		}
	}
	for i := range b.h.Faults {
		indices = append(indices, &b.h.Faults[i].Index)
	}
	for i := range b.h.Marks {
		indices = append(indices, &b.h.Marks[i].Index)
	}
	for i := range b.h.Dumps {
		indices = append(indices, &b.h.Dumps[i].Index)
	}
	for i := range b.h.States {
		indices = append(indices, &b.h.States[i].Index)
	}
	for i := range b.h.Steps {
		indices = append(indices, &b.h.Steps[i].Index)
	}
	slices.SortStableFunc(indices, func(x, y *int64) int { return cmp.Compare(*x, *y) })
	for i, index := range indices {
		*index = int64(i)
	}
	return b.run, b.h, origins
}
