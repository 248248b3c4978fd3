package server

import (
	"sync"

	"tidemark/broker/disk"
)

// flusher runs flushes one at a time, in order, urgent ones before all that have not begun. The node bounds how many wait: one for each
// replica and the controller's log.
type flusher struct {
	mu     sync.Mutex
	urgent []disk.Flush
	queue  []disk.Flush
	some   chan struct{} // holds one while something may wait
}

func newFlusher() flusher { return flusher{some: make(chan struct{}, 1)} }

func (f *flusher) add(flush disk.Flush) {
	f.mu.Lock()
	if flush.Urgent {
		f.urgent = append(f.urgent, flush)
	} else {
		f.queue = append(f.queue, flush)
	}
	f.mu.Unlock()
	select {
	case f.some <- struct{}{}:
	default:
	}
}

// take is the flush whose turn it is; false when none waits.
func (f *flusher) take() (next disk.Flush, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := &f.queue
	if len(f.urgent) > 0 {
		from = &f.urgent
	}
	if len(*from) == 0 {
		return next, false
	}
	next, *from = (*from)[0], (*from)[1:]
	return next, true
}

// waiting is how many flushes have not begun.
func (f *flusher) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.urgent) + len(f.queue)
}

// flush is the flusher's goroutine. When the broker is closed it stops between two steps, as a process does that is killed.
func (s *Server) flush() {
	for {
		select {
		case <-s.flusher.some:
		case <-s.quit:
			return
		}
		for f, ok := s.flusher.take(); ok; f, ok = s.flusher.take() {
			err := s.runFlush(f)
			s.metrics.flushes.Add(1)
			if !s.post(event{kind: evFlushed, flush: f.ID, err: err}) {
				return
			}
		}
	}
}

func (s *Server) runFlush(f disk.Flush) error {
	for _, step := range f.Steps {
		select {
		case <-s.quit:
			return ErrClosed
		default:
		}
		if err := disk.Run(s.store.fs, step); err != nil {
			return err
		}
	}
	return nil
}
