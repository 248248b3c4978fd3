package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockFile is spared by a wipe. A broker holds it for as long as its process lives, as Kafka's does.
const lockFile = ".lock"

// Wiped is what a wipe has removed.
type Wiped struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// String is in words.
func (w Wiped) String() string { return fmt.Sprintf("removed %d files of %d bytes", w.Files, w.Bytes) }

// Wipe removes everything from a broker's data directory but the lock. It takes the broker's lock for that: one that runs is
// refused, and one that is started meanwhile refuses to run.
func Wipe(root string) (w Wiped, err error) {
	wrong := func(err error) error { return fmt.Errorf("wipe of %s: %w", root, err) }
	dir, err := os.OpenRoot(root)
	if err != nil {
		return w, wrong(err)
	}
	defer dir.Close() //nolint:errcheck // nothing is written by it
	lock, err := dir.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return w, wrong(err)
	}
	defer lock.Close() //nolint:errcheck // it only gives back the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return w, wrong(fmt.Errorf("a broker runs on it, expected none (%w)", err))
	}
	if w, err = measure(dir); err != nil {
		return Wiped{}, wrong(err)
	}
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return Wiped{}, wrong(err)
	}
	for _, e := range entries {
		if e.Name() != lockFile {
			err = errors.Join(err, dir.RemoveAll(e.Name()))
		}
	}
	if err != nil {
		return w, wrong(err)
	}
	return w, nil
}

// measure counts what a wipe will remove.
func measure(dir *os.Root) (w Wiped, err error) {
	return w, fs.WalkDir(dir.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path == lockFile {
			return err
		}
		info, err := e.Info()
		if err == nil {
			w.Files++
			w.Bytes += info.Size()
		}
		return err
	})
}
