package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// OS is the real file system under the directory root, which must exist. Neither a path nor a symbolic link leads out of it.
func OS(root string) (FS, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	return osFS{r}, nil
}

type osFS struct{ root *os.Root }

func (o osFS) Close() error { return o.root.Close() }

func (o osFS) Open(path string, create bool) (File, error) {
	path, err := checkPath("open", path)
	if err != nil {
		return nil, err
	}
	flag := os.O_RDWR
	if create {
		flag |= os.O_CREATE
	}
	f, err := o.root.OpenFile(path, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (o osFS) Remove(path string) error {
	path, err := checkPath("remove", path)
	if err != nil {
		return err
	}
	return o.root.Remove(path)
}

func (o osFS) Rename(from, to string) error {
	from, err := checkPath("rename", from)
	if err != nil {
		return err
	}
	to, err = checkPath("rename", to)
	if err != nil {
		return err
	}
	return o.root.Rename(from, to)
}

func (o osFS) ReadDir(path string) ([]string, error) {
	path, err := checkPath("readdir", path)
	if err != nil {
		return nil, err
	}
	d, err := o.root.Open(path)
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

func (o osFS) MkdirAll(path string) error {
	path, err := checkPath("mkdir", path)
	if err != nil {
		return err
	}
	return o.root.MkdirAll(path, 0o755)
}

func (o osFS) SyncDir(path string) error {
	path, err := checkPath("syncdir", path)
	if err != nil {
		return err
	}
	d, err := o.root.Open(path)
	if err != nil {
		return err
	}
	info, err := d.Stat()
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "syncdir", Path: path, Err: errors.New("not a directory")}
	}
	if err == nil {
		err = d.Sync()
	}
	return errors.Join(err, d.Close())
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
