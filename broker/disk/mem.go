package disk

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Mem is an empty file system in memory, for unit tests: nothing is ever lost, and syncs do nothing.
func Mem() FS { return &memFS{files: map[string]*memData{}, dirs: map[string]bool{".": true}} }

type memFS struct {
	files map[string]*memData
	dirs  map[string]bool
}

type memData struct{ b []byte }

var (
	errIsDir    = errors.New("is a directory")
	errNotDir   = errors.New("not a directory")
	errNotEmpty = errors.New("directory not empty")
)

func (m *memFS) Open(name string, create bool) (File, error) {
	name, err := checkPath("open", name)
	if err != nil {
		return nil, err
	}
	if m.dirs[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errIsDir}
	}
	d := m.files[name]
	if d == nil {
		if !create || !m.dirs[path.Dir(name)] {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		d = &memData{}
		m.files[name] = d
	}
	return &memFile{data: d}, nil
}

func (m *memFS) Remove(name string) error {
	name, err := checkPath("remove", name)
	if err != nil {
		return err
	}
	switch {
	case m.files[name] != nil:
		delete(m.files, name)
	case name == ".":
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	case m.dirs[name]:
		if len(m.list(name)) > 0 {
			return &fs.PathError{Op: "remove", Path: name, Err: errNotEmpty}
		}
		delete(m.dirs, name)
	default:
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

func (m *memFS) Rename(from, to string) error {
	from, err := checkPath("rename", from)
	if err != nil {
		return err
	}
	to, err = checkPath("rename", to)
	if err != nil {
		return err
	}
	d := m.files[from]
	if d == nil || !m.dirs[path.Dir(to)] {
		return &fs.PathError{Op: "rename", Path: from + " to " + to, Err: fs.ErrNotExist}
	}
	if m.dirs[to] {
		return &fs.PathError{Op: "rename", Path: to, Err: errIsDir}
	}
	delete(m.files, from)
	m.files[to] = d
	return nil
}

func (m *memFS) ReadDir(name string) ([]string, error) {
	name, err := checkPath("readdir", name)
	if err != nil {
		return nil, err
	}
	if err := m.needDir("readdir", name); err != nil {
		return nil, err
	}
	return m.list(name), nil
}

func (m *memFS) list(dir string) []string {
	var names []string
	for f := range m.files {
		if path.Dir(f) == dir {
			names = append(names, path.Base(f))
		}
	}
	for d := range m.dirs {
		if d != "." && path.Dir(d) == dir {
			names = append(names, path.Base(d)+"/")
		}
	}
	slices.Sort(names)
	return names
}

func (m *memFS) needDir(op, name string) error {
	switch {
	case m.files[name] != nil:
		return &fs.PathError{Op: op, Path: name, Err: errNotDir}
	case !m.dirs[name]:
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

func (m *memFS) MkdirAll(name string) error {
	name, err := checkPath("mkdir", name)
	if err != nil {
		return err
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		p := strings.Join(parts[:i+1], "/")
		if m.files[p] != nil {
			return &fs.PathError{Op: "mkdir", Path: p, Err: errNotDir}
		}
		m.dirs[p] = true
	}
	return nil
}

func (m *memFS) SyncDir(name string) error {
	name, err := checkPath("syncdir", name)
	if err != nil {
		return err
	}
	return m.needDir("syncdir", name)
}

// memFile is one open handle; like a POSIX file it outlives its name.
type memFile struct {
	data   *memData
	closed bool
}

func (f *memFile) check(op string, n int64) error {
	switch {
	case f.closed:
		return &fs.PathError{Op: op, Path: "file in memory", Err: fs.ErrClosed}
	case n < 0:
		return &fs.PathError{Op: op, Path: "file in memory", Err: fs.ErrInvalid}
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check("read", off); err != nil {
		return 0, err
	}
	n := copy(p, f.data.b[min(off, int64(len(f.data.b))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.check("write", off); err != nil {
		return 0, err
	}
	if end := off + int64(len(p)); len(p) > 0 && end > int64(len(f.data.b)) {
		f.data.resize(end)
	}
	return copy(f.data.b[min(off, int64(len(f.data.b))):], p), nil
}

func (d *memData) resize(size int64) {
	old := int64(len(d.b))
	d.b = slices.Grow(d.b, int(max(0, size-old)))[:size]
	if size > old {
		clear(d.b[old:])
	}
}

func (f *memFile) Truncate(size int64) error {
	if err := f.check("truncate", size); err != nil {
		return err
	}
	f.data.resize(size)
	return nil
}

func (f *memFile) Size() (int64, error) {
	if err := f.check("size", 0); err != nil {
		return 0, err
	}
	return int64(len(f.data.b)), nil
}

func (f *memFile) Sync() error { return f.check("sync", 0) }

func (f *memFile) Close() error {
	if err := f.check("close", 0); err != nil {
		return err
	}
	f.closed = true
	return nil
}
