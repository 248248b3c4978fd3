package index

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// Run is a run directory, as the index tells of it.
type Run struct {
	Name      string         `json:"name"`
	Started   time.Time      `json:"started"`
	Seed      uint64         `json:"seed,string"`
	World     string         `json:"world"`
	Target    string         `json:"target,omitempty"`
	Bug       string         `json:"bug,omitempty"`    // the known bug that was on
	Status    checker.Status `json:"status,omitempty"` // "" of one that has no verdict
	Reason    string         `json:"reason"`           // of the verdict, or why there is none
	Signature string         `json:"signature,omitempty"`
	Replay    string         `json:"replay,omitempty"`
	Report    bool           `json:"report"`  // there is a page
	Picture   bool           `json:"picture"` // and the second judge's
	Bytes     int64          `json:"bytes"`   // of all files

	described bool // there is a run.json that could be read
}

// The files of a run directory that the index reads or serves, see the package results.
const (
	runFile     = "run.json"
	outcomeFile = "results.json"
	reportFile  = "report.html"
	pictureFile = "porcupine.html"

	runBytesMax     = 8 << 20
	outcomeBytesMax = 64 << 20
	filesMax        = 500 // of a run directory
)

// readRun reads what the index tells of a run. It is lenient: a run of another format, or without a verdict, is listed as what it is.
func readRun(root *os.Root, name string) Run {
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
	r.described = true
	r.Started, r.Seed, r.World, r.Target, r.Bug = run.Started, run.Seed, clip(run.World, nameMax), clip(run.Target, nameMax), clip(run.Bug, nameMax)
	var outcome struct {
		Replay  string `json:"replay"`
		Verdict struct {
			Status   checker.Status `json:"status"`
			Reason   string         `json:"reason"`
			Findings []struct {
				Signature string `json:"signature"`
			} `json:"findings"`
		} `json:"verdict"`
	}
	err := readJSON(root, path.Join(dir, outcomeFile), outcomeBytesMax, &outcome)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Reason = "no verdict: the run is under way, or was interrupted"
	case err != nil:
		r.Reason = "no verdict: " + clip(err.Error(), nameMax)
	default:
		r.Status, r.Reason, r.Replay = outcome.Verdict.Status, clip(outcome.Verdict.Reason, textMax), clip(outcome.Replay, textMax)
		if r.Status == checker.Invalid && len(outcome.Verdict.Findings) > 0 {
			r.Signature = clip(outcome.Verdict.Findings[0].Signature, nameMax)
		}
	}
	return r
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

// busyFor is how long after its start a run without a verdict may still be under way.
const busyFor = 12 * time.Hour

// UnderWay stands in the reason of a run's verdict as long as it has none of its own.
const UnderWay = "it is under way"

// kept is the runs as retention sees them. Whatever else lies beside them is not its business.
func (x *Index) kept(now time.Time) (out []Kept) {
	for _, r := range x.Runs {
		if !r.described {
			continue
		}
		begun := r.Status == "" || r.Status == checker.Unknown && strings.Contains(r.Reason, UnderWay)
		out = append(out, Kept{
			Name: r.Name, Started: r.Started, Bytes: r.Bytes, Signature: r.Signature,
			Failing: r.Status != checker.Valid && r.Status != checker.Vacuous,
			Busy:    begun && now.Sub(r.Started) < busyFor,
		})
	}
	return out
}
