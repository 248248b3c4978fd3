package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results"
)

// Run is a run directory, as the index tells of it.
type Run struct {
	Name      string         `json:"name"`
	Started   time.Time      `json:"started"`
	Seed      uint64         `json:"seed,string"`
	World     string         `json:"world"`
	Target    string         `json:"target,omitempty"`
	Bug       string         `json:"bug,omitempty"`      // the known bug that was on
	Status    checker.Status `json:"status,omitempty"`   // "" of one that has no verdict
	Reason    string         `json:"reason"`             // of the verdict, or why there is none
	UnderWay  bool           `json:"underWay,omitempty"` // it has begun and not yet told how it ended
	Damaged   bool           `json:"damaged,omitempty"`  // its files do not fit together, or are of another version: Reason says what
	Signature string         `json:"signature,omitempty"`
	Replay    string         `json:"replay,omitempty"`
	Report    bool           `json:"report"`  // there is a page
	Picture   bool           `json:"picture"` // and the second judge's
	Bytes     int64          `json:"bytes"`   // of all files
}

// Damaged lists the runs whose files do not fit together, or are not to be believed, with the reason of each.
func (x *Index) Damaged() (out []string) {
	for i := range x.Runs {
		if r := &x.Runs[i]; r.Damaged {
			out = append(out, path.Join(runsDir, r.Name)+": "+r.Reason)
		}
	}
	return out
}

// The files of a run directory that the index reads or serves, see the package results.
const (
	runFile     = "run.json"
	planFile    = "plan.txt"
	historyFile = "history.ndjson.zst"
	outcomeFile = "results.json"
	reportFile  = "report.html"
	pictureFile = "porcupine.html"

	runBytesMax     = 8 << 20
	outcomeBytesMax = 64 << 20
	filesMax        = 500 // of a run directory
)

// readRun reads what the index tells of a run. It is lenient: a run of another format, or without a verdict, is listed as what it is.
func readRun(root *os.Root, name string, seen *digests) Run {
	dir := path.Join(runsDir, name)
	r := Run{Name: name}
	r.Started, _ = startOf(name) // as good as nothing if the name tells nothing
	for _, f := range filesOf(root, dir) {
		r.Bytes += f.Size()
		r.Report = r.Report || f.Name() == reportFile
		r.Picture = r.Picture || f.Name() == pictureFile
	}
	var run history.Run
	if err := readJSON(root, path.Join(dir, runFile), runBytesMax, &run); err != nil {
		r.Reason = "no run: " + clip(err.Error(), nameMax)
		return r
	}
	r.Started, r.Seed, r.World, r.Target, r.Bug = run.Started, run.Seed, clip(run.World, nameMax), clip(run.Target, nameMax), clip(run.Bug, nameMax)
	o, err := readOutcome(root, name, seen)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Reason = "no verdict: the run is under way, or was interrupted"
	case err != nil:
		r.Reason, r.Damaged = "damaged: "+clip(err.Error(), nameMax), true
	default:
		r.Status, r.Reason, r.UnderWay, r.Replay = o.Verdict.Status, clip(o.Verdict.Reason, textMax), o.UnderWay, clip(o.Replay, textMax)
		if text, err := readFile(root, path.Join(dir, planFile), runBytesMax); err == nil {
			if err := results.OwnPlan(text, o.Run); err != nil {
				r.Reason += " (" + planFile + " is " + clip(err.Error(), nameMax) + ")"
			}
		}
		if i := slices.IndexFunc(o.Verdict.Findings, func(f checker.Finding) bool { return f.Severity == checker.Violation }); i >= 0 {
			r.Signature = clip(o.Verdict.Findings[i].Signature, nameMax)
		}
	}
	return r
}

// readOutcome reads a run's results as package results does: what does not fit together has an error that says what does not.
func readOutcome(root *os.Root, name string, seen *digests) (results.Outcome, error) {
	dir := path.Join(runsDir, name)
	text, err := readFile(root, path.Join(dir, runFile), runBytesMax)
	if err != nil {
		return results.Outcome{}, fmt.Errorf("%s: %w", runFile, err)
	}
	run, err := results.DecodeRun(text)
	if err != nil {
		return results.Outcome{}, fmt.Errorf("%s: %w", runFile, err)
	}
	if seed := seedOf(name); seed != "" && seed != strconv.FormatUint(run.Seed, 10) {
		return results.Outcome{}, fmt.Errorf("%s: seed is %d, expected %s as in the directory's name", runFile, run.Seed, seed)
	}
	if text, err = readFile(root, path.Join(dir, outcomeFile), outcomeBytesMax); err != nil {
		return results.Outcome{}, fmt.Errorf("%s: %w", outcomeFile, err)
	}
	o, err := results.DecodeOutcome(text, run)
	if err != nil {
		return o, fmt.Errorf("%s: %w", outcomeFile, err)
	}
	if info, err := root.Stat(path.Join(dir, historyFile)); o.Verdict.Status == checker.Valid && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0) {
		return o, fmt.Errorf("%s: is gone or empty, expected the history that makes the run %s", historyFile, checker.Valid)
	}
	if err := owned(root, path.Join(dir, historyFile), run, results.OwnHistory); err != nil {
		return o, fmt.Errorf("%s: %w", historyFile, err)
	}
	if err := judged(root, path.Join(dir, historyFile), o, seen); err != nil {
		return o, fmt.Errorf("%s: %w", historyFile, err)
	}
	if err := owned(root, path.Join(dir, reportFile), run, results.OwnReport); err != nil {
		return o, fmt.Errorf("%s: %w", reportFile, err)
	}
	return o, nil
}

// owned looks whether a file is that of a run. One that is not there is nobody else's.
func owned(root *os.Root, name string, run history.Run, own func(io.Reader, history.Run) error) error {
	info, err := root.Stat(name) // before it is opened: a pipe would wait for whoever writes to it
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("is %v, expected a file", info.Mode().Type())
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	return own(f, run)
}

// runDir matches the name that a run's directory is given, see results.Create.
var runDir = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-([0-9]{1,20})(-[0-9]+)?$`)

// seedOf is the seed in a directory's name; "" if it was given another.
func seedOf(name string) string {
	if parts := runDir.FindStringSubmatch(name); parts != nil {
		return parts[1]
	}
	return ""
}

// startOf is when a run started, as its directory's name says.
func startOf(name string) (time.Time, error) {
	const form = "20060102T150405Z"
	return time.Parse(form, name[:min(len(name), len(form))])
}

func readJSON(root *os.Root, name string, limit int64, into any) error {
	text, err := readFile(root, name, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// filesOf lists the regular files of a directory, at most filesMax.
func filesOf(root *os.Root, dir string) (files []fs.FileInfo) {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	entries, err := f.ReadDir(filesMax)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	return files
}
