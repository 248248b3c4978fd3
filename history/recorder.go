package history

import "time"

// Recorder takes down what happens, in order, and gives every entry its index. It is safe for concurrent use. Every method
// hands the entry to the sink (if there is one) before it returns, so an invocation is on its way to the kernel before its
// request leaves.
type Recorder struct{}

// NewRecorder returns a recorder that keeps everything in memory and, unless sink is nil, also appends it to sink.
// now reads the run's monotonic clock.
func NewRecorder(now func() time.Duration, sink *JournalWriter) *Recorder { panic("not built") }

// Invoke records an invocation; it sets ID, Invoke, InvokeIndex and clears the rest of the outcome. The returned id completes it.
func (r *Recorder) Invoke(op Op) (id int64) { panic("not built") }

// Complete records the completion of operation id: Outcome, Offset, HW, LogStart, Records, Error, Broker are taken from done.
func (r *Recorder) Complete(id int64, done Op) { panic("not built") }

// Fault records one phase of a fault; Index and Time are set here.
func (r *Recorder) Fault(e FaultEvent) { panic("not built") }

// State records an observation.
func (r *Recorder) State(s ClusterState) { panic("not built") }

// Step records a protocol step.
func (r *Recorder) Step(s Step) { panic("not built") }

// Dump records a replica's dump.
func (r *Recorder) Dump(d Dump) { panic("not built") }

// Mark records a phase of the run.
func (r *Recorder) Mark(name string, failed bool, detail string) { panic("not built") }

// OnEntry registers a function that is called after every entry is recorded (outside the lock): triggers listen here.
func (r *Recorder) OnEntry(fn func()) { panic("not built") }

// Acked is how many sends to p were acknowledged so far; the zero Partition counts all.
func (r *Recorder) Acked(p Partition) int64 { panic("not built") }

// Counts is how many sends and polls completed with each outcome so far.
func (r *Recorder) Counts() Counts { panic("not built") }

// Counts counts completed operations: [kind][outcome].
type Counts [3][4]int64

// History returns what was recorded so far; the recorder must not be used after.
func (r *Recorder) History() *History { panic("not built") }

// Err is the first error of the sink, nil if none.
func (r *Recorder) Err() error { panic("not built") }
