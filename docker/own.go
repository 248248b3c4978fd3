package docker

import (
	"context"
	"os"
	"slices"
)

// Own lists, in words, what this process's runs have in the engine: nothing once they are over and were not to be kept.
func (e *Engine) Own(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineBound)
	defer cancel()
	here, err := thisOwner(false)
	if err != nil {
		return nil, err
	}
	found, err := e.things(ctx, "")
	return words(slices.DeleteFunc(found, func(t thing) bool {
		o := t.owner
		return o.pid != os.Getpid() || o.born != here.born || o.boot != here.boot || o.namespace != here.namespace
	})), err
}
