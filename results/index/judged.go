package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results"
)

// judged looks whether a history is the one on which the verdict beside it was given. Where an older build did not say which that was, one that makes a run
// valid or vacuous must at least not be seen to lack its end.
func judged(root *os.Root, name string, o results.Outcome, seen *digests) error {
	if o.Journal == nil && o.Verdict.Status != checker.Valid && o.Verdict.Status != checker.Vacuous {
		return nil
	}
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case o.Journal != nil && info.Size() != o.Journal.Bytes: // for which nobody need read it
		return o.Journal.Same(results.Journal{Bytes: info.Size()})
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if o.Journal == nil {
		missing, err := history.SkimJournal(f)
		if err == nil && missing != "" {
			err = fmt.Errorf("is not whole: %s, expected the history that makes the run %s", missing, o.Verdict.Status)
		}
		return err
	}
	found, err := seen.of(f, name, info)
	if err != nil {
		return err
	}
	return o.Journal.Same(found)
}

// digestsMax bounds what is remembered of histories.
const digestsMax = 2 * runsMax

// digests remembers what histories are told by, so that a server reads each once as long as nobody writes to it. nil remembers nothing.
type digests struct {
	mu   sync.Mutex
	seen map[written]results.Journal
}

// written is a file as it was last written.
type written struct {
	name string
	size int64
	at   time.Time
}

func (d *digests) of(f *os.File, name string, info fs.FileInfo) (results.Journal, error) {
	if d == nil {
		return results.JournalOf(f)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := written{name, info.Size(), info.ModTime()}
	if j, known := d.seen[key]; known {
		return j, nil
	}
	j, err := results.JournalOf(f)
	if err != nil {
		return j, err
	}
	if d.seen == nil || len(d.seen) >= digestsMax {
		d.seen = map[written]results.Journal{}
	}
	d.seen[key] = j
	return j, nil
}
