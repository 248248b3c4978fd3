package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// output is standard output, which all commands write their results to. It takes everything, so that no command has to look after each of its lines and
// none stops half way, and remembers the first error, which is told once, at the end of all.
type output struct {
	w io.Writer

	mu    sync.Mutex
	first error
}

// Write writes text, or remembers why it could not. It takes all.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.w.Write(text); err != nil && o.first == nil {
		o.first = err
	}
	return len(text), nil
}

// lost is why something that was written is not there. A pipe whose reader went away, as head does, has lost nothing that anybody wants.
func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil || errors.Is(o.first, syscall.EPIPE) {
		return nil
	}
	why := o.first
	var at *fs.PathError
	if errors.As(why, &at) {
		why = at.Err // what it is called is known
	}
	return fmt.Errorf("standard output: %w", why)
}
