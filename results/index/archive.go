package index

import (
	"archive/zip"
	"cmp"
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
	files := filesOf(root, dir)
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) })
	out := zip.NewWriter(w)
	for _, info := range files {
		if info.Name()[0] == '.' {
			continue // being written
		}
		if err := pack(out, root, path.Join(dir, info.Name()), path.Join(name, info.Name()), info); err != nil {
			return fmt.Errorf("archive %s: %w", info.Name(), err)
		}
	}
	return out.Close()
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
