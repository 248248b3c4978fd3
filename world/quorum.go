package world

import (
	"time"

	"tidemark/history"
)

// The abilities around the controller quorum: to give a broker a new disk, to take a voter out of the quorum and in again.
const (
	CanNewDisk Ability = "newdisk"
	CanVoters  Ability = "voters"
)

// Quorum is what worlds with those abilities do.
type Quorum interface {
	// NewDisk kills the process and gives the broker an empty disk, formatted under an id of its own (KIP-853): its partitions and its
	// controller log are gone. Detail says what was removed.
	NewDisk(b history.BrokerID) (detail string, err error)
	// RemoveVoter takes a running broker out of the voters of the controller quorum (RemoveRaftVoter), AddVoter puts it back (AddRaftVoter).
	// They return once the change is committed; one that is already as asked for is no error.
	RemoveVoter(b history.BrokerID, timeout time.Duration) error
	AddVoter(b history.BrokerID, timeout time.Duration) error
	// ProbeVoter reports whether a broker is a voter on the disk that it has: it knows of it, and whoever has applied the most of the
	// metadata says so too.
	ProbeVoter(b history.BrokerID) bool
}
