package sim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"syscall"

	"tidemark/broker/log"
	"tidemark/history"
	"tidemark/world"
)

// diskFaults is what the harness did to a disk.
type diskFaults struct {
	next  world.DiskFault // what the next fitting operation meets
	times float64         // how many times longer flushes take; 0 is as usual
	flips int             // bits flipped so far
	seen  world.DiskState
}

// injected marks an error that the harness made: a broker that stops for it did not do so by itself.
type injected struct{ err error }

func (e injected) Error() string { return e.err.Error() }
func (e injected) Unwrap() error { return e.err }

// meets reports whether an operation on a file meets the fault that waits for one of its kind, and ends it.
func (d *drive) meets(how world.DiskFault, n *inode) bool {
	if d.faults.next != how || d.w.looking || !isPartitionLog(n.path) {
		return false
	}
	d.faults.next = world.NoDiskFault
	d.faults.seen.Failed++
	d.faults.seen.Last = fmt.Sprintf("%s on %s", how, n.path)
	d.w.fault(d.id, d.faults.seen.Last)
	return true
}

// isPartitionLog tells the segments of partitions from all other files.
func isPartitionLog(name string) bool {
	_, ok := partitionDir(path.Dir(name))
	return ok && strings.HasSuffix(name, ".log")
}

// eio is an I/O error of a file.
func eio(op string, n *inode) error {
	return injected{&fs.PathError{Op: op, Path: n.path, Err: syscall.EIO}}
}

// failWrite is a write that meets a fault: how much of it was written, and why no more. ok is false if it meets none.
func (h *handle) failWrite(p []byte, off int64) (n int, err error, ok bool) {
	switch {
	case h.d.meets(world.FailWrite, h.n):
		return 0, eio("write", h.n), true
	case h.d.meets(world.ShortWrite, h.n):
		if n, err = h.n.writeAt(h.d, p[:len(p)/2], off); err == nil {
			err = injected{&fs.PathError{Op: "write", Path: h.n.path, Err: io.ErrShortWrite}}
		}
		return n, err, true
	}
	return 0, nil, false
}

// dropLost is what becomes of pages that a failed sync left marked as clean once their process is gone: the kernel needs the memory, and what
// is read next is what the platter holds.
func (d *drive) dropLost() {
	for _, n := range d.lost {
		n.dropLost()
	}
	d.lost = nil
}

func (f *file) dropLost() {
	left := f.dirty[:0]
	for _, i := range f.dirty {
		pg, room := &f.pages[i], f.size-int64(i)*pageSize
		switch {
		case !pg.lost:
			left = append(left, i)
			continue
		case room <= 0:
			pg.old = nil
		case room < pageSize && pg.old != nil:
			clear(pg.old[room:])
		}
		*pg = page{data: pg.old}
	}
	f.dirty = left
}

// BreakDisk lets the next such operation of a running broker on a partition's log fail.
func (w *World) BreakDisk(b history.BrokerID, how world.DiskFault) error {
	h, err := w.target(string(how)+" of", b, hostUp)
	if err != nil {
		return err
	}
	if waits := h.drive.faults.next; waits != world.NoDiskFault {
		return fmt.Errorf("%s of broker %d: a %s waits to be met already", how, b, waits)
	}
	h.drive.faults.next = how
	w.fault(b, "waits for an operation: "+string(how))
	return nil
}

// MendDisk ends a fault of BreakDisk that nothing has met.
func (w *World) MendDisk(b history.BrokerID) error {
	h, err := w.host(b)
	if err != nil {
		return fmt.Errorf("mend a disk: %w", err)
	}
	if h.drive.faults.next != world.NoDiskFault {
		h.drive.faults.next = world.NoDiskFault
		w.fault(b, "no operation met the disk's fault")
	}
	return nil
}

// SlowDisk lets flushes take so many times longer from now on, and the rest of the step under way.
func (w *World) SlowDisk(b history.BrokerID, times float64) error {
	h, err := w.host(b)
	if err != nil {
		return fmt.Errorf("slow disk: %w", err)
	}
	if !(times >= 1) || math.IsInf(times, 1) {
		return fmt.Errorf("disk of broker %d: %v times slower, expected 1 or more", b, times)
	}
	h.flushes.pace(max(h.drive.faults.times, 1), times)
	h.drive.faults.times = times
	if times == 1 {
		h.drive.faults.times = 0
	}
	w.fault(b, fmt.Sprintf("flushes take %v times as long", times))
	return nil
}

// ProbeDisk tells what has met a fault on a disk so far.
func (w *World) ProbeDisk(b history.BrokerID) (world.DiskState, error) {
	h, err := w.host(b)
	if err != nil {
		return world.DiskState{}, fmt.Errorf("look at a disk: %w", err)
	}
	return h.drive.faults.seen, nil
}

// FlipBit kills the process and inverts a bit of a partition's log above its recovery point, where every byte is as likely, but for those that
// no CRC covers; the broker dies and nothing else happens if there is none.
func (w *World) FlipBit(b history.BrokerID) (string, error) {
	h, err := w.target("flip a bit of", b, hostUp, hostPaused, hostFrozen)
	if err != nil {
		return "", err
	}
	h.end(endByKill, "killed, to flip a bit of its disk")
	detail, err := h.drive.flipBit()
	if err != nil {
		return "", fmt.Errorf("flip a bit of broker %d: %w", b, err)
	}
	w.fault(b, detail)
	w.touched(b)
	return detail, nil
}

func (d *drive) flipBit() (detail string, err error) {
	places, err := d.guarded()
	if err != nil {
		return "", err
	}
	total := 0
	for _, p := range places {
		total += int(p.To - p.From)
	}
	rnd := newStream(d.w.opt.Seed, fmt.Sprintf("bit flips of %d", d.id), d.faults.flips)
	d.faults.flips++
	if total == 0 {
		return "no log has anything above its recovery point: no bit was flipped", nil
	}
	at, bit := int64(rnd.below(total)), rnd.below(8)
	for _, p := range places {
		if size := p.To - p.From; at >= size {
			at -= size
			continue
		}
		at += p.From
		return fmt.Sprintf("flipped bit %d of byte %d of %s", bit, at, p.Path), d.flip(p.Path, at, 1<<bit)
	}
	return "", errors.New("the bit to flip is beyond all logs")
}

// guarded lists where recovery finds what became of the partitions' logs above their recovery points, in order of directory.
func (d *drive) guarded() ([]log.Place, error) {
	points, err := readCheckpoint(d, "recovery-point-offset-checkpoint")
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir("")
	if err != nil {
		return nil, err
	}
	var places []log.Place
	for _, entry := range entries {
		dir, isDir := strings.CutSuffix(entry, "/")
		tp, ok := partitionDir(dir)
		if !isDir || !ok {
			continue
		}
		guarded, err := log.Guarded(d, dir, points[tp])
		if err != nil {
			return nil, err
		}
		places = append(places, guarded...)
	}
	return places, nil
}

// flip inverts the bits of mask in a file's byte.
func (d *drive) flip(name string, at int64, mask byte) error {
	n, err := d.lookup("flip", name)
	if err != nil {
		return err
	}
	var b [1]byte
	if _, err := n.readAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= mask
	_, err = n.writeAt(d, b[:], at)
	return err
}
