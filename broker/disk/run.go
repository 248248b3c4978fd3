package disk

import (
	"errors"
	"fmt"
	"io/fs"
)

// Run carries out one flush step. An error names the step; after one the rest of the flush must not run.
func Run(fsys FS, s Step) error {
	if err := run(fsys, s); err != nil {
		return fmt.Errorf("%v: %w", s, err)
	}
	return nil
}

func run(fsys FS, s Step) error {
	switch s.Op {
	case SyncFile:
		// A file that its owner removed since it asked for the sync has nothing left to sync.
		return ignoreMissing(withFile(fsys, s.Path, false, File.Sync))
	case WriteFile:
		return withFile(fsys, s.Path, true, func(f File) error {
			if err := f.Truncate(0); err != nil {
				return err
			}
			_, err := f.WriteAt(s.Data, 0)
			return err
		})
	case RenameFile:
		return fsys.Rename(s.Path, s.To)
	case SyncDir:
		return fsys.SyncDir(s.Path)
	case RemoveFile:
		return ignoreMissing(fsys.Remove(s.Path))
	default:
		return fmt.Errorf("unknown step kind %d, expected at most %d", s.Op, RemoveFile)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func withFile(fsys FS, path string, create bool, do func(File) error) error {
	f, err := fsys.Open(path, create)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

// ErrTooLarge is a file beyond ReadFile's bound.
var ErrTooLarge = errors.New("file too large")

// ReadFile returns a file's whole content; ErrTooLarge if that is more than max bytes.
func ReadFile(fsys FS, path string, max int) ([]byte, error) {
	var data []byte
	err := withFile(fsys, path, false, func(f File) error {
		size, err := f.Size()
		if err != nil {
			return err
		}
		if size > int64(max) {
			return fmt.Errorf("%s has %d bytes, expected at most %d: %w", path, size, max, ErrTooLarge)
		}
		data = make([]byte, size)
		return ReadFull(f, data, 0)
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// ReadFull fills p from a file at off; fewer bytes than that are an error.
func ReadFull(f File, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	return fmt.Errorf("read %d bytes at %d, expected %d: %w", n, off, len(p), err)
}

// checkPath returns path as a valid one of package io/fs: relative, slash-separated, clean, without "..". The root is "" or ".".
func checkPath(op, path string) (string, error) {
	if path == "" {
		return ".", nil
	}
	if !fs.ValidPath(path) {
		return "", &fs.PathError{Op: op, Path: path, Err: fs.ErrInvalid}
	}
	return path, nil
}
