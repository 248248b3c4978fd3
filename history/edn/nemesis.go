package edn

import (
	"strings"

	"tidemark/history"
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
// tells that it is done.
func (b *builder) nemesis(e *entry) error {
	if b.ours {
		return nil // told by process :tidemark, phase by phase
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
