// Package disktest is what every disk.FS must do, as one test that each implementation runs.
package disktest

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"

	"tidemark/broker/disk"
)

// Run checks a file system that open returns empty.
func Run(t *testing.T, open func(t *testing.T) disk.FS) {
	for name, test := range map[string]func(*testing.T, disk.FS){
		"a missing file":           missing,
		"a bad path":               badPaths,
		"reads and writes":         readsAndWrites,
		"holes and truncation":     holes,
		"names and directories":    names,
		"rename":                   rename,
		"an open file outlives it": outlives,
		"a closed file":            closed,
		"flush steps":              steps,
		"the root":                 root,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func missing(t *testing.T, d disk.FS) {
	_, err := d.Open("none", false)
	wantErr(t, "open", err, fs.ErrNotExist)
	_, err = d.Open("none/none", true)
	wantErr(t, "create in a missing directory", err, fs.ErrNotExist)
	wantErr(t, "remove", d.Remove("none"), fs.ErrNotExist)
	wantErr(t, "rename", d.Rename("none", "other"), fs.ErrNotExist)
	wantErr(t, "syncdir", d.SyncDir("none"), fs.ErrNotExist)
	_, err = d.ReadDir("none")
	wantErr(t, "readdir", err, fs.ErrNotExist)
}

func badPaths(t *testing.T, d disk.FS) {
	ok(t, d.MkdirAll("a"))
	for _, p := range []string{"/a", "a/", "a//b", "./a", "..", "../a", "a/../b", "a/.."} {
		if f, err := d.Open(p, true); err == nil {
			f.Close()
			t.Errorf("open of %q succeeded", p)
		}
		_, err := d.ReadDir(p)
		for op, err := range map[string]error{
			"remove": d.Remove(p), "rename from": d.Rename(p, "x"), "rename to": d.Rename("x", p),
			"mkdir": d.MkdirAll(p), "syncdir": d.SyncDir(p), "readdir": err,
		} {
			if err == nil {
				t.Errorf("%s of %q succeeded", op, p)
			}
		}
	}
}

func readsAndWrites(t *testing.T, d disk.FS) {
	f := create(t, d, "f")
	write(t, f, "hello world", 0)
	write(t, f, "W", 6)
	wantContent(t, f, "hello World")
	p := make([]byte, 5)
	n, err := f.ReadAt(p, 6)
	if n != 5 || (err != nil && err != io.EOF) || string(p) != "World" {
		t.Errorf("ReadAt(5 bytes, 6) = %d, %v, %q", n, err, p)
	}
	if n, err := f.ReadAt(p, 8); n != 3 || err != io.EOF {
		t.Errorf("a read across the end = %d, %v, expected 3, EOF", n, err)
	}
	if n, err := f.ReadAt(p, 100); n != 0 || err != io.EOF {
		t.Errorf("a read beyond the end = %d, %v, expected 0, EOF", n, err)
	}
	if _, err := f.ReadAt(p, -1); err == nil || err == io.EOF {
		t.Errorf("a read at -1 gave %v", err)
	}
	if _, err := f.WriteAt(p, -1); err == nil {
		t.Error("a write at -1 succeeded")
	}
	again, err := d.Open("f", true)
	ok(t, err)
	wantContent(t, again, "hello World")
	write(t, again, "J", 0)
	wantContent(t, f, "Jello World")
	ok(t, again.Close())
	ok(t, f.Sync())
	ok(t, f.Close())
}

func holes(t *testing.T, d disk.FS) {
	f := create(t, d, "f")
	write(t, f, "end", 5)
	wantContent(t, f, "\x00\x00\x00\x00\x00end")
	write(t, f, "", 100)
	wantContent(t, f, "\x00\x00\x00\x00\x00end")
	ok(t, f.Truncate(6))
	ok(t, f.Truncate(8))
	wantContent(t, f, "\x00\x00\x00\x00\x00e\x00\x00")
	if f.Truncate(-1) == nil {
		t.Error("a truncation to -1 succeeded")
	}
	ok(t, f.Truncate(0))
	wantContent(t, f, "")
	ok(t, f.Close())
}

func names(t *testing.T, d disk.FS) {
	ok(t, d.MkdirAll("a/b/c"))
	ok(t, d.MkdirAll("a/b"))
	for _, p := range []string{"a/b/z", "a/b/y", "a/b/c0", "a/x"} {
		ok(t, create(t, d, p).Close())
	}
	wantDir(t, d, "a", "b/", "x")
	wantDir(t, d, "a/b", "c/", "c0", "y", "z")
	wantDir(t, d, "a/b/c")
	if d.Remove("a/b") == nil {
		t.Error("a directory that is not empty was removed")
	}
	ok(t, d.Remove("a/b/c"))
	ok(t, d.Remove("a/b/y"))
	wantDir(t, d, "a/b", "c0", "z")
	ok(t, d.SyncDir("a/b"))
	if d.MkdirAll("a/x/y") == nil || d.SyncDir("a/x") == nil {
		t.Error("a file was taken for a directory")
	}
	if _, err := d.ReadDir("a/x"); err == nil {
		t.Error("a file was listed")
	}
	if f, err := d.Open("a/b", true); err == nil {
		f.Close()
		t.Error("a directory was opened as a file")
	}
}

func rename(t *testing.T, d disk.FS) {
	ok(t, d.MkdirAll("a"))
	from, to := create(t, d, "from"), create(t, d, "a/to")
	write(t, from, "new", 0)
	write(t, to, "old", 0)
	ok(t, d.Rename("from", "a/to"))
	wantDir(t, d, "", "a/")
	f, err := d.Open("a/to", false)
	ok(t, err)
	wantContent(t, f, "new")
	write(t, from, "N", 0)
	wantContent(t, f, "New")
	wantContent(t, to, "old")
	for _, f := range []disk.File{from, to, f} {
		ok(t, f.Close())
	}
}

func outlives(t *testing.T, d disk.FS) {
	f := create(t, d, "f")
	write(t, f, "old", 0)
	ok(t, d.Remove("f"))
	g := create(t, d, "f")
	write(t, g, "newer", 0)
	wantContent(t, f, "old")
	wantContent(t, g, "newer")
	ok(t, f.Close())
	ok(t, g.Close())
}

func closed(t *testing.T, d disk.FS) {
	f := create(t, d, "f")
	ok(t, f.Close())
	_, readErr := f.ReadAt(make([]byte, 1), 0)
	_, writeErr := f.WriteAt([]byte("x"), 0)
	_, sizeErr := f.Size()
	for op, err := range map[string]error{
		"read": readErr, "write": writeErr, "size": sizeErr, "sync": f.Sync(), "truncate": f.Truncate(1), "close": f.Close(),
	} {
		if err == nil || err == io.EOF {
			t.Errorf("%s of a closed file gave %v", op, err)
		}
	}
}

func steps(t *testing.T, d disk.FS) {
	ok(t, d.MkdirAll("a"))
	for _, content := range []string{"a longer first content", "second", ""} {
		for _, s := range disk.ReplaceFile("a", "f", []byte(content)) {
			ok(t, disk.Run(d, s))
		}
		got, err := disk.ReadFile(d, "a/f", 100)
		ok(t, err)
		if string(got) != content {
			t.Errorf("replaced file holds %q, expected %q", got, content)
		}
		wantDir(t, d, "a", "f")
	}
	ok(t, disk.Run(d, disk.Step{Op: disk.WriteFile, Path: "a/f", Data: []byte("four")}))
	ok(t, disk.Run(d, disk.Step{Op: disk.WriteFile, Path: "a/f", Data: []byte("two")}))
	if got, err := disk.ReadFile(d, "a/f", 3); err != nil || string(got) != "two" {
		t.Errorf("written file holds %q, %v", got, err)
	}
	if _, err := disk.ReadFile(d, "a/f", 2); !errors.Is(err, disk.ErrTooLarge) {
		t.Errorf("a file beyond the bound gave %v", err)
	}
	ok(t, disk.Run(d, disk.Step{Op: disk.RemoveFile, Path: "a/f"}))
	ok(t, disk.Run(d, disk.Step{Op: disk.RemoveFile, Path: "a/f"}))
	ok(t, disk.Run(d, disk.Step{Op: disk.SyncFile, Path: "a/f"}))
	wantErr(t, "rename of a missing file", disk.Run(d, disk.Step{Op: disk.RenameFile, Path: "a/f", To: "a/g"}), fs.ErrNotExist)
	if disk.Run(d, disk.Step{Op: 99}) == nil {
		t.Error("an unknown step was run")
	}
}

func root(t *testing.T, d disk.FS) {
	for _, s := range disk.ReplaceFile("", "f", []byte("x")) {
		ok(t, disk.Run(d, s))
	}
	wantDir(t, d, "", "f")
	wantDir(t, d, ".", "f")
	if d.Remove(".") == nil {
		t.Error("the root was removed")
	}
}

func create(t *testing.T, d disk.FS, path string) disk.File {
	t.Helper()
	f, err := d.Open(path, true)
	ok(t, err)
	return f
}

func write(t *testing.T, f disk.File, s string, off int64) {
	t.Helper()
	if n, err := f.WriteAt([]byte(s), off); n != len(s) || err != nil {
		t.Fatalf("WriteAt(%q, %d) = %d, %v", s, off, n, err)
	}
}

func wantContent(t *testing.T, f disk.File, want string) {
	t.Helper()
	size, err := f.Size()
	ok(t, err)
	p := make([]byte, size)
	ok(t, disk.ReadFull(f, p, 0))
	if string(p) != want {
		t.Fatalf("file holds %q, expected %q", p, want)
	}
}

func wantDir(t *testing.T, d disk.FS, path string, want ...string) {
	t.Helper()
	got, err := d.ReadDir(path)
	ok(t, err)
	if !slices.Equal(got, want) {
		t.Fatalf("ReadDir(%q) = %q, expected %q", path, got, want)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s gave %v, expected %v", what, err, want)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
