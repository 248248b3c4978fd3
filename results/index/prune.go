package index

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/results"
)

// Pruned is what pruning did, or would do.
type Pruned struct {
	Removed []string // names of runs, in the order in which they went
	Kept    []string // what lies beside the runs and is none that may go, each a name and the reason
}

// Prune removes the runs that a retention does not keep; with dry it only tells of them. What goes is a directory that Create of package results
// made, under the name that it gave, with no file in it but those that this program writes. All else stays, whatever the bounds, and is told of. The pages
// that led to what went are written anew.
func Prune(root string, r Retention, now time.Time, dry bool) (Pruned, error) {
	x, err := Read(root, now)
	if err != nil {
		return Pruned{}, err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return Pruned{}, err
	}
	defer dir.Close() //nolint:errcheck // every removal was looked at
	var p Pruned
	for _, what := range x.Unread {
		if link, ok := strings.CutPrefix(what, runsDir+"/"); ok {
			p.Kept = append(p.Kept, link)
		}
	}
	var runs []Kept
	for i := range x.Runs {
		run := &x.Runs[i]
		if _, err := removable(dir, run.Name); err != nil {
			p.Kept = append(p.Kept, fmt.Sprintf("%s: %s", run.Name, clip(err.Error(), textMax)))
			continue
		}
		runs = append(runs, run.kept(now))
	}
	for _, name := range r.Removed(runs, now) {
		if !dry {
			if err := remove(dir, name); err != nil {
				return p, err
			}
		}
		p.Removed = append(p.Removed, name)
	}
	if dry || len(p.Removed) == 0 {
		return p, nil
	}
	return p, renew(root, now)
}

// renew writes the pages of the index and of the campaigns anew, if there are campaigns: none leads to a run that is gone.
func renew(root string, now time.Time) error {
	x, err := Read(root, now)
	if err != nil || len(x.Campaigns) == 0 {
		return err
	}
	return x.WritePages(root)
}

// busyFor is how long after its start a run without a verdict may still be under way.
const busyFor = 12 * time.Hour

// kept is a run as retention sees it.
func (r *Run) kept(now time.Time) Kept {
	begun := r.Status == "" || r.UnderWay
	busy := begun && now.Sub(r.Started) < busyFor
	killed := begun && !busy && !r.Damaged
	return Kept{
		Name: r.Name, Started: r.Started, Bytes: r.Bytes, Signature: r.Signature, Busy: busy, Killed: killed,
		Failing: r.Status != checker.Valid && r.Status != checker.Vacuous && !killed,
	}
}

// ownFile matches the files that this program writes into a run's directory, and what is left of one of them whose writer was killed.
var ownFile = regexp.MustCompile(`^(run\.json|plan\.txt|history\.ndjson\.zst|broker-[0-9]+\.log|results\.json|report\.html|porcupine\.html|trace\.hashes|shrink\.json)$|` +
	`^\.(run\.json|plan\.txt|broker-[0-9]+\.log|results\.json|report\.html|porcupine\.html|trace\.hashes|shrink\.json)\.[0-9]+$`)

// removable lists the files of a run's directory, run.json last. The error says why it is none that may be removed.
func removable(root *os.Root, name string) ([]string, error) {
	dir := path.Join(runsDir, name)
	text, err := readFile(root, path.Join(dir, runFile), runBytesMax)
	if err != nil {
		return nil, fmt.Errorf("no run of this program: %s: %w", runFile, err)
	}
	run, err := results.DecodeRun(text)
	if err != nil {
		return nil, fmt.Errorf("no run of this program: %s: %w", runFile, err)
	}
	if err := results.CheckName(name, run); err != nil {
		return nil, fmt.Errorf("no run of this program: %w", err)
	}
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	entries, err := f.ReadDir(filesMax)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) == filesMax {
		return nil, fmt.Errorf("holds at least %d files, expected fewer", filesMax)
	}
	var files []string
	for _, e := range entries {
		switch {
		case !e.Type().IsRegular():
			return nil, fmt.Errorf("holds %q, which is %v, expected a file", e.Name(), e.Type())
		case !ownFile.MatchString(e.Name()):
			return nil, fmt.Errorf("holds %q, which this program did not write there", e.Name())
		}
		if e.Name() != runFile {
			files = append(files, e.Name())
		}
	}
	slices.Sort(files)
	return append(files, runFile), nil
}

// remove removes a run, file by file: what came into its directory meanwhile stays, and so does the directory then. As run.json goes last, what an
// interruption leaves is a run still, and goes the next time.
func remove(root *os.Root, name string) error {
	files, err := removable(root, name)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(runsDir, name), err)
	}
	for _, file := range files {
		if err := root.Remove(path.Join(runsDir, name, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return root.Remove(path.Join(runsDir, name))
}
