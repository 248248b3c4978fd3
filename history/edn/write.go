package edn

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"tidemark/history"
)

// Write writes a run's history so that Jepsen's checker reads it, one operation a line.
//
// Partition i of the run's topic is key i; each incarnation of a topic that was recreated, and whatever else is no partition of that topic,
// has the next free key, in the order in which the history first names them. Values become numbers from 0 on, in the order in which the history first names them, the same
// number for the same text; Jepsen's checker needs them unique and of one type. A poll is of one partition and begins at a position of its
// own, which the format cannot say: the consumer assigns itself the partitions that it polls, and where it does not go on at the end of its
// last answer it assigns itself nothing and then the partition anew, which is where Jepsen's checker looks for no order of answers.
// Operations that were still pending at the end become :info there. A fault that took effect becomes :info operations of the nemesis.
//
// What the format has no place for stands in fields that begin with :tidemark/, and in :info operations of a process :tidemark, which
// Jepsen's checker passes over as it does over the nemesis: the run, its phases, those of faults, seeks, ListOffsets and DeleteRecords, observed
// states, protocol steps, and the dumps. So Read gives the same operations, faults, states and dumps back.
func Write(w io.Writer, run history.Run, h *history.History) error {
	out := &writer{w: bufio.NewWriterSize(w, 64<<10), values: map[string]int64{}, consumers: map[int32]*assigned{}, busy: map[int32]*history.Op{}}
	if err := out.json(asideRun, 0, run); err != nil {
		return fmt.Errorf("writing EDN: %w", err)
	}
	events := inOrder(h)
	if err := out.tellKeys(run, h, events); err != nil {
		return fmt.Errorf("writing EDN: %w", err)
	}
	for _, e := range events {
		if err := out.event(h, e); err != nil {
			return fmt.Errorf("writing EDN: %w", err)
		}
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; out.busy[op.Process] == op {
			out.complete(op, out.last)
		}
	}
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("writing EDN: %w", err)
	}
	return nil
}

// event is one entry of a history: an operation's invocation or completion, a fault's phase, a mark, a dump.
type event struct {
	index int64
	what  uint8 // of the constants below
	at    int32 // position in its slice
}

const (
	invoked uint8 = iota
	completed
	faulted
	marked
	dumped
	stated
	stepped
)

func inOrder(h *history.History) []event {
	events := make([]event, 0, 2*len(h.Ops)+len(h.Faults)+len(h.Marks)+len(h.Dumps)+len(h.States)+len(h.Steps))
	for i := range h.Ops {
		events = append(events, event{h.Ops[i].InvokeIndex, invoked, int32(i)})
		if h.Ops[i].Outcome != history.Pending {
			events = append(events, event{h.Ops[i].ReturnIndex, completed, int32(i)})
		}
	}
	for i := range h.Faults {
		events = append(events, event{h.Faults[i].Index, faulted, int32(i)})
	}
	for i := range h.Marks {
		events = append(events, event{h.Marks[i].Index, marked, int32(i)})
	}
	for i := range h.Dumps {
		events = append(events, event{h.Dumps[i].Index, dumped, int32(i)})
	}
	for i := range h.States {
		events = append(events, event{h.States[i].Index, stated, int32(i)})
	}
	for i := range h.Steps {
		events = append(events, event{h.Steps[i].Index, stepped, int32(i)})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.index, b.index) })
	return events
}

// writer writes entries and keeps what the next depend on.
type writer struct {
	w         *bufio.Writer
	keys      map[history.Partition]int32
	index     int64
	last      time.Duration
	line      []byte
	values    map[string]int64
	consumers map[int32]*assigned
	busy      map[int32]*history.Op // what a process has under way
}

// assigned is what a process was assigned, and where Jepsen's checker takes it to read on.
type assigned struct {
	keys []int32 // ascending
	next map[int32]history.Offset
}

