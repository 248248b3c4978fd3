// Package results is what people get of a run: the run directory and the HTML report.
//
// A run directory is runs/<UTC time>-<seed>/ with
//
//	run.json              the run fully expanded, history.Run, its lengths of time in nanoseconds; written before anything starts
//	plan.txt              the nemesis plan as text
//	history.ndjson.zst    the journal: operations, faults, observations, protocol steps, dumps; times in nanoseconds since the run's start
//	broker-N.log          what broker N logged
//	results.json          verdict, witness and hashes, see Outcome
//	report.html           the same to read: one file, offline
//	porcupine.html        only if the second judge objects: its own picture of the first window without an order
package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"tidemark/history"
	"tidemark/history/keys"
)

// The files of a run directory.
const (
	runFile     = "run.json"
	planFile    = "plan.txt"
	historyFile = "history.ndjson.zst"
	outcomeFile = "results.json"
	reportFile  = "report.html"
	pictureFile = "porcupine.html"
)

// runFormat is the version of run.json that this package reads and writes.
const runFormat = 1

// Bounds on what is read into memory, and on how many runs of one seed may start in one second.
const (
	runBytesMax     = 8 << 20
	outcomeBytesMax = 64 << 20
	twinsMax        = 1000
)

// Dir is a run's directory: run.json, history.ndjson.zst, plan.txt, broker-N.log, results.json, report.html.
type Dir struct{ Path string }

// Create makes runs/<UTC time>-<seed>/ under root and writes run.json and plan.txt first. A name that is taken gets a
// suffix: -2, -3 and so on.
func Create(root string, run history.Run) (Dir, error) {
	if run.Format != runFormat {
		return Dir{}, fmt.Errorf("run has format %d, expected %d", run.Format, runFormat)
	}
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return Dir{}, fmt.Errorf("run cannot be written as JSON: %w", err)
	}
	if len(text) >= runBytesMax {
		return Dir{}, fmt.Errorf("%s would have %d bytes, expected fewer than %d: the plan has %d", runFile, len(text), runBytesMax, len(run.Plan))
	}
	d, err := makeUnique(filepath.Join(root, "runs"), nameOf(run))
	if err != nil {
		return Dir{}, err
	}
	if err := d.write(runFile, append(text, '\n')); err != nil {
		return Dir{}, err
	}
	return d, d.write(planFile, []byte(planText(run)))
}

// planText is what plan.txt holds of a run.
func planText(run history.Run) string {
	if run.Plan != "" && !strings.HasSuffix(run.Plan, "\n") {
		return run.Plan + "\n"
	}
	return run.Plan
}

// nameOf is the name of a run's directory, if none has it yet.
func nameOf(run history.Run) string {
	return fmt.Sprintf("%s-%d", run.Started.UTC().Format("20060102T150405Z"), run.Seed)
}

// CheckName looks whether a run's directory has the name that Create gave it. The error says what that would be.
func CheckName(name string, run history.Run) error {
	own := nameOf(run)
	if suffix, found := strings.CutPrefix(name, own+"-"); found {
		if n, err := strconv.Atoi(suffix); err == nil && n >= 2 && n <= twinsMax && strconv.Itoa(n) == suffix {
			return nil
		}
	}
	if name != own {
		return fmt.Errorf("%s is of a run whose directory is named %s, or that with a number behind it", runFile, own)
	}
	return nil
}

func makeUnique(parent, name string) (Dir, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return Dir{}, fmt.Errorf("make the directory of runs: %w", err)
	}
	path := filepath.Join(parent, name)
	for n := 2; ; n++ {
		err := os.Mkdir(path, 0o755)
		if err == nil {
			return Dir{path}, nil
		}
		if !errors.Is(err, fs.ErrExist) || n > twinsMax {
			return Dir{}, fmt.Errorf("make the run directory: %w", err)
		}
		path = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
	}
}

// Open reads what Create wrote. A run.json that is missing, oversized, of another format or with unknown fields is an
// error that names the file and what was expected.
func Open(path string) (Dir, history.Run, error) {
	d := Dir{path}
	text, err := d.read(runFile, runBytesMax)
	if err != nil {
		return Dir{}, history.Run{}, err
	}
	run, err := DecodeRun(text)
	if err != nil {
		return Dir{}, history.Run{}, fmt.Errorf("%s: %w", d.file(runFile), err)
	}
	return d, run, nil
}

// DecodeRun reads what run.json holds.
func DecodeRun(text []byte) (history.Run, error) {
	var run history.Run
	if err := decodeStrict(text, &run); err != nil {
		return history.Run{}, err
	}
	if run.Format != runFormat {
		return history.Run{}, fmt.Errorf("format is %d, expected %d", run.Format, runFormat)
	}
	return run, nil
}

