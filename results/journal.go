package results

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tidemark/history"
)

// Journal is what a file of a run held when its results were written: history.ndjson.zst, on which the verdict was given, or a broker's log.
type Journal struct {
	Bytes  int64  `json:"bytes"`
	Digest string `json:"sha256"` // of them, hexadecimal
}

// ErrChanged is of a history that is not the one that was judged, and ErrLogChanged of a log that is not the one that lay there then.
var (
	ErrChanged    = errors.New("not the history that was judged")
	ErrLogChanged = errors.New("not the log that the results were written beside")
)

// JournalOf reads a whole journal for what it is told by.
func JournalOf(r io.Reader) (Journal, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	if err != nil {
		return Journal{}, err
	}
	return Journal{n, fmt.Sprintf("%x", sum.Sum(nil))}, nil
}

// Same looks whether a file's journal is the one that was judged. The error, an ErrChanged, says what differs.
func (j Journal) Same(found Journal) error { return j.same(found, ErrChanged) }

func (j Journal) same(found Journal, changed error) error {
	switch {
	case found.Bytes != j.Bytes:
		return fmt.Errorf("%w: it has %d bytes, expected %d as in %s", changed, found.Bytes, j.Bytes, outcomeFile)
	case found.Digest != j.Digest:
		return fmt.Errorf("%w: its sha256 is %.80s, expected %.80s as in %s", changed, found.Digest, j.Digest, outcomeFile)
	}
	return nil
}

// journal reads what the directory's history is told by; nil if there is none.
func (d Dir) journal() (*Journal, error) {
	f, err := history.OpenFile(d.file(historyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	j, err := JournalOf(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return &j, nil
}

// Judged looks whether the directory's history is the one on which an outcome that was read was told. Older builds did not say which that was. The error
// says what differs.
func (d Dir) Judged(o Outcome) error {
	if o.Journal == nil {
		return nil
	}
	found, err := d.journal()
	if err == nil && found != nil {
		err = o.Journal.Same(*found)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.file(historyFile), err)
	}
	return nil
}

// logs reads what the directory's logs are told by, by their names.
func (d Dir) logs() (map[string]Journal, error) {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return nil, err
	}
	all := map[string]Journal{}
	for _, e := range entries {
		if is, _ := filepath.Match("broker-*.log", e.Name()); !is {
			continue
		}
		path := d.file(e.Name())
		f, err := history.OpenFile(path)
		if err != nil {
			return nil, err
		}
		j, err := JournalOf(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		all[e.Name()] = j
	}
	return all, nil
}

// LogsAsWritten looks whether the logs beside an outcome that was read are those that were there when it was told. Older builds did not say which those were. The error
// says of each that differs what does.
func (d Dir) LogsAsWritten(o Outcome) error {
	if o.Logs == nil {
		return nil
	}
	found, err := d.logs()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Logs)) {
		if is, there := found[name]; !there {
			errs = append(errs, fmt.Errorf("%s: %w", d.file(name), fs.ErrNotExist))
		} else if err := o.Logs[name].same(is, ErrLogChanged); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.file(name), err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, told := o.Logs[name]; !told {
			errs = append(errs, fmt.Errorf("%s: %w: %s names no such file", d.file(name), ErrLogChanged, outcomeFile))
		}
	}
	return errors.Join(errs...)
}
