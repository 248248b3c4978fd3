package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	_, missing := os.Lstat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil || missing == nil {
		return err
	}
	return os.Remove(path)
}
