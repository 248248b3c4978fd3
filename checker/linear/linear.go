// Package linear is the second judge: it asks porcupine, a general checker of linearizability, whether each partition behaved like a log that
// every client sees at once. It knows nothing of the log checker and shares only the history with it: the log checker compares everything
// with the log as it stands at the end, this one goes forward from an empty log and looks for an order of the operations that explains every
// answer.
//
// The specification (model.go) is a log: an append puts a record at the end, offsets may be left out, a read returns what stands at the
// offsets that it went through. What the clients did not hear of is taken from what they saw (appends.go). A partition is cut into windows
// (windows.go), since porcupine's memory grows with the square of the operations that it is given.
package linear

import (
	"time"

	"github.com/anishathalye/porcupine"

	"tidemark/history"
)

// Question is what the contract promises of a history, as far as the specification depends on it.
type Question struct {
	// Durable says that acknowledged writes stay. Without it an acknowledged write counts only if somebody saw it at its offset.
	Durable bool
	// Dense says that brokers remove no old records unasked. Without it an answer may leave some out.
	Dense bool
	// Repeats tells the sends whose value a retry may have put into the log more than once; nil if there are none.
	Repeats func(*history.Op) bool
}

// Budget bounds the search.
type Budget struct {
	// Steps of the model over the whole history. They are counted, not timed, so that an outcome repeats. A valid history takes some five for
	// each of its operations.
	Steps int64
	// Window bounds the time for one window, 0 for no bound. It is there for what steps do not measure, and generous.
	Window time.Duration
}

// WindowSteps bounds the steps in one window, and so memory: porcupine keeps some 300 bytes for each until the window is judged.
const WindowSteps = 2_000_000

// Answer is what porcupine says of a history.
type Answer struct {
	Windows  int       // windows that the history was cut into
	Objects  []Stretch // windows that no order explains: at most one a partition, whose further windows are not looked at
	Unjudged int       // windows without an answer
	Unknown  []Stretch // the first of them in each partition
}

// Stretch is a window of a partition.
type Stretch struct {
	Partition history.Partition `json:"partition"`
	From      int64             `json:"from"` // the journal's index at which it begins
	To        int64             `json:"to"`   // and the first beyond it
	Offset    history.Offset    `json:"offset"`
	End       history.Offset    `json:"end"` // the offset after its last append
	// Ops are operations of it in order of invocation, cut after stretchOps: those that are not in the order that porcupine came furthest with, where
	// it objects.
	Ops   []int64 `json:"ops"`
	Count int     `json:"count"`
}

// stretchOps bounds how many operations a stretch names.
const stretchOps = 32

// Judge asks porcupine about every partition of a history, window by window.
func Judge(h *history.History, q Question, b Budget) Answer { return judge(h, q, b, usual) }

func judge(h *history.History, q Question, b Budget, size sizes) Answer {
	var out Answer
	for _, p := range gather(h, q) {
		windows := p.windows(size)
		out.Windows += len(windows)
		var base []*appended
		for i, w := range windows {
			if b.Steps <= 0 {
				out.skip(p, windows[i:])
				break
			}
			m := newModel(base, w, b)
			given := m.left.Load()
			verdict := porcupine.CheckOperationsTimeout(m.porcupine(), w.operations(false), b.Window)
			left := m.left.Load()
			b.Steps -= given - left
			if verdict == porcupine.Unknown || left <= 0 {
				out.skip(p, windows[i:])
				break
			}
			if verdict == porcupine.Illegal {
				out.Objects = append(out.Objects, w.stuck(newModel(base, w, b), p.name, b.Window))
				break
			}
			base = append(base, w.appends...)
		}
	}
	return out
}

// skip enters windows that were not judged.
func (a *Answer) skip(p *partition, windows []*window) {
	a.Unjudged += len(windows)
	a.Unknown = append(a.Unknown, windows[0].stretch(p.name))
}
