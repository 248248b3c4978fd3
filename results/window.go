package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// span is the window of time around a finding.
type span struct {
	finding  int // its index
	from, to time.Duration
}

func (s span) holds(t time.Duration) bool { return s.from <= t && t <= s.to }

// windowView is the window as a table of what happened in it.
type windowView struct {
	Number   int // of the finding
	Index    int
	Class    string
	From, To string
	Events   []eventView
	Left     int
	Drawn    bool // there is a partition to draw
	Log      windowLog
}

// eventView is one thing that happened in a window. Kind is step, fault or operation.
type eventView struct {
	At, Seconds, Kind, Text string
	Key                     bool // it touches the finding's offset, or proves the finding
}

// windowData is the window for the page's script.
type windowData struct {
	From      seconds  `json:"from"`
	To        seconds  `json:"to"`
	Partition int      `json:"partition"` // index of the timeline, -1 if none
	Moments   []moment `json:"moments"`
}

// moment is a line across a window's charts.
type moment struct {
	At   seconds `json:"at"`
	Name string  `json:"name"`
}

const windowEventsMax = 120

// beforeFailure is how much of the time before a phase failed is shown.
const beforeFailure = 15 * time.Second

// windowsOf picks the findings whose time is drawn: the first violations, or the first findings of a run without any. What no message tells of,
// as that brokers do not come back, has its time where a phase of the run failed.
func windowsOf(findings []checker.Finding, marks []history.Mark, end time.Duration) []span {
	violated := slices.ContainsFunc(findings, func(f checker.Finding) bool { return f.Severity == checker.Violation })
	var spans []span
	for i, f := range findings[:min(len(findings), findingsMax)] {
		if violated && f.Severity != checker.Violation || len(spans) == windowsMax {
			continue
		}
		s, ok := spanOf(f, end)
		if n := slices.IndexFunc(marks, func(m history.Mark) bool { return m.Failed }); !ok && f.Offset < 0 && n >= 0 {
			s, ok = span{from: max(marks[n].Time-beforeFailure, 0), to: min(marks[n].Time+time.Second, end)}, true
		}
		if ok {
			s.finding = i
			spans = append(spans, s)
		}
	}
	return spans
}

// spanOf reaches from the acknowledgement to the last removal or step that the witness tells of, with a margin of an
// eighth, and at least half a second, on either side.
func spanOf(f checker.Finding, end time.Duration) (span, bool) {
	s := span{from: math.MaxInt64, to: -1}
	note := func(t time.Duration) {
		s.from, s.to = min(s.from, t), max(s.to, t)
	}
	if f.Witness.Acked > 0 {
		note(time.Duration(f.Witness.Acked))
	}
	for _, r := range f.Witness.RemovedBy {
		if r.Time > 0 {
			note(time.Duration(r.Time))
		}
	}
	for _, step := range f.Witness.Steps {
		note(step.Time)
	}
	if s.to < 0 {
		return span{}, false
	}
	margin := max((s.to-s.from)/8, 500*time.Millisecond)
	return span{from: max(s.from-margin, 0), to: min(s.to+margin, end)}, true
}

func windowViews(spans []span, h *history.History, lives []life, findings []checker.Finding, logs []windowLog) []windowView {
	var views []windowView
	for i, s := range spans {
		f := findings[s.finding]
		view := windowView{
			Number: s.finding + 1, Index: i, Class: clip(string(f.Class), 80), From: at(s.from), To: at(s.to), Drawn: f.Partition.Topic != "", Log: logs[i],
		}
		view.Events, view.Left = eventsIn(s, h, lives, f)
		views = append(views, view)
	}
	return views
}

// begins reports whether the fault was in force from this request on, and applied whole only later.
func begins(lives []life, e history.FaultEvent) bool {
	n := slices.IndexFunc(lives, func(l life) bool { return l.fault == e.Fault })
	return n >= 0 && lives[n].struck() && lives[n].late() && lives[n].begun == e.Time
}

