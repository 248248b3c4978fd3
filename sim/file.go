package sim

import (
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	pageSize   = 4096
	sectorSize = 512
	fileMax    = 1 << 30 // bytes: past it a write fails, as on a full disk
)

var errTooLarge = errors.New("file too large")

type block [pageSize]byte

// page is 4 KiB of a file in the page cache. data is what readers see. While the page is dirty, old is what the platter holds;
// a nil block stands for zeros.
type page struct {
	data, old *block
	snapshot  *block        // what a sync under way writes, if the page was written again since that began
	since     time.Duration // when it became dirty
	dirty     bool
	syncing   bool // a sync under way writes data as it is
	caught    bool // a sync under way writes snapshot
	lost      bool // a failed sync threw the write-back away: the platter keeps old until the page is written again
}

// file is a file's bytes: what the cache shows, and what would be left of it without power.
type file struct {
	pages    []page
	size     int64
	durable  int64 // the length on the platter
	syncSize int64 // the length that a sync under way writes
	dirty    []int32
	written  int32 // the page written last, which a power failure may tear
}

func pagesFor(size int64) int { return int((size + pageSize - 1) / pageSize) }

func (f *file) readAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read at %d, expected an offset from 0 on", off)
	}
	if off >= f.size {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), f.size-off))
	for done := 0; done < n; {
		at := off + int64(done)
		in := int(at % pageSize)
		part := p[done:min(n, done+pageSize-in)]
		if data := f.pages[at/pageSize].data; data != nil {
			copy(part, data[in:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) writeAt(d *drive, p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if off < 0 || end > fileMax {
		return 0, fmt.Errorf("write of %d bytes at %d: %w, expected at most %d", len(p), off, errTooLarge, fileMax)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if end > f.size {
		f.grow(end)
	}
	for done := 0; done < len(p); {
		at := off + int64(done)
		i, in := int32(at/pageSize), int(at%pageSize)
		pg := f.touch(d, i)
		if pg.data == nil {
			pg.data = d.block()
		}
		done += copy(pg.data[in:], p[done:])
		f.written = i
	}
	return len(p), nil
}

func (f *file) grow(size int64) {
	f.size = size
	for len(f.pages) < pagesFor(size) {
		f.pages = append(f.pages, page{})
	}
}

// touch makes a page dirty before it is written, keeping what the platter holds or is about to.
func (f *file) touch(d *drive, i int32) *page {
	pg := &f.pages[i]
	pg.lost = false
	switch {
	case !pg.dirty:
		pg.dirty, pg.since = true, d.now()
		pg.old = d.copyOf(pg.data)
		f.dirty = append(f.dirty, i)
	case pg.syncing:
		pg.syncing, pg.caught = false, true
		pg.snapshot = d.copyOf(pg.data)
	}
	return pg
}

func (f *file) truncate(d *drive, size int64) error {
	if size < 0 || size > fileMax {
		return fmt.Errorf("truncate to %d: %w, expected 0 to %d", size, errTooLarge, fileMax)
	}
	if size >= f.size {
		f.grow(size)
		return nil
	}
	for i := int32(size / pageSize); int(i) < pagesFor(f.size); i++ {
		if f.pages[i].data == nil {
			continue
		}
		pg := f.touch(d, i)
		if in := size - int64(i)*pageSize; in > 0 {
			clear(pg.data[in:])
		} else {
			d.free(pg.data)
			pg.data = nil
		}
	}
	f.size = size
	return nil
}

// beginSync starts a sync: what is dirty now is being written.
func (f *file) beginSync() {
	f.syncSize = f.size
	for _, i := range f.dirty {
		if pg := &f.pages[i]; !pg.lost {
			pg.syncing = true
		}
	}
}

// endSync ends a sync: what it wrote is on the platter; what was written since stays dirty.
func (f *file) endSync(d *drive) {
	f.durable = f.syncSize
	left := f.dirty[:0]
	for _, i := range f.dirty {
		pg := &f.pages[i]
		switch {
		case pg.syncing:
			d.free(pg.old)
			*pg = page{data: pg.data}
			continue
		case pg.caught:
			d.free(pg.old)
			pg.old, pg.snapshot, pg.caught = pg.snapshot, nil, false
		}
		left = append(left, i)
	}
	f.dirty = left
	if len(f.dirty) == 0 {
		f.pages = f.pages[:pagesFor(f.size)]
	}
}

// abortSync forgets a sync under way: nothing of it counts as written.
func (f *file) abortSync(d *drive) {
	for _, i := range f.dirty {
		pg := &f.pages[i]
		d.free(pg.snapshot)
		pg.snapshot, pg.syncing, pg.caught = nil, false, false
	}
}

// failSync is what Linux does after a failed fsync: the pages count as clean and readers still see them, but nothing will
// write them back any more.
func (f *file) failSync(d *drive) {
	f.abortSync(d)
	for _, i := range f.dirty {
		f.pages[i].lost = true
	}
}
