// Package disk is the broker's view of a file system: an interface that the simulator and the real disk both serve.
//
// A broker's step writes synchronously (into the page cache) and never waits for the platter: work that must reach it is
// handed out as a Flush, which the shell carries out in its own time and reports back. Only start-up recovery may sync directly.
package disk

// FS is a file system rooted at one broker's directory; paths are slash-separated, relative and clean. Missing files give an
// error that errors.Is(err, fs.ErrNotExist).
type FS interface {
	// Open opens a file for reading and writing; with create, an absent file is made empty.
	Open(path string, create bool) (File, error)
	// Remove deletes a file or an empty directory.
	Remove(path string) error
	// Rename moves a file, replacing what stood there. Like Open's creation and Remove, it lasts only after SyncDir.
	Rename(from, to string) error
	// ReadDir lists a directory's entries by name, ascending; directories end in a slash.
	ReadDir(path string) ([]string, error)
	// MkdirAll makes a directory and its parents.
	MkdirAll(path string) error
	// SyncDir makes a directory's creations, renames and deletions last.
	SyncDir(path string) error
}

// File is an open file.
type File interface {
	// ReadAt and WriteAt are io.ReaderAt and io.WriterAt.
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// Truncate sets the length; a longer one reads as zeros.
	Truncate(size int64) error
	// Size is the length in bytes.
	Size() (int64, error)
	// Sync makes the file's data and length last (not its name: see SyncDir).
	Sync() error
	// Close releases it.
	Close() error
}
