package edn

import (
	"encoding/json"
	"strings"

	"tidemark/history"
)

// state writes what an observer saw, as an operation of process :tidemark whose value is its JSON.
func (w *writer) state(s history.ClusterState) error {
	at := s.Time
	s.Index, s.Time = 0, 0
	return w.json(asideState, at, s)
}

// step writes a protocol step likewise.
func (w *writer) step(s history.Step) error {
	at := s.Time
	s.Index, s.Time = 0, 0
	return w.json(asideStep, at, s)
}

// readState reads what state wrote.
func (b *builder) readState(e *entry) error {
	s := history.ClusterState{}
	if err := b.readJSON(e, &s); err != nil {
		return err
	}
	s.Index, s.Time = b.index(0), e.at
	b.h.States = append(b.h.States, s)
	return nil
}

// readStep reads what step wrote.
func (b *builder) readStep(e *entry) error {
	s := history.Step{}
	if err := b.readJSON(e, &s); err != nil {
		return err
	}
	s.Index, s.Time = b.index(0), e.at
	b.h.Steps = append(b.h.Steps, s)
	return nil
}

// readJSON reads the value of an operation of process :tidemark that is JSON in a string.
func (b *builder) readJSON(e *entry, to any) error {
	if e.value < 0 || b.p.forms[e.value].kind != text {
		return b.p.wrong(max(e.value, 0), "found :%s without a value, expected a string of JSON", short(e.f))
	}
	dec := json.NewDecoder(strings.NewReader(string(b.p.textOf(e.value))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return b.p.wrong(e.value, "found a :%s that is none: %s, expected what tidemark writes", short(e.f), short(err.Error()))
	}
	return nil
}
