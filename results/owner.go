package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tidemark/history"
	"tidemark/history/plain"
)

// ErrAnotherRun is of files that lie beside each other and are of two runs.
var ErrAnotherRun = errors.New("of another run")

// valueMax bounds a value that an error names, in characters.
const valueMax = 120

// SameRun looks whether two runs are one: what was to be carried out, and when it was, whatever program did so. The error, an ErrAnotherRun, names what
// differs first, the seed before all else, with both values.
func SameRun(found, expected history.Run) error {
	fields := func(run history.Run) (out map[string]json.RawMessage) {
		run.Started, run.Tool, run.Build = run.Started.UTC(), "", ""
		text, err := json.Marshal(run)
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil {
			return nil // it was read as JSON
		}
		return out
	}
	f, e := fields(found), fields(expected)
	names := slices.Sorted(maps.Keys(f))
	for name := range e {
		if _, there := f[name]; !there {
			names = append(names, name)
		}
	}
	for _, name := range append([]string{"seed", "started"}, names...) {
		if string(f[name]) != string(e[name]) {
			return fmt.Errorf("%w: its %s is %s, expected %s", ErrAnotherRun, name, value(f[name]), value(e[name]))
		}
	}
	return nil
}

func value(text json.RawMessage) string {
	if len(text) == 0 {
		return "not set"
	}
	return plain.Line(clip(string(text), valueMax))
}

// OwnHistory looks whether a journal is the history of a run. One that does not say whose it is, as those of older builds, is not refused.
func OwnHistory(journal io.Reader, run history.Run) error {
	found, err := history.ReadJournalRun(journal)
	if err != nil || found == nil {
		return err
	}
	if err := SameRun(*found, run); err != nil {
		return fmt.Errorf("%w as in %s", err, runFile)
	}
	return nil
}

// ownHistory looks whether the directory's history is that of its run.
func (d Dir) ownHistory() error {
	f, err := history.OpenFile(d.file(historyFile))
	if err != nil {
		return fmt.Errorf("read the run's history: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	_, run, err := Open(d.Path)
	if err != nil {
		return err
	}
	if err := OwnHistory(f, run); err != nil {
		return fmt.Errorf("%s: %w", d.file(historyFile), err)
	}
	return nil
}
