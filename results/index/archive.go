package index

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Archive writes a run's directory as one zip file, which unpacks into a directory of the same name. Two archives of the same run are equal.
func Archive(w io.Writer, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read
	return archive(w, root, ".", filepath.Base(abs))
}

func archive(w io.Writer, root *os.Root, dir, name string) error {
	files, err := packed(root, dir)
	if err != nil {
		return err
	}
	out := zip.NewWriter(w)
	for _, info := range files {
		if err := pack(out, root, path.Join(dir, info.Name()), path.Join(name, info.Name()), info); err != nil {
			return fmt.Errorf("archive %s: %w", info.Name(), err)
		}
	}
	return out.Close()
}

// packed lists what of a run's directory an archive holds: all but what is being written. What is no file, or too many of them, is an error: an archive
// that leaves out something without a word would pass for the run.
func packed(root *os.Root, dir string) (files []fs.FileInfo, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	entries, err := f.ReadDir(filesMax + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > filesMax {
		return nil, fmt.Errorf("archive a run of more than %d files, expected fewer", filesMax)
	}
	for _, e := range entries {
		if e.Name()[0] == '.' {
			continue // being written
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("archive %q: is %v, expected a file", e.Name(), info.Mode().Type())
		}
		files = append(files, info)
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) })
	return files, nil
}

func pack(out *zip.Writer, root *os.Root, from, to string, info fs.FileInfo) error {
	f, err := root.Open(from)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	method := zip.Deflate
	if path.Ext(from) == ".zst" {
		method = zip.Store // smaller it does not get
	}
	into, err := out.CreateHeader(&zip.FileHeader{Name: to, Method: method, Modified: info.ModTime().UTC()})
	if err != nil {
		return err
	}
	_, err = io.Copy(into, f)
	return err
}