// eventsIn lists what happened in a window, in order: the faults, from those that were in force when it begins, the finding's operations, and the steps of
// its partition. Appends and high watermarks move all the time; only those that touch the finding's offset are told.
func eventsIn(s span, h *history.History, lives []life, f checker.Finding) (views []eventView, left int) {
	type event struct {
		at    time.Duration
		index int64
		view  eventView
	}
	var events []event
	for i := range lives {
		if l := &lives[i]; l.struck() && l.begun < s.from && (l.ended() < 0 || l.ended() >= s.from) {
			events = append(events, event{l.begun, 0, eventView{at(l.begun), inSeconds(l.begun), "fault", fmt.Sprintf("fault #%d in force from here on: %s%s", l.fault+1, l.deed(), l.lateWord()), l.named(f)}})
		}
	}
	for _, e := range h.Faults {
		if s.holds(e.Time) && (e.Phase != history.FaultRequested || begins(lives, e)) && e.Phase != history.FaultVerified {
			text := fmt.Sprintf("fault #%d %s: %s", e.Fault+1, clip(string(e.Phase), 30), clip(e.Line, 200))
			if e.Phase == history.FaultRequested {
				text += " (in force from here on)"
			}
			if e.Detail != "" {
				text += " (" + clip(e.Detail, 200) + ")"
			}
			index, key := e.Index, false
			if n := slices.IndexFunc(lives, func(l life) bool { return l.fault == e.Fault }); n >= 0 {
				l := &lives[n]
				key = l.named(f)
				if e.Phase == history.FaultUndone {
					index = l.over(e.Index)
				}
			}
			events = append(events, event{e.Time, index, eventView{at(e.Time), inSeconds(e.Time), "fault", text, key}})
		}
	}
	for _, step := range h.Steps {
		if !s.holds(step.Time) || step.Partition.Topic != "" && step.Partition != f.Partition {
			continue
		}
		touches := f.Offset >= 0 && touchesOffset(step, f.Offset)
		if (step.Kind == history.StepAppend || step.Kind == history.StepHW) && !touches {
			continue
		}
		events = append(events, event{step.Time, step.Index, eventView{at(step.Time), inSeconds(step.Time), "step", stepWord(step), touches}})
	}
	for _, id := range f.Ops[:min(len(f.Ops), witnessOpsMax)] {
		op, ok := opByID(h.Ops, id)
		if !ok {
			continue
		}
		if s.holds(op.Invoke) {
			events = append(events, event{op.Invoke, op.InvokeIndex, eventView{at(op.Invoke), inSeconds(op.Invoke), "operation", invokeWord(op), true}})
		}
		if op.Outcome != history.Pending && s.holds(op.Return) {
			events = append(events, event{op.Return, op.ReturnIndex, eventView{at(op.Return), inSeconds(op.Return), "operation", returnWord(op), true}})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.index, b.index)) })
	for _, e := range events {
		if len(views) < windowEventsMax || e.view.Key && len(views) < 2*windowEventsMax {
			views = append(views, e.view)
		}
	}
	return views, len(events) - len(views)
}

func touchesOffset(s history.Step, o history.Offset) bool {
	switch s.Kind {
	case history.StepAppend, history.StepHW, history.StepTrim:
		return s.From <= o && o < s.To
	case history.StepTruncate, history.StepRecovery:
		return s.To <= o && o < s.From
	default:
		return false
	}
}

// opByID finds an operation. Ids are dense in order of invocation, so it is nearly always at its own index.
func opByID(ops []history.Op, id int64) (history.Op, bool) {
	if id >= 0 && id < int64(len(ops)) && ops[id].ID == id {
		return ops[id], true
	}
	i := slices.IndexFunc(ops, func(op history.Op) bool { return op.ID == id })
	if i < 0 {
		return history.Op{}, false
	}
	return ops[i], true
}

func windowsData(spans []span, lines []timeline, findings []checker.Finding) []windowData {
	out := []windowData{}
	for _, s := range spans {
		f := findings[s.finding]
		w := windowData{
			From: seconds(s.from), To: seconds(s.to), Moments: []moment{},
			Partition: slices.IndexFunc(lines, func(l timeline) bool { return l.partition == f.Partition }),
		}
		if f.Witness.Acked > 0 {
			w.Moments = append(w.Moments, moment{seconds(f.Witness.Acked), "acknowledged"})
		}
		for _, r := range f.Witness.RemovedBy[:min(len(f.Witness.RemovedBy), removalsMax)] {
			if r.Time > 0 {
				w.Moments = append(w.Moments, moment{seconds(r.Time), clip(r.How, 40) + " on " + brokerWord(r.Broker)})
			}
		}
		out = append(out, w)
	}
	return out
}
