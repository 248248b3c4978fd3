package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"tidemark/broker/disk"
)

// errReadOnly answers every attempt to change a broker's files from outside the broker.
var errReadOnly = errors.New("these files are only read")

// readOnly is a broker's directory as disk.FS that changes nothing: the sidecar's mount would not let it.
func readOnly(root string) (disk.FS, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("agent: data directory: %w", err)
	}
	return readFS{r}, nil
}

type readFS struct{ root *os.Root }

func (r readFS) Open(path string, create bool) (disk.File, error) {
	if create {
		return nil, &fs.PathError{Op: "create", Path: path, Err: errReadOnly}
	}
	f, err := r.root.Open(path)
	if err != nil {
		return nil, err
	}
	return readFile{f}, nil
}

func (r readFS) ReadDir(path string) ([]string, error) {
	if path == "" {
		path = "."
	}
	d, err := r.root.Open(path)
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	if err := errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
		if e.IsDir() {
			names[i] += "/"
		}
	}
	slices.Sort(names)
	return names, nil
}

func (readFS) Remove(string) error         { return errReadOnly }
func (readFS) Rename(string, string) error { return errReadOnly }
func (readFS) MkdirAll(string) error       { return errReadOnly }
func (readFS) SyncDir(string) error        { return errReadOnly }

type readFile struct{ *os.File }

func (readFile) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }
func (readFile) Truncate(int64) error               { return errReadOnly }
func (readFile) Sync() error                        { return errReadOnly }

func (f readFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
