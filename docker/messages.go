package docker

import (
	"fmt"

	"tidemark/world"
)

// Catch is not possible here.
func (c *Cluster) Catch(f world.MessageFault) (int, error) {
	return 0, fmt.Errorf("%s %s messages: %w", f.Kind, f.API, errNotHere)
}

// Caught is not possible here.
func (c *Cluster) Caught(number int) (world.Caught, error) {
	return world.Caught{}, fmt.Errorf("fault %d on messages: %w", number, errNotHere)
}

// EndCatch is not possible here.
func (c *Cluster) EndCatch(number int) error {
	return fmt.Errorf("fault %d on messages: %w", number, errNotHere)
}
