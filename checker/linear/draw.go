package linear

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"tidemark/history"
)

// Bounds on a picture. porcupine writes up to drawnOps orders of up to drawnOps operations into it, each in some 50 bytes.
const (
	drawnOps   = 400
	drawnNotes = 100
)

// Drawable reports whether a window is small enough for a picture.
func (s Stretch) Drawable() bool { return s.Count <= drawnOps }

// Draw writes porcupine's own picture of a window that it objects to, one HTML page that needs nothing else: the operations as bars, a row for
// each client, the orders that it came furthest with, and what was going on: faults, and changes of the partition's leader. Time is warped to
// ranks: what came one after the other is at equal distances. The question must be the one that Judge was asked.
func Draw(w io.Writer, h *history.History, q Question, at Stretch) error {
	if !at.Drawable() {
		return fmt.Errorf("the window of %v from index %d on has %d operations, expected at most %d in a picture", at.Partition, at.From, at.Count, drawnOps)
	}
	for _, p := range gather(h, q) {
		if p.name != at.Partition {
			continue
		}
		var base []*appended
		for _, window := range p.windows(usual) { // those before were judged and have an order
			if window.from == at.From && window.size() == at.Count {
				return window.draw(w, h, p.name, base)
			}
			base = append(base, window.appends...)
		}
	}
	return fmt.Errorf("the history has no window of %v from index %d on with %d operations", at.Partition, at.From, at.Count)
}

// draw draws a window.
func (w *window) draw(to io.Writer, h *history.History, p history.Partition, base []*appended) error {
	for _, full := range []bool{true, false} { // reads with their length leave more orders to try
		m := newModel(base, w, Budget{Steps: WindowSteps})
		ops := w.operations(full)
		w.label(ops)
		verdict, info := porcupine.CheckOperationsVerbose(m.porcupine(), ops, 0)
		if verdict != porcupine.Illegal || m.left.Load() <= 0 {
			continue
		}
		m.left.Store(math.MaxInt64) // the orders that it found are gone through again
		info.AddAnnotations(w.notes(h, p))
		if err := porcupine.Visualize(m.porcupine(), info, to); err != nil {
			return fmt.Errorf("draw the window of %v: %w", p, err)
		}
		return nil
	}
	return fmt.Errorf("porcupine finds an order for the window of %v from index %d to %d, or none within %d steps", p, w.from, w.to, WindowSteps)
}

// label gives each process a row and says of each operation who it was.
func (w *window) label(ops []porcupine.Operation) {
	rows := map[int32]int{}
	for i := range ops {
		var op *history.Op
		switch in := ops[i].Input.(type) {
		case *appended:
			op = in.op
		case *read:
			op = in.op
		}
		row, ok := rows[op.Process]
		if !ok {
			row = len(rows)
			rows[op.Process] = row
		}
		ops[i].ClientId = row
		ops[i].Metadata = fmt.Sprintf("operation %d of process %d, invoked at %.6f s", op.ID, op.Process, op.Invoke.Seconds())
	}
}

// notes tells the faults that were in force in the window and the partition's elections in it, as steps tell them or, where brokers report
// none, as the observer saw them.
func (w *window) notes(h *history.History, p history.Partition) []porcupine.Annotation {
	var out []porcupine.Annotation
	note := func(tag string, from, to int64, text, detail, colour string) {
		if to >= w.from && from < w.to && len(out) < drawnNotes {
			out = append(out, porcupine.Annotation{Tag: tag, Start: max(from, w.from), End: min(to, w.to-1), Description: clip(text),
				Details: markup.Replace(detail), BackgroundColor: colour})
		}
	}
	applied := map[int]int64{}
	fault := func(e *history.FaultEvent, to int64) {
		if from, ok := applied[e.Fault]; ok {
			note("Faults", from, to, e.Line, e.Line, "#f4c7c3")
			delete(applied, e.Fault)
		}
	}
	for i := range h.Faults {
		switch e := &h.Faults[i]; e.Phase {
		case history.FaultApplied:
			applied[e.Fault] = e.Index
		case history.FaultUndone, history.FaultVerified, history.FaultFailed:
			fault(e, e.Index)
		}
	}
	for i := range h.Faults { // what was never undone
		fault(&h.Faults[i], w.to-1)
	}
	elected := func(index int64, leader history.BrokerID, epoch history.Epoch) {
		note("Leader", index, index, fmt.Sprintf("broker %d leads", leader), fmt.Sprintf("broker %d leads in epoch %d", leader, epoch), "#c9daf8")
	}
	stepped := false
	for i := range h.Steps {
		if s := &h.Steps[i]; s.Kind == history.StepElection && s.Partition == p {
			stepped = true
			elected(s.Index, s.Broker, s.Epoch)
		}
	}
	last := history.Epoch(-1)
	for i := 0; i < len(h.States) && !stepped; i++ {
		s := &h.States[i]
		at := slices.IndexFunc(s.Partitions, func(x history.PartitionState) bool { return x.Partition == p })
		if at >= 0 && s.Partitions[at].Epoch != last && s.Partitions[at].Leader != history.NoBroker {
			last = s.Partitions[at].Epoch
			elected(s.Index, s.Partitions[at].Leader, last)
		}
	}
	return out
}
