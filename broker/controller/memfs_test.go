package controller

import (
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tidemark/broker/disk"
)

// memFS is a disk in memory that knows what would outlive a power failure.
type memFS struct {
	files map[string]*memFile
}

type memFile struct {
	data, synced []byte
	named        bool // its name outlives a power failure: the directory was synced
}

func newMemFS() *memFS { return &memFS{files: map[string]*memFile{}} }

// powerFail forgets everything that was not synced, but for the first keep bytes after it.
func (d *memFS) powerFail(keep int) {
	for name, f := range d.files {
		if !f.named {
			delete(d.files, name)
			continue
		}
		if len(f.data) > len(f.synced) {
			end := min(len(f.data), len(f.synced)+keep)
			f.data = slices.Clone(f.data[:end])
		}
		f.synced = slices.Clone(f.data)
	}
}

func (d *memFS) Open(path string, create bool) (disk.File, error) {
	f := d.files[path]
	if f == nil {
		if !create {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		f = &memFile{}
		d.files[path] = f
	}
	return f, nil
}

func (d *memFS) Remove(path string) error { delete(d.files, path); return nil }
func (d *memFS) Rename(from, to string) error {
	d.files[to] = d.files[from]
	delete(d.files, from)
	return nil
}
func (d *memFS) MkdirAll(string) error                     { return nil }
func (f *memFile) Size() (int64, error)                    { return int64(len(f.data)), nil }
func (f *memFile) Sync() error                             { f.synced = slices.Clone(f.data); return nil }
func (f *memFile) Close() error                            { return nil }
func (f *memFile) Truncate(n int64) error                  { f.data = f.data[:n]; return nil }
func (f *memFile) ReadAt(p []byte, off int64) (int, error) { return copy(p, f.data[off:]), nil }

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if grow := int(off) + len(p) - len(f.data); grow > 0 {
		f.data = append(f.data, make([]byte, grow)...)
	}
	return copy(f.data[off:], p), nil
}

func (d *memFS) SyncDir(dir string) error {
	for name, f := range d.files {
		if strings.HasPrefix(name, dir+"/") {
			f.named = true
		}
	}
	return nil
}

func (d *memFS) ReadDir(dir string) ([]string, error) {
	var names []string
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		if name, ok := strings.CutPrefix(path, dir+"/"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// flush carries out a flush; what a closed file had is synced by its path.
func (d *memFS) flush(f disk.Flush) error {
	for _, step := range f.Steps {
		if err := disk.Run(d, step); err != nil {
			return err
		}
	}
	return nil
}
