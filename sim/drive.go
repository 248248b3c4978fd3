package sim

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tidemark/broker/disk"
	"tidemark/history"
	"tidemark/world"
)

// drive is a broker's disk under its page cache: a disk.FS that survives the end of the process whole and a power failure only
// as far as it was synced (power.go).
type drive struct {
	w       *World
	id      history.BrokerID
	root    *inode
	inodes  uint64
	spare   []*block // for reuse
	syncing *inode   // the sync under way, of a flush
	dirs    []*inode // every directory, in a fixed order
	syncErr error    // what the next sync of a file fails with
	lost    []*inode // whose pages a failed sync left unwritten
	faults  diskFaults
	fails   int // power failures so far
}

// inode is a file or directory. A directory's names live in two versions: what the kernel shows, and what the platter holds;
// the operations between the two are its journal.
type inode struct {
	id      uint64
	path    string // where it was last put, for the trace
	dir     bool
	names   map[string]*inode
	durable map[string]*inode
	journal []*dirOp
	file
}

// dirOp is one atomic change of names: a creation, a removal, or a rename, which may concern two directories.
type dirOp struct {
	changes []dirChange
	since   time.Duration
	done    bool // on the platter
}

type dirChange struct {
	dir  *inode
	name string
	to   *inode // nil: the name goes
}

// handle is an open file.
type handle struct {
	d      *drive
	n      *inode
	closed bool
}

var (
	_ disk.FS   = (*drive)(nil)
	_ disk.File = (*handle)(nil)
)

func newDrive(w *World, id history.BrokerID) *drive {
	d := &drive{w: w, id: id}
	d.root = d.newInode(true)
	return d
}

func (d *drive) now() time.Duration { return d.w.now }

func (d *drive) newInode(dir bool) *inode {
	d.inodes++
	n := &inode{id: d.inodes, dir: dir}
	if dir {
		n.names, n.durable = map[string]*inode{}, map[string]*inode{}
		d.dirs = append(d.dirs, n)
	}
	return n
}

// spareMax bounds the blocks kept for reuse.
const spareMax = 256

// block returns a block of zeros.
func (d *drive) block() *block {
	if n := len(d.spare); n > 0 {
		b := d.spare[n-1]
		d.spare = d.spare[:n-1]
		*b = block{}
		return b
	}
	return new(block)
}

// copyOf copies a block; nil stays nil.
func (d *drive) copyOf(b *block) *block {
	if b == nil {
		return nil
	}
	c := d.block()
	*c = *b
	return c
}

func (d *drive) free(b *block) {
	if b != nil && len(d.spare) < spareMax {
		d.spare = append(d.spare, b)
	}
}

// pathError names the operation and the path.
func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// lookup finds what a path names.
func (d *drive) lookup(op, path string) (*inode, error) {
	n := d.root
	if path == "" || path == "." {
		return n, nil
	}
	if !fs.ValidPath(path) {
		return nil, pathError(op, path, fs.ErrInvalid)
	}
	for rest := path; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if !n.dir {
			return nil, pathError(op, path, errNotDir)
		}
		next := n.names[name]
		if next == nil {
			return nil, pathError(op, path, fs.ErrNotExist)
		}
		n = next
	}
	return n, nil
}

// parent finds the directory that a path's last name is in.
func (d *drive) parent(op, path string) (*inode, string, error) {
	if !fs.ValidPath(path) || path == "." {
		return nil, "", pathError(op, path, fs.ErrInvalid)
	}
	dir, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, name = path[:i], path[i+1:]
	}
	n, err := d.lookup(op, dir)
	if err == nil && !n.dir {
		err = pathError(op, path, errNotDir)
	}
	return n, name, err
}

var (
	errNotDir   = fmt.Errorf("not a directory: %w", fs.ErrInvalid)
	errIsDir    = fmt.Errorf("is a directory: %w", fs.ErrInvalid)
	errNotEmpty = fmt.Errorf("directory not empty: %w", fs.ErrInvalid)
)

// change does an operation on names and journals it.
func (d *drive) change(what, path string, changes ...dirChange) {
	op := &dirOp{changes: changes, since: d.now()}
	for i, c := range changes {
		if c.to == nil {
			delete(c.dir.names, c.name)
		} else {
			c.dir.names[c.name] = c.to
			c.to.path = path
		}
		if i == 0 || c.dir != changes[0].dir {
			c.dir.journal = append(c.dir.journal, op)
		}
	}
	if d.w.note(noteName, d.id, d.inodes, uint64(len(changes)), []byte(path)) {
		d.w.tell(d.id, what+" "+path)
	}
}

// Open opens a file for reading and writing; with create, an absent file is made empty.
func (d *drive) Open(path string, create bool) (disk.File, error) {
	dir, name, err := d.parent("open", path)
	if err != nil {
		return nil, err
	}
	n := dir.names[name]
	switch {
	case n == nil && !create:
		return nil, pathError("open", path, fs.ErrNotExist)
	case n == nil:
		n = d.newInode(false)
		d.change("create", path, dirChange{dir, name, n})
	case n.dir:
		return nil, pathError("open", path, errIsDir)
	}
	return &handle{d: d, n: n}, nil
}

// Remove deletes a file or an empty directory.
func (d *drive) Remove(path string) error {
	dir, name, err := d.parent("remove", path)
	if err != nil {
		return err
	}
	n := dir.names[name]
	switch {
	case n == nil:
		return pathError("remove", path, fs.ErrNotExist)
	case n.dir && len(n.names) > 0:
		return pathError("remove", path, errNotEmpty)
	}
	d.change("remove", path, dirChange{dir, name, nil})
	return nil
}

