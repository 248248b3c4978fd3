package sim

import (
	"time"

	"tidemark/broker/disk"
)

// How long disk work takes.
const (
	syncMin     = 300 * time.Microsecond
	syncMax     = 10 * time.Millisecond
	syncSlowMax = 200 * time.Millisecond
	syncSlow    = 0.005 // chance
	diskWorkMin = 10 * time.Microsecond
	diskWorkMax = 100 * time.Microsecond
)

// flushQueue carries out a broker's flushes one at a time, step by step: a crash may fall between two steps, or into one. Urgent ones
// overtake those that have not begun.
type flushQueue struct {
	h       *host
	urgent  fifo[disk.Flush]
	queue   fifo[disk.Flush]
	current disk.Flush // under way
	busy    bool       // there is one
	step    int        // under way, of the current flush
	work    event      // when the step under way is done
	waiting bool       // a step was done while the process was halted
	err     error      // outcome of the current flush
}

func (q *flushQueue) add(f disk.Flush) {
	if f.Urgent {
		q.urgent.push(f)
	} else {
		q.queue.push(f)
	}
	if !q.busy {
		q.next()
	}
}

// next begins the flush whose turn it is, if there is one.
func (q *flushQueue) next() {
	switch {
	case q.urgent.len() > 0:
		q.current = q.urgent.pop()
	case q.queue.len() > 0:
		q.current = q.queue.pop()
	default:
		q.current, q.busy = disk.Flush{}, false
		return
	}
	q.step, q.err, q.busy = 0, nil, true
	q.begin()
}

// begin starts the next step of the current flush, or its report if there is none.
func (q *flushQueue) begin() {
	h := q.h
	f := &q.current
	if q.step == len(f.Steps) || q.err != nil {
		h.w.queue.schedule(&q.work, h.w.now)
		return
	}
	s := &f.Steps[q.step]
	latency := h.rnd.between(diskWorkMin, diskWorkMax)
	if s.Op == disk.SyncFile || s.Op == disk.SyncDir {
		// Skewed towards fast: the square of a uniform draw.
		u := h.rnd.unit()
		latency = syncMin + time.Duration(u*u*float64(syncMax-syncMin))
		if h.rnd.chance(syncSlow) {
			latency = h.rnd.between(syncMax, syncSlowMax)
		}
	}
	if times := h.drive.faults.times; times > 0 {
		latency = time.Duration(float64(latency) * times)
		h.drive.faults.seen.Slowed++
	}
	if s.Op == disk.SyncFile {
		h.drive.beginSync(s.Path)
	}
	h.w.queue.schedule(&q.work, h.w.now+latency)
}

// pace lets the rest of the step under way take so many times longer, where it took so many times before. A sync that a slow disk would still be busy
// with for a minute is done soon once the disk is well.
func (q *flushQueue) pace(before, now float64) {
	if q.step == len(q.current.Steps) || !q.work.queued() || before == now {
		return
	}
	left := q.work.at - q.h.w.now
	q.h.w.queue.schedule(&q.work, q.h.w.now+time.Duration(float64(left)*now/before))
	if now > before {
		q.h.drive.faults.seen.Slowed++
	}
}

// fire is the end of the step under way.
func (q *flushQueue) fire() {
	h := q.h
	f := &q.current
	if q.step < len(f.Steps) && q.err == nil {
		h.w.events++
		s := &f.Steps[q.step]
		q.err = h.drive.do(s)
		q.step++
		if h.w.note(noteFlush, h.id, uint64(f.ID), uint64(q.step), nil) {
			text := "flush: " + s.String()
			if q.err != nil {
				text += ": " + q.err.Error()
			}
			h.w.tell(h.id, text)
		}
		if q.step < len(f.Steps) && q.err == nil {
			if q.waiting = h.state.halted(); !q.waiting {
				q.begin()
			}
			return
		}
	}
	h.input(input{kind: inFlushed})
}

// report tells the node how its current flush ended, and goes on with the next.
func (q *flushQueue) report() {
	h := q.h
	id, err := q.current.ID, q.err
	q.next()
	h.node.Flushed(h.local(), id, err)
}

// resume goes on after a pause.
func (q *flushQueue) resume() {
	if q.waiting {
		q.waiting = false
		q.begin()
	}
}

// abort ends everything that is queued, as the end of a process does.
func (q *flushQueue) abort() {
	q.h.w.queue.cancel(&q.work)
	q.h.drive.abortSync()
	*q = flushQueue{h: q.h, work: q.work}
}