// History reads the directory's journal; truncated says what a cut tail left out.
// One of another run than run.json's is refused, with what differs.
func (d Dir) History() (h *history.History, truncated string, err error) {
	if err := d.ownHistory(); err != nil {
		return nil, "", err
	}
	h, truncated, err = history.ReadJournalFile(d.file(historyFile))
	if err != nil {
		return nil, "", fmt.Errorf("read the run's history: %w", err)
	}
	return h, truncated, nil
}

// OwnPlan looks whether plan.txt, which stands beside run.json for people, is the run's plan still. It may be gone, and it may have been changed or be another
// run's: what is carried out is the plan in run.json. The error says in which line it differs, or why it cannot be read.
func (d Dir) OwnPlan(run history.Run) error {
	f, err := history.OpenFile(d.file(planFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := readBounded(f, runBytesMax)
	if err != nil {
		return err
	}
	if err := OwnPlan(text, run); err != nil {
		return fmt.Errorf("%s: %w", d.file(planFile), err)
	}
	return nil
}

// WriteHistory writes the journal of a run that kept it in memory.
func (d Dir) WriteHistory(h *history.History) error {
	_, run, err := Open(d.Path)
	if err != nil {
		return err
	}
	return history.WriteJournal(d.file(historyFile), &run, h)
}

// HistoryPath is where the journal lies, for a run that writes it as it goes.
func (d Dir) HistoryPath() string { return d.file(historyFile) }

// ReportPath is where the page lies.
func (d Dir) ReportPath() string { return d.file(reportFile) }

// WriteLog writes a broker's log.
func (d Dir) WriteLog(b history.BrokerID, text []byte) error {
	return d.write(logFile(b), text)
}

func logFile(b history.BrokerID) string { return fmt.Sprintf("broker-%d.log", b) }

func (d Dir) file(name string) string { return filepath.Join(d.Path, name) }

// write puts a file in place whole or not at all.
func (d Dir) write(name string, text []byte) error {
	return d.writeTo(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func (d Dir) writeTo(name string, fill func(io.Writer) error) error {
	return d.writeAll([]draft{{name, fill}})
}

// draft is a file that is to be written.
type draft struct {
	name string
	fill func(io.Writer) error
}

// writeAll writes files beside their places, and puts them in place, in their order, only when all of them are whole: a full disk leaves those that were
// there, all of them.
func (d Dir) writeAll(drafts []draft) (err error) {
	var written []string
	defer func() {
		for _, path := range written {
			_ = os.Remove(path) // those that came to no place; the first error is the one to tell
		}
	}()
	for _, w := range drafts {
		f, err := os.CreateTemp(d.Path, "."+w.name+".*")
		if err != nil {
			return fmt.Errorf("write %s: %w", d.file(w.name), err)
		}
		written = append(written, f.Name())
		if err := errors.Join(w.fill(f), f.Chmod(0o644), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", d.file(w.name), err)
		}
	}
	for _, w := range drafts {
		if err := os.Rename(written[0], d.file(w.name)); err != nil {
			return fmt.Errorf("write %s: %w", d.file(w.name), err)
		}
		written = written[1:]
	}
	return nil
}

// read reads a file of fewer than limit bytes.
func (d Dir) read(name string, limit int64) ([]byte, error) {
	f, err := history.OpenFile(d.file(name))
	switch {
	case name == runFile && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		return nil, fmt.Errorf("%s is no run directory: %w", d.Path, err)
	case err != nil:
		return nil, fmt.Errorf("read the run's %s: %w", map[string]string{runFile: "options", outcomeFile: "results"}[name], err)
	}
	defer f.Close() //nolint:errcheck // only read
	return readBounded(f, limit)
}

// readBounded reads a file of fewer than limit bytes. One that is larger costs no memory.
func readBounded(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	var text []byte
	if info.Size() < limit {
		text, err = io.ReadAll(io.LimitReader(f, limit))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if size := max(info.Size(), int64(len(text))); size >= limit {
		return nil, fmt.Errorf("%s: has at least %d bytes, expected fewer than %d", f.Name(), size, limit)
	}
	return text, nil
}

// decodeStrict reads one JSON object: no unknown field, no key twice, nothing behind it.
func decodeStrict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("expected one JSON object of format 1: %.300s", keys.Told(err, "seed")) // which quotes what it found, whole
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("expected the end of the file at byte %d, after the JSON object", dec.InputOffset())
	}
	return keys.Once(text)
}