// Rename moves a file or directory, replacing a file that stood there.
func (d *drive) Rename(from, to string) error {
	fromDir, fromName, err := d.parent("rename", from)
	if err != nil {
		return err
	}
	toDir, toName, err := d.parent("rename", to)
	if err != nil {
		return err
	}
	n, there := fromDir.names[fromName], toDir.names[toName]
	switch {
	case n == nil:
		return pathError("rename", from, fs.ErrNotExist)
	case n == there:
		return nil
	case n.dir && strings.HasPrefix(to, from+"/"):
		return pathError("rename", to, fs.ErrInvalid)
	case there != nil && there.dir && len(there.names) > 0:
		return pathError("rename", to, errNotEmpty)
	case there != nil && there.dir != n.dir:
		return pathError("rename", to, errIsDir)
	}
	d.change("rename to", to, dirChange{fromDir, fromName, nil}, dirChange{toDir, toName, n})
	return nil
}

// ReadDir lists a directory's entries by name, ascending; directories end in a slash.
func (d *drive) ReadDir(path string) ([]string, error) {
	n, err := d.lookup("readdir", path)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, pathError("readdir", path, errNotDir)
	}
	names := make([]string, 0, len(n.names))
	for name, child := range n.names {
		if child.dir {
			name += "/"
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/"))
	})
	return names, nil
}

// MkdirAll makes a directory and its parents.
func (d *drive) MkdirAll(path string) error {
	if path == "" || path == "." {
		return nil
	}
	if !fs.ValidPath(path) {
		return pathError("mkdir", path, fs.ErrInvalid)
	}
	n := d.root
	for end := 0; end < len(path); end++ {
		start := end
		for end < len(path) && path[end] != '/' {
			end++
		}
		name := path[start:end]
		next := n.names[name]
		if next == nil {
			next = d.newInode(true)
			d.change("mkdir", path[:end], dirChange{n, name, next})
		}
		if !next.dir {
			return pathError("mkdir", path[:end], errNotDir)
		}
		n = next
	}
	return nil
}

// SyncDir makes a directory's creations, renames and deletions last.
func (d *drive) SyncDir(path string) error {
	n, err := d.lookup("syncdir", path)
	if err != nil {
		return err
	}
	if !n.dir {
		return pathError("syncdir", path, errNotDir)
	}
	n.commit(len(n.journal))
	if d.w.note(noteSync, d.id, n.id, 1, nil) {
		d.w.tell(d.id, "syncdir "+path)
	}
	return nil
}

// commit puts the first count operations of a directory's journal on the platter. A rename between two directories is in both
// journals and reaches the platter at once: the other directory's journal is committed up to it.
func (n *inode) commit(count int) {
	ops := n.journal[:count]
	n.journal = n.journal[count:]
	for _, op := range ops {
		op.commit()
	}
}

func (op *dirOp) commit() {
	if op.done {
		return
	}
	op.done = true
	for _, c := range op.changes {
		if i := slices.Index(c.dir.journal, op); i >= 0 {
			before := c.dir.journal[:i]
			c.dir.journal = c.dir.journal[i+1:]
			for _, earlier := range before {
				earlier.commit()
			}
		}
	}
	for _, c := range op.changes {
		if c.to == nil {
			delete(c.dir.durable, c.name)
		} else {
			c.dir.durable[c.name] = c.to
		}
	}
}

// ReadAt is io.ReaderAt.
func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	if h.closed {
		return 0, fs.ErrClosed
	}
	if h.d.meets(world.FailRead, h.n) {
		return 0, eio("read", h.n)
	}
	return h.n.readAt(p, off)
}

// WriteAt is io.WriterAt.
func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	if h.closed {
		return 0, fs.ErrClosed
	}
	n, err, failed := h.failWrite(p, off)
	if !failed {
		n, err = h.n.writeAt(h.d, p, off)
	}
	if h.d.w.note(noteWrite, h.d.id, h.n.id, uint64(off), p[:n]) {
		h.d.w.tell(h.d.id, fmt.Sprintf("write %d bytes at %d of %s", n, off, h.n.path))
	}
	return n, err
}

// Truncate sets the length; a longer one reads as zeros.
func (h *handle) Truncate(size int64) error {
	if h.closed {
		return fs.ErrClosed
	}
	if h.d.w.note(noteTruncate, h.d.id, h.n.id, uint64(size), nil) {
		h.d.w.tell(h.d.id, fmt.Sprintf("truncate %s to %d", h.n.path, size))
	}
	return h.n.truncate(h.d, size)
}

// Size is the length in bytes.
func (h *handle) Size() (int64, error) {
	if h.closed {
		return 0, fs.ErrClosed
	}
	return h.n.size, nil
}

// Sync makes the file's data and length last, at once.
func (h *handle) Sync() error {
	if h.closed {
		return fs.ErrClosed
	}
	h.n.beginSync()
	return h.d.endSync(h.n)
}

// Close releases it.
func (h *handle) Close() error {
	if h.closed {
		return fs.ErrClosed
	}
	h.closed = true
	return nil
}

// endSync ends a sync of a file, well or badly.
func (d *drive) endSync(n *inode) error {
	err := d.syncErr
	d.syncErr = nil
	if d.meets(world.FailSync, n) {
		err = eio("sync", n)
	}
	if err != nil {
		n.failSync(d)
		d.lost = append(d.lost, n)
	} else {
		n.endSync(d)
	}
	if d.w.note(noteSync, d.id, n.id, 0, nil) {
		d.w.tell(d.id, "sync "+n.path)
	}
	return err
}
