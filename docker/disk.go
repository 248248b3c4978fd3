package docker

import (
	"fmt"

	"tidemark/history"
	"tidemark/world"
)

// A container has no disk of its own: its files lie on that of the machine, which no fault may touch.

// BreakDisk is not possible here.
func (c *Cluster) BreakDisk(b history.BrokerID, how world.DiskFault) error {
	return fmt.Errorf("%s on broker %d: %w", how, b, errNotHere)
}

// MendDisk is not possible here.
func (c *Cluster) MendDisk(b history.BrokerID) error {
	return fmt.Errorf("disk of broker %d: %w", b, errNotHere)
}

// SlowDisk is not possible here.
func (c *Cluster) SlowDisk(b history.BrokerID, times float64) error {
	return fmt.Errorf("disk of broker %d, %v times slower: %w", b, times, errNotHere)
}

// FlipBit is not possible here.
func (c *Cluster) FlipBit(b history.BrokerID) (string, error) {
	return "", fmt.Errorf("bit flip on broker %d: %w", b, errNotHere)
}

// ProbeDisk is not possible here.
func (c *Cluster) ProbeDisk(b history.BrokerID) (world.DiskState, error) {
	return world.DiskState{}, fmt.Errorf("disk of broker %d: %w", b, errNotHere)
}
