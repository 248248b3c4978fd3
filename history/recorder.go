package history

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Recorder takes down what happens, in order, and gives every entry its index. It is safe for concurrent use. Every method
// hands the entry to the sink (if there is one) before it returns, so an invocation is on its way to the kernel before its
// request leaves.
type Recorder struct {
	now  func() time.Duration
	sink *JournalWriter

	mu     sync.Mutex
	next   int64 // index of the next entry
	h      History
	counts Counts
	acked  map[Partition]int64
	late   bool     // some entry was recorded later than it happened
	notify []func() // replaced as a whole, so that a copy may be called outside the lock
	struck func(FaultEvent)
	taken  func(Step)
}

// NewRecorder returns a recorder that keeps everything in memory and, unless sink is nil, also appends it to sink.
// now reads the run's monotonic clock; it is called under the recorder's lock, so that times never fall as indexes rise, but for
// what is recorded later than it happened (StepAt, State).
func NewRecorder(now func() time.Duration, sink *JournalWriter) *Recorder {
	return &Recorder{now: now, sink: sink, acked: make(map[Partition]int64)}
}

// stamp numbers an entry. The lock is held.
func (r *Recorder) stamp() (index int64, at time.Duration) {
	index = r.next
	r.next++
	return index, r.now()
}

// done releases the lock and tells the listeners.
func (r *Recorder) done() {
	notify := r.notify
	r.mu.Unlock()
	for _, fn := range notify {
		fn()
	}
}

// Invoke records an invocation; it sets ID, Invoke, InvokeIndex and clears the rest of the outcome. The returned id completes it.
func (r *Recorder) Invoke(op Op) (id int64) {
	r.mu.Lock()
	op.ID = int64(len(r.h.Ops))
	op.InvokeIndex, op.Invoke = r.stamp()
	op.clearOutcome()
	r.h.Ops = push(r.h.Ops, op)
	if r.sink != nil {
		r.sink.Invoke(&op)
	}
	r.done()
	if r.sink != nil {
		r.sink.flush()
	}
	return op.ID
}

// Reserve makes room for so many operations and protocol steps, so that the lists of a run of known length need not grow.
func (r *Recorder) Reserve(ops, steps int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Ops, r.h.Steps = slices.Grow(r.h.Ops, ops), slices.Grow(r.h.Steps, steps)
}

// push appends, doubling where append alone would grow large slices by a quarter at a time and copy them five times over.
func push[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(64, len(list)))
	}
	return append(list, v)
}

// clearOutcome leaves an operation as it is before its completion is known.
func (op *Op) clearOutcome() {
	op.Outcome, op.Return, op.ReturnIndex = Pending, 0, -1
	op.Offset, op.HW, op.LogStart = UnknownOffset, UnknownOffset, UnknownOffset
	op.Records, op.Error = nil, ""
}

// Complete records the completion of operation id: Outcome, Offset, HW, LogStart, Records, Error, Broker are taken from done.
// To complete an operation twice, or one that was never invoked, or with Pending, is a mistake of the caller's and panics.
func (r *Recorder) Complete(id int64, done Op) {
	r.mu.Lock()
	if id < 0 || id >= int64(len(r.h.Ops)) || r.h.Ops[id].Outcome != Pending || done.Outcome == Pending || done.Outcome > Info {
		r.mu.Unlock()
		panic(fmt.Sprintf("history: operation %d completed as %d: expected one that is under way, and OK, Fail or Info", id, done.Outcome))
	}
	op := &r.h.Ops[id]
	op.ReturnIndex, op.Return = r.stamp()
	op.Outcome, op.Offset, op.HW, op.LogStart = done.Outcome, done.Offset, done.HW, done.LogStart
	op.Records, op.Error, op.Broker = done.Records, done.Error, done.Broker
	r.counts[op.Kind][op.Outcome]++
	if op.Kind == Send && op.Outcome == OK {
		r.acked[op.Partition]++
	}
	if r.sink != nil {
		r.sink.Return(op)
	}
	r.done()
}

// Fault records one phase of a fault; Index and Time are set here.
func (r *Recorder) Fault(e FaultEvent) {
	r.mu.Lock()
	e.Index, e.Time = r.stamp()
	r.h.Faults = push(r.h.Faults, e)
	if r.sink != nil {
		r.sink.Fault(&e)
	}
	struck := r.struck
	r.done()
	if struck != nil {
		struck(e)
	}
}

// OnFault registers the function that is called with every phase of a fault after it is recorded (outside the lock).
func (r *Recorder) OnFault(fn func(FaultEvent)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.struck = fn
}

// State records an observation; Index is set here, and Time unless the world says when it looked, at the latest now.
func (r *Recorder) State(s ClusterState) {
	r.mu.Lock()
	at := s.Time
	s.Index, s.Time = r.stamp()
	if at > 0 && at < s.Time {
		s.Time, r.late = at, true
	}
	r.h.States = push(r.h.States, s)
	if r.sink != nil {
		r.sink.State(&s)
	}
	r.done()
}

// Step records a protocol step that happens now; Index and Time are set here.
func (r *Recorder) Step(s Step) { r.StepAt(s, forever) }

// forever is later than any run.
const forever = time.Duration(1<<63 - 1)

// StepAt records a protocol step that happened at a time of the run's clock, at the latest now. The journal holds it where it is recorded;
// History, and who reads the journal, have it where it happened.
func (r *Recorder) StepAt(s Step, at time.Duration) {
	r.mu.Lock()
	s.Index, s.Time = r.stamp()
	if at < s.Time {
		s.Time, r.late = max(at, 0), true
	}
	r.h.Steps = push(r.h.Steps, s)
	if r.sink != nil {
		r.sink.Step(&s)
	}
	taken := r.taken
	r.done()
	if taken != nil {
		taken(s)
	}
}

// OnStep registers the function that is called with every protocol step after it is recorded (outside the lock).
func (r *Recorder) OnStep(fn func(Step)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = fn
}

// Dump records a replica's dump; Index and Time are set here.
func (r *Recorder) Dump(d Dump) {
	r.mu.Lock()
	d.Index, d.Time = r.stamp()
	r.h.Dumps = push(r.h.Dumps, d)
	if r.sink != nil {
		r.sink.Dump(&d)
	}
	r.done()
}

// Mark records a phase of the run.
func (r *Recorder) Mark(name string, failed bool, detail string) {
	m := Mark{Name: name, Failed: failed, Detail: detail}
	r.mu.Lock()
	m.Index, m.Time = r.stamp()
	r.h.Marks = push(r.h.Marks, m)
	if r.sink != nil {
		r.sink.Mark(&m)
	}
	r.done()
}

// OnEntry registers a function that is called after every entry is recorded (outside the lock): triggers listen here.
func (r *Recorder) OnEntry(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notify = append(r.notify[:len(r.notify):len(r.notify)], fn)
}

// Acked is how many sends to p were acknowledged so far; the zero Partition counts all.
func (r *Recorder) Acked(p Partition) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p == (Partition{}) {
		return r.counts[Send][OK]
	}
	return r.acked[p]
}

// Counts is how many operations completed with each outcome so far.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Counts counts completed operations: [kind][outcome].
type Counts [kinds][4]int64

// History returns what was recorded so far, in order of time; the recorder must not be used after.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late {
		r.h.order()
		r.late = false
	}
	return &r.h
}

// Err is the first error of the sink, nil if none.
func (r *Recorder) Err() error {
	if r.sink == nil {
		return nil
	}
	return r.sink.err()
}
