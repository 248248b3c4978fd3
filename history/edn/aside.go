package edn

import (
	"encoding/json"
	"strings"

	"tidemark/history"
)

// What process :tidemark tells in files that tidemark wrote: the run as run.json holds it, the run's phases, those of faults, where consumers
// moved themselves, and what replicas hold at the end.
const (
	asideRun   = "tidemark/run"
	asideMark  = "tidemark/mark"
	asideFault = "tidemark/fault"
	asideSeek  = "tidemark/seek"
	asideDump  = "tidemark/dump"
)

// aside takes in an operation of process :tidemark.
func (b *builder) aside(e *entry) error {
	switch e.f {
	case asideRun:
		return b.readRun(e)
	case asideDump:
		return b.readDump(e)
	case asideSeek:
		return b.readSeek(e)
	case asideMark:
		b.h.Marks = append(b.h.Marks, history.Mark{Index: b.index(0), Time: e.at, Name: b.textValue(e), Failed: e.own.failed, Detail: e.own.detail})
		return nil
	case asideFault:
		b.fault(e, int(e.own.number), history.FaultPhase(e.own.phase), e.own.kind, b.textValue(e), e.own.detail)
		return nil
	}
	return b.p.wrong(0, "found :f :%s of process :tidemark, expected :%s, :%s, :%s, :%s or :%s", short(e.f), asideRun, asideMark, asideFault, asideSeek, asideDump)
}

// textValue is the string that is an entry's value, "" if it is none.
func (b *builder) textValue(e *entry) string {
	if e.value < 0 {
		return ""
	}
	return string(b.p.textOf(e.value))
}

// readRun reads the run of which tidemark wrote the history.
func (b *builder) readRun(e *entry) error {
	if b.entries != 1 {
		return b.p.wrong(0, "found :%s, expected it to be the first operation", asideRun)
	}
	if e.value < 0 || b.p.forms[e.value].kind != text {
		return b.p.wrong(max(e.value, 0), "found :%s without a run, expected a string with what run.json holds", asideRun)
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