func (w *writer) event(h *history.History, e event) error {
	switch e.what {
	case faulted:
		w.fault(&h.Faults[e.at])
		return nil
	case marked:
		m := &h.Marks[e.at]
		w.head("info", asideMark, aside, m.Time)
		w.word(quoted(m.Name)).field(fieldFailed).word(strconv.FormatBool(m.Failed)).field(fieldDetail).word(quoted(m.Detail)).end()
		return nil
	case stated:
		return w.state(h.States[e.at])
	case stepped:
		return w.step(h.Steps[e.at])
	}
	if e.what == dumped {
		d := &h.Dumps[e.at]
		for _, r := range d.Records {
			if r.Offset < 0 {
				return fmt.Errorf("the dump of broker %d has a record at offset %d, expected none below 0", d.Broker, r.Offset)
			}
		}
		w.dump(d)
		return nil
	}
	op := &h.Ops[e.at]
	if op.Kind == history.Seek {
		return w.seek(op, e.what == invoked)
	}
	if asks[op.Kind] != "" {
		return w.ask(op, e.what == invoked)
	}
	if err := w.operation(op, e.what == invoked); err != nil {
		return fmt.Errorf("operation %d: %w", op.ID, err)
	}
	return nil
}

// operation writes an invocation or a completion. What a process left pending ends before the process goes on.
func (w *writer) operation(op *history.Op, invocation bool) error {
	if op.Process < 0 {
		return fmt.Errorf("of process %d, expected none below 0", op.Process)
	}
	before := w.busy[op.Process]
	if invocation {
		if before != nil && before.Outcome != history.Pending {
			return fmt.Errorf("invoked by process %d during its operation %d, expected one at a time", op.Process, before.ID)
		}
		if before != nil {
			w.complete(before, op.Invoke)
		}
		w.busy[op.Process] = op
		w.invoke(op)
		return nil
	}
	if before != op {
		return fmt.Errorf("completed by process %d, expected its invocation before", op.Process)
	}
	for _, r := range op.Records {
		if r.Offset < 0 {
			return fmt.Errorf("a record at offset %d, expected none below 0", r.Offset)
		}
	}
	delete(w.busy, op.Process)
	w.complete(op, op.Return)
	return nil
}

// fault writes a fault's phase; where it was observed or undone, also what the nemesis did: two entries, as Jepsen pairs a nemesis' entries
// by their order.
func (w *writer) fault(f *history.FaultEvent) {
	w.head("info", asideFault, aside, f.Time)
	w.word(quoted(f.Line)).field(fieldFault).number(int64(f.Fault)).field(fieldPhase).word(quoted(string(f.Phase))).field(fieldKind).word(quoted(f.Kind))
	w.field(fieldDetail).word(quoted(f.Detail))
	for i, b := range f.Targets {
		if i == 0 {
			w.field(fieldTargets).word("[")
		} else {
			w.space()
		}
		w.number(int64(b))
	}
	if len(f.Targets) > 0 {
		w.word("]")
	}
	w.end()
	name := ""
	switch f.Phase {
	case history.FaultObserved:
		name = faultBegins(f.Kind)
	case history.FaultUndone:
		name = faultEnds(f.Kind)
	default:
		return
	}
	for range 2 {
		w.head("info", name, nemesis, f.Time)
		w.word(quoted(f.Line)).end()
	}
}

// faultBegins is what Jepsen's own nemeses call the beginning of a fault.
func faultBegins(kind string) string {
	if kind == "kill" || kind == "pause" {
		return kind
	}
	return "start-" + faultWord(kind)
}

// faultEnds is what they call its end.
func faultEnds(kind string) string {
	switch kind {
	case "kill":
		return "start"
	case "pause":
		return "resume"
	}
	return "stop-" + faultWord(kind)
}

// faultWord keeps a kind that is no word out of a keyword.
func faultWord(kind string) string {
	for _, c := range []byte(kind) {
		if c < 'a' || c > 'z' {
			return "fault"
		}
	}
	if kind == "" {
		return "fault"
	}
	return kind
}

func (w *writer) invoke(op *history.Op) {
	if op.Kind == history.Send {
		w.head("invoke", "send", op.Process, op.Invoke)
		w.line = append(w.line, `[[:send `...)
		w.key(op.Partition).space().number(w.value(op.Value))
		w.line = append(w.line, `]]`...)
		if op.Acks != -1 {
			w.field(fieldAcks).number(int64(op.Acks))
		}
		if op.Marker {
			w.field(fieldMarker).word("true")
		}
	} else {
		w.assign(op)
		w.head("invoke", "poll", op.Process, op.Invoke)
		w.word(`[[:poll]]`).field(fieldKey).key(op.Partition)
		w.field(fieldPosition).number(max(int64(op.Position), -1))
	}
	if op.Final {
		w.field(fieldFinal).word("true")
	}
	w.turned(op).end()
}

