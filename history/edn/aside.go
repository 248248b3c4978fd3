package edn

import "tidemark/history"

// What process :tidemark tells in files that tidemark wrote: the run as run.json holds it, which partitions of other topics have which key, the run's phases, those of faults, where consumers
// moved themselves, what clients asked that Jepsen's do not, what an observer saw, protocol steps, and what replicas hold at the end.
const (
	asideRun    = "tidemark/run"
	asideKey    = "tidemark/key"
	asideMark   = "tidemark/mark"
	asideFault  = "tidemark/fault"
	asideSeek   = "tidemark/seek"
	asideAsk    = "tidemark/ask"
	asideAnswer = "tidemark/answer"
	asideState  = "tidemark/state"
	asideStep   = "tidemark/step"
	asideDump   = "tidemark/dump"
)

// aside takes in an operation of process :tidemark.
func (b *builder) aside(e *entry) error {
	switch e.f {
	case asideRun:
		return b.readRun(e)
	case asideKey:
		return b.readKey(e)
	case asideDump:
		return b.readDump(e)
	case asideSeek:
		return b.readSeek(e)
	case asideAsk:
		return b.readAsk(e)
	case asideAnswer:
		return b.readAnswer(e)
	case asideState:
		return b.readState(e)
	case asideStep:
		return b.readStep(e)
	case asideMark:
		b.h.Marks = append(b.h.Marks, history.Mark{Index: b.index(0), Time: e.at, Name: b.textValue(e), Failed: e.own.failed, Detail: e.own.detail})
		return nil
	case asideFault:
		b.fault(e, int(e.own.number), history.FaultPhase(e.own.phase), e.own.kind, b.textValue(e), e.own.detail)
		b.h.Faults[len(b.h.Faults)-1].Targets = e.own.targets
		return nil
	}
	return b.p.wrong(0, "found :f :%s of process :tidemark, expected :tidemark/run, key, mark, fault, seek, ask, answer, state, step or dump", short(e.f))
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
	b.run = history.Run{}
	if err := b.readJSON(e, &b.run); err != nil {
		return err
	}
	if b.run.Format != 1 {
		return b.p.wrong(e.value, "found a run of format %d, expected 1", b.run.Format)
	}
	b.ours = true
	return nil
}
