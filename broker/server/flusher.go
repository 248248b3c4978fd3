package server

import (
	"sync"

	"tidemark/broker/disk"
)

// flusher runs flushes one after another, in order. The node bounds how many wait: one for each replica and the controller's log.
type flusher struct {
	mu    sync.Mutex
	queue []disk.Flush
	some  chan struct{} // holds one while queue may not be empty
}

func newFlusher() flusher { return flusher{some: make(chan struct{}, 1)} }

func (f *flusher) add(flush disk.Flush) {
	f.mu.Lock()
	f.queue = append(f.queue, flush)
	f.mu.Unlock()
	select {
	case f.some <- struct{}{}:
	default:
	}
}

func (f *flusher) take() []disk.Flush {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.queue
	f.queue = nil
	return taken
}

// waiting is how many flushes have not begun.
func (f *flusher) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue)
}

// flush is the flusher's goroutine. When the broker is closed it stops between two steps, as a process does that is killed.
func (s *Server) flush() {
	for {
		select {
		case <-s.flusher.some:
		case <-s.quit:
			return
		}
		for _, f := range s.flusher.take() {
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
