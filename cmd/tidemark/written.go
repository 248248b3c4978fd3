package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The flags of all commands that name what is written: directories that files go into, and files.
var (
	writtenDirs  = []string{"out", "scenarios"}
	writtenFiles = []string{"as-scenario", "markdown", "output", "table"}
)

// checkWritten refuses what a command line asks to be written where it cannot be, before all the work whose outcome it is to hold.
func checkWritten(c *cobra.Command, _ []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		path, wrong := f.Value.String(), error(nil)
		switch {
		case slices.Contains(writtenDirs, f.Name):
			wrong = writableDir(path)
		case slices.Contains(writtenFiles, f.Name) && path != "":
			wrong = writable(path)
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("--%s: %w", f.Name, wrong))
		}
	})
	if err != nil {
		return usage(err)
	}
	return nil
}

// writableDir reports why no file can be put into a directory, which need not be there yet.
func writableDir(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path:
		return writableDir(filepath.Dir(path))
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is a file, expected a directory", path)
	}
	const write = 2 // W_OK of access(2)
	if err := syscall.Access(path, write); err != nil {
		return &fs.PathError{Op: "write into", Path: path, Err: err}
	}
	return nil
}

// writable reports why a file cannot be written. It leaves what is there as it is, and no new file.
func writable(path string) error {
	info, missing := os.Stat(path)
	if missing == nil {
		// A pipe that nobody reads would stand still here, deaf to signals; one that was inherited has its reader, the shell.
		if mode := info.Mode(); mode&(fs.ModeNamedPipe|fs.ModeSocket) != 0 && !inherited(path) {
			return fmt.Errorf("%s: %v, expected a file", path, mode)
		}
	}
	if dir := ofWhichRun(path); dir != "" {
		return fmt.Errorf("%s is in the directory of a run, %s, expected a file elsewhere", path, dir)
	}
	_, missing = os.Lstat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil || missing == nil {
		return err
	}
	return os.Remove(path)
}

// inherited reports whether a path names a descriptor that whoever started this program opened for it.
func inherited(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdout" || path == "/dev/stderr" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// place is where a file that is written under a path lies: links are followed, also those that lead to nothing yet.
func place(path string) string {
	for range 40 { // as many as Linux follows
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Join(dir, filepath.Base(path))
}

// ofWhichRun is the directory of a run that a file lies below; "" if it lies in none.
func ofWhichRun(path string) string {
	for dir := filepath.Dir(place(path)); ; dir = filepath.Dir(dir) {
		if isFile(filepath.Join(dir, "run.json")) {
			for _, other := range []string{"plan.txt", "results.json", "history.ndjson.zst"} {
				if isFile(filepath.Join(dir, other)) {
					return dir
				}
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// putFile writes a file whole or not at all. Into what is no file, such as a device, it is written as it comes.
func putFile(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	if inherited(path) || err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	path = place(path)
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info != nil {
		mode = info.Mode().Perm()
	}
	err = errors.Join(write(f), f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// putText writes a text as putFile does.
func putText(path string, text []byte) error {
	return putFile(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
