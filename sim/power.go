package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tidemark/broker/disk"
)

// What a power failure leaves.
//
//   - Of each file's unsynced pages a seeded subset is on the platter, each page whole, but that the one written last may be
//     torn: its first sectors new, the rest as before. A page overwritten during a sync may also be as that sync wrote it.
//   - A file's length is the last synced one, the present one, or between; where the length outlived the data there are zeros.
//     A truncation that did not last brings back the old bytes.
//   - Of each directory's unsynced operations a seeded prefix lasted, in order, as in a journal. A file whose creation did not last is
//     gone, whatever of it was synced.
//   - What has been dirty for writeBackAge has very likely been written back: decided now, so that it costs no events.
//   - Synced data survives, always.
const (
	writeBackAge  = 30 * time.Second // vm.dirty_expire_centisecs
	writeBackKept = 0.95
	tornChance    = 0.5
)

// loss counts what a power failure took.
type loss struct{ pages, pagesLost, torn, files, ops, opsLost int }

func (l loss) String() string {
	if l.ops == 0 && l.files == 0 {
		return "lost nothing: everything was synced"
	}
	return fmt.Sprintf("lost %d of %d unsynced pages in %d files, %d torn; %d of %d unsynced directory operations",
		l.pagesLost, l.pages, l.files, l.torn, l.opsLost, l.ops)
}

// powerFail leaves of the disk what a power failure does.
func (d *drive) powerFail() loss {
	rnd := newStream(d.w.opt.Seed, "power failure of "+strconv.Itoa(int(d.id)), d.fails)
	d.fails++
	d.syncing, d.lost = nil, nil
	keep := rnd.unit()
	switch rnd.below(8) {
	case 0, 1:
		keep = 0
	case 2:
		keep = 1
	}
	var l loss
	d.loseNames(&rnd, keep, &l)
	d.dirs = d.dirs[:0]
	d.loseData(d.root, &rnd, keep, &l)
	return l
}

// loseNames settles which operations on names lasted.
func (d *drive) loseNames(rnd *stream, keep float64, l *loss) {
	for _, n := range d.dirs {
		l.ops += len(n.journal)
	}
	for _, n := range d.dirs {
		lasted := 0
		for lasted < len(n.journal) && rnd.chance(d.kept(keep, n.journal[lasted].since)) {
			lasted++
		}
		n.commit(lasted)
	}
	for _, n := range d.dirs {
		l.opsLost += len(n.journal)
		n.journal = nil
		n.names = maps.Clone(n.durable)
	}
}

// loseData settles what of each file's data lasted, in order of path.
func (d *drive) loseData(n *inode, rnd *stream, keep float64, l *loss) {
	d.dirs = append(d.dirs, n)
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		if child := n.names[name]; child.dir {
			d.loseData(child, rnd, keep, l)
		} else {
			child.powerFail(d, rnd, keep, l)
		}
	}
}

// kept is the chance that something dirty since then is on the platter.
func (d *drive) kept(keep float64, since time.Duration) float64 {
	if d.now()-since >= writeBackAge {
		return max(keep, writeBackKept)
	}
	return keep
}

func (f *file) powerFail(d *drive, rnd *stream, keep float64, l *loss) {
	if len(f.dirty) == 0 && f.size == f.durable {
		return
	}
	slices.Sort(f.dirty)
	l.files++
	end := min(f.size, f.durable) // of what is known to be there
	for _, i := range f.dirty {
		pg := &f.pages[i]
		start := int64(i) * pageSize
		chance := d.kept(keep, pg.since)
		l.pages++
		switch {
		case pg.lost || start >= f.size: // nobody writes it any more, or it was truncated away
			pg.data = pg.old
			l.pagesLost++
		case !rnd.chance(chance):
			if pg.data = pg.old; pg.caught && rnd.chance(chance) {
				pg.data = pg.snapshot
			}
			l.pagesLost++
		case i == f.written && rnd.chance(tornChance):
			pg.data = tear(pg.data, pg.old, (1+rnd.below(pageSize/sectorSize-1))*sectorSize)
			l.torn++
			end = max(end, min(start+pageSize, f.size))
		default:
			end = max(end, min(start+pageSize, f.size))
		}
	}
	size := f.size
	switch rnd.below(3) {
	case 0:
		size = f.durable
	case 1:
		size = end
	}
	f.cutTo(size)
}

// cutTo makes what is in the cache all that there is, at that length.
func (f *file) cutTo(size int64) {
	for i := range f.pages {
		f.pages[i] = page{data: f.pages[i].data}
	}
	f.grow(size)
	f.pages = f.pages[:pagesFor(size)]
	if in := size % pageSize; in > 0 {
		if last := f.pages[len(f.pages)-1].data; last != nil {
			clear(last[in:])
		}
	}
	f.durable, f.dirty = size, nil
}

// tear is a page of which only the first bytes were written over the old one.
func tear(data, old *block, bytes int) *block {
	torn := new(block)
	if old != nil {
		*torn = *old
	}
	if data != nil {
		copy(torn[:bytes], data[:bytes])
	} else {
		clear(torn[:bytes])
	}
	return torn
}

// beginSync starts the sync that a flush's step asks for; a file that is not there shows at the end of the step.
func (d *drive) beginSync(path string) {
	n, err := d.lookup("sync", path)
	if err == nil && !n.dir {
		n.beginSync()
		d.syncing = n
	}
}

// abortSync forgets the sync under way.
func (d *drive) abortSync() {
	if d.syncing != nil {
		d.syncing.abortSync(d)
		d.syncing = nil
	}
}

// do carries out one step of a flush.
func (d *drive) do(s *disk.Step) error {
	if s.Op != disk.SyncFile {
		return disk.Run(d, *s)
	}
	n := d.syncing
	d.syncing = nil
	if n == nil {
		return nil // removed since it was asked for, as disk.Run has it
	}
	return d.endSync(n)
}
