package edn

import (
	"encoding/json"
	"strings"

	"tidemark/history"
)

// What tidemark's own files have among the nemesis' operations: the run as run.json holds it, the run's phases, what replicas hold at the end.
const (
	nemesisRun  = "tidemark/run"
	nemesisMark = "tidemark/mark"
	nemesisDump = "tidemark/dump"
)

// undoes tells, of the nemesis' operations that undo others without bearing their name, which.
var undoes = map[string]string{"start": "kill", "resume": "pause", "heal": "start-partition"}

// undone is the operation that f undoes, "" if it is none that undoes.
func undone(f string) string {
	if what := undoes[f]; what != "" {
		return what
	}
	if what, stops := strings.CutPrefix(f, "stop-"); stops {
		return "start-" + what
	}
	return ""
}

// nemesis takes in an operation of the nemesis. Both its invocation and its completion are :info: the first of an :f asks for it, the second
// tells that it is done. One with a :tidemark/phase is a fault's phase as it was recorded.
func (b *builder) nemesis(e *entry) error {
	switch e.f {
	case nemesisRun:
		return b.readRun(e)
	case nemesisDump:
		return b.readDump(e)
	case nemesisMark:
		name := ""
		if e.value >= 0 {
			name = b.p.name(e.value)
		}
		b.h.Marks = append(b.h.Marks, history.Mark{Index: b.index(0), Time: e.at, Name: name, Failed: e.own.failed, Detail: e.own.detail})
		return nil
	}
	if e.own.phase != "" {
		b.fault(e, int(e.own.number), history.FaultPhase(e.own.phase), e.own.kind, e.own.line, e.own.detail)
		return nil
	}
	line := ":" + e.f
	if e.value >= 0 && b.p.forms[e.value].kind != null {
		line += " " + b.p.written(e.value)
	}
	const asked = "asked " // before the names of what is under way; what is in force stands under its name alone
	number, underway := b.faults[asked+e.f]
	was, inForce := b.faults[undone(e.f)]
	undoing := undone(e.f) != "" && inForce
	switch {
	case !underway && undoing:
		b.faults[asked+e.f] = was
	case !underway:
		b.faults[asked+e.f] = b.nfaults
		b.fault(e, b.nfaults, history.FaultRequested, e.f, line, "")
		b.nfaults++
	default:
		delete(b.faults, asked+e.f)
		switch {
		case e.err != "":
			b.fault(e, number, history.FaultFailed, e.f, line, e.err)
		case undoing && was == number:
			delete(b.faults, undone(e.f))
			b.fault(e, number, history.FaultUndone, undone(e.f), line, "")
		default:
			b.faults[e.f] = number
			b.fault(e, number, history.FaultApplied, e.f, line, "")
			b.fault(e, number, history.FaultObserved, e.f, line, "the nemesis says so; no probe looked")
		}
	}
	return nil
}

func (b *builder) fault(e *entry, number int, phase history.FaultPhase, kind, line, detail string) {
	b.h.Faults = append(b.h.Faults, history.FaultEvent{Index: b.index(0), Time: e.at, Fault: number, Phase: phase, Kind: kind, Line: line, Detail: detail})
}

// readRun reads the run of which tidemark wrote the history.
func (b *builder) readRun(e *entry) error {
	if b.entries != 1 {
		return b.p.wrong(0, "found :%s, expected it to be the first operation", nemesisRun)
	}
	if e.value < 0 || b.p.forms[e.value].kind != text {
		return b.p.wrong(max(e.value, 0), "found :%s without a run, expected a string with what run.json holds", nemesisRun)
	}
	dec := json.NewDecoder(strings.NewReader(string(b.p.textOf(e.value))))
	dec.DisallowUnknownFields()
	b.run = history.Run{}
	if err := dec.Decode(&b.run); err != nil {
		return b.p.wrong(e.value, "found a run that is none: %s, expected what run.json holds", short(err.Error()))
	}
	if b.run.Format != 1 {
		return b.p.wrong(e.value, "found a run of format %d, expected 1", b.run.Format)
	}
	b.ours = true
	return nil
}
