//go:build simonly

package harness

import (
	"errors"

	"tidemark/workloads"
	"tidemark/world"
)

// franzClients is an error in a program that was built without the container world.
func franzClients(world.Cluster) (workloads.Foreign, error) {
	return nil, errors.New("franz-go: built without the container world")
}
