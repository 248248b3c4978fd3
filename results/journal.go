package results

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tidemark/history"
)

// Journal is which file a verdict was given on: what history.ndjson.zst held then.
type Journal struct {
	Bytes  int64  `json:"bytes"`
	Digest string `json:"sha256"` // of them, hexadecimal
}

// ErrChanged is of a history that is not the one that was judged.
var ErrChanged = errors.New("not the history that was judged")

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
func (j Journal) Same(found Journal) error {
	switch {
	case found.Bytes != j.Bytes:
		return fmt.Errorf("%w: it has %d bytes, expected %d as in %s", ErrChanged, found.Bytes, j.Bytes, outcomeFile)
	case found.Digest != j.Digest:
		return fmt.Errorf("%w: its sha256 is %.80s, expected %.80s as in %s", ErrChanged, found.Digest, j.Digest, outcomeFile)
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
