package server

import (
	"sync/atomic"
	"testing"
)

// TestNoEventIsLost puts more events before the loop than it handles at once: each is handled.
func TestNoEventIsLost(t *testing.T) {
	c := start(t, 1)
	s := c.servers[0]
	const count = 5 * batchMax
	begun, resume := make(chan struct{}), make(chan struct{})
	s.post(event{kind: evLook, look: func() { close(begun); <-resume }})
	<-begun
	var seen atomic.Int64
	for range count {
		s.post(event{kind: evLook, look: func() { seen.Add(1) }})
	}
	close(resume)
	c.eventually("every event is handled", func() bool { return seen.Load() == count })
}
