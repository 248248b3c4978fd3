//go:build !simonly

package harness

import (
	"tidemark/workloads"
	"tidemark/workloads/franz"
	"tidemark/world"
)

// franzClients is franz-go's clients of a cluster; the error says that its world has none.
func franzClients(cluster world.Cluster) (workloads.Foreign, error) {
	clients, err := franz.New(cluster)
	if err != nil {
		return nil, err
	}
	return clients, nil
}