// assign writes what the consumer must be assigned before it polls as op does.
func (w *writer) assign(op *history.Op) {
	c := w.consumers[op.Process]
	if c == nil {
		c = &assigned{next: map[int32]history.Offset{}}
		w.consumers[op.Process] = c
	}
	key := w.keys[op.Partition]
	next, had := c.next[key]
	if had && next == op.Position {
		return
	}
	if had {
		c.keys, c.next = nil, map[int32]history.Offset{}
		w.assignment(op, nil, false)
	}
	at, _ := slices.BinarySearch(c.keys, key)
	c.keys = slices.Insert(c.keys, at, key)
	c.next[key] = op.Position
	w.assignment(op, c.keys, len(c.keys) == 1 && op.Position == 0)
}

func (w *writer) assignment(op *history.Op, keys []int32, beginning bool) {
	for _, kind := range []string{"invoke", "ok"} {
		w.head(kind, "assign", op.Process, op.Invoke)
		w.line = append(w.line, '[')
		for i, k := range keys {
			if i > 0 {
				w.space()
			}
			w.number(int64(k))
		}
		w.line = append(w.line, ']')
		if beginning {
			w.field(":seek-to-beginning?").word("true")
		}
		w.end()
	}
}

// complete writes an operation's completion; a pending one's as :info.
func (w *writer) complete(op *history.Op, at time.Duration) {
	kind := [...]string{history.Pending: "info", history.OK: "ok", history.Fail: "fail", history.Info: "info"}[op.Outcome]
	if op.Kind == history.Send {
		w.head(kind, "send", op.Process, at)
		w.word(`[[:send `).key(op.Partition).word(` [`)
		if op.Outcome == history.OK && op.Offset >= 0 {
			w.number(int64(op.Offset))
		} else {
			w.word("nil")
		}
		w.space().number(w.value(op.Value)).word(`]]]`)
	} else {
		w.head(kind, "poll", op.Process, at)
		w.polled(op)
	}
	if op.Outcome == history.Pending {
		w.field(fieldPending).word("true")
	}
	if op.Error != "" {
		w.field(":error").word(quoted(op.Error))
	}
	w.end()
}

func (w *writer) polled(op *history.Op) {
	key := w.keys[op.Partition]
	w.word(`[[:poll {`)
	for i, r := range op.Records {
		if i == 0 {
			w.number(int64(key)).word(` [`)
		} else {
			w.space()
		}
		w.word(`[`).number(int64(r.Offset)).space().number(w.value(r.Value)).word(`]`)
	}
	if n := len(op.Records); n > 0 {
		w.word(`]`)
		if next := op.Records[n-1].Offset + 1; op.Outcome == history.OK && next > 0 {
			w.consumers[op.Process].next[key] = next
		}
	}
	w.word(`}]]`).field(fieldHW).number(max(int64(op.HW), -1)).field(fieldStart).number(max(int64(op.LogStart), -1))
}

// value is the number of a value.
func (w *writer) value(v string) int64 {
	n, known := w.values[v]
	if !known {
		n = int64(len(w.values))
		w.values[v] = n
	}
	return n
}

// The processes that are no clients: Jepsen's nemesis, and the one that only tidemark reads.
const (
	nemesis int32 = -1
	aside   int32 = -2
	nobody  int32 = -3 // none is named
)

// head begins an entry, up to its value.
func (w *writer) head(kind, f string, process int32, at time.Duration) {
	w.last = max(w.last, at)
	who := strconv.Itoa(int(process))
	switch process {
	case nemesis:
		who = ":nemesis"
	case aside:
		who = ":tidemark"
	}
	w.line = fmt.Appendf(w.line[:0], "{:index %d, :time %d, :process %s, :type :%s, :f :%s, :value ", w.index, w.last, who, kind, f)
}

// end ends the entry. An error of the writer below stays until Flush returns it.
func (w *writer) end() {
	w.line = append(w.line, "}\n"...)
	_, _ = w.w.Write(w.line)
	w.index++
}

func (w *writer) number(n int64) *writer {
	w.line = strconv.AppendInt(w.line, n, 10)
	return w
}

func (w *writer) space() *writer { return w.word(" ") }

func (w *writer) word(s string) *writer {
	w.line = append(w.line, s...)
	return w
}

func (w *writer) field(name string) *writer { return w.word(", ").word(name).space() }

// json writes an operation of process :tidemark whose value is JSON in a string.
func (w *writer) json(f string, at time.Duration, v any) error {
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.head("info", f, aside, at)
	w.word(quoted(string(plain))).end()
	return nil
}

func quoted(s string) string { return string(appendString(nil, s)) }
