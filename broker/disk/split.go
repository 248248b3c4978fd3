package disk

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Split is main, but for the directory dir, which lies on another: a broker keeps its controller's log on a volume of its own
// (metadata.log.dir). dir is one name, without a slash.
func Split(main, other FS, dir string) FS { return split{main, other, dir} }

type split struct {
	main, other FS
	dir         string
}

// of is the file system that a path lies on.
func (s split) of(path string) FS {
	if path == s.dir || strings.HasPrefix(path, s.dir+"/") {
		return s.other
	}
	return s.main
}

func (s split) Open(path string, create bool) (File, error) { return s.of(path).Open(path, create) }
func (s split) Remove(path string) error                    { return s.of(path).Remove(path) }
func (s split) MkdirAll(path string) error                  { return s.of(path).MkdirAll(path) }
func (s split) ReadDir(path string) ([]string, error)       { return s.of(path).ReadDir(path) }

func (s split) Rename(from, to string) error {
	if s.of(from) != s.of(to) {
		return fmt.Errorf("rename %s to %s: the two lie on different volumes", from, to)
	}
	return s.of(from).Rename(from, to)
}

// SyncDir of the root syncs both: the directory's own entry stands in the other's root.
func (s split) SyncDir(path string) error {
	if path == "" || path == "." {
		return errors.Join(s.main.SyncDir(path), s.other.SyncDir(path))
	}
	return s.of(path).SyncDir(path)
}

// Close releases both, as Close does.
func (s split) Close() error { return errors.Join(Close(s.main), Close(s.other)) }

// Close releases what a file system holds open itself, if anything. Files that are open stay so.
func Close(fsys FS) error {
	if c, ok := fsys.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
