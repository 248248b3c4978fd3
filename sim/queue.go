package sim

import "time"

// handler is what an event does when its time comes.
type handler interface{ fire() }

// event is something that happens at a time. It is part of whatever it concerns (a pipe, a timer, a coroutine), so that
// scheduling allocates nothing; it is in the queue at most once.
type event struct {
	h   handler
	at  time.Duration
	pos int // in the heap, from 1; 0 while not queued
}

func (e *event) queued() bool { return e.pos > 0 }

// call is an event's handler that is a plain function.
type call func()

func (c call) fire() { c() }

// queue orders events by time, and events of one time by when they were scheduled: a 4-ary heap, since a wide heap moves
// fewer entries and the four children of an entry lie side by side.
type queue struct {
	heap []entry
	seq  uint64
}

type entry struct {
	at  time.Duration
	seq uint64
	ev  *event
}

func (a entry) before(b entry) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// schedule puts an event into the queue, behind everything that is due at the same time; one that is queued already moves.
func (q *queue) schedule(ev *event, at time.Duration) {
	q.seq++
	ev.at = at
	e := entry{at, q.seq, ev}
	if ev.queued() {
		q.place(ev.pos-1, e)
		return
	}
	q.heap = append(q.heap, e)
	q.up(len(q.heap)-1, e)
}

// cancel takes an event out; one that is not queued is left alone.
func (q *queue) cancel(ev *event) {
	if !ev.queued() {
		return
	}
	i := ev.pos - 1
	ev.pos = 0
	last := len(q.heap) - 1
	moved := q.heap[last]
	q.heap[last] = entry{}
	q.heap = q.heap[:last]
	if i < last {
		q.place(i, moved)
	}
}

// pop takes the next event out, nil if there is none.
func (q *queue) pop() *event {
	if len(q.heap) == 0 {
		return nil
	}
	ev := q.heap[0].ev
	q.cancel(ev)
	return ev
}

// place puts e at i or wherever it belongs from there.
func (q *queue) place(i int, e entry) {
	if i > 0 && e.before(q.heap[(i-1)/4]) {
		q.up(i, e)
	} else {
		q.down(i, e)
	}
}

func (q *queue) up(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(q.heap[parent]) {
			break
		}
		q.set(i, q.heap[parent])
		i = parent
	}
	q.set(i, e)
}

func (q *queue) down(i int, e entry) {
	n := len(q.heap)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if q.heap[c].before(q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(e) {
			break
		}
		q.set(i, q.heap[least])
		i = least
	}
	q.set(i, e)
}

func (q *queue) set(i int, e entry) {
	q.heap[i] = e
	e.ev.pos = i + 1
}
