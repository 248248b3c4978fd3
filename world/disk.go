package world

import "tidemark/history"

// The abilities that concern disks, by the names that plans use.
const (
	CanIOError    Ability = "ioerror"
	CanShortWrite Ability = "shortwrite"
	CanFailSync   Ability = "failsync"
	CanSlowDisk   Ability = "slowdisk"
	CanBitFlip    Ability = "bitflip"
	CanPowerOff   Ability = "poweroff" // a controlled shutdown, and then a power failure
)

// DiskFault is what the next operation of its kind on the log of a partition meets.
type DiskFault string

// The disk faults.
const (
	NoDiskFault DiskFault = ""
	FailWrite   DiskFault = "write error" // EIO; nothing is written
	FailRead    DiskFault = "read error"  // EIO
	ShortWrite  DiskFault = "short write" // the first part is written, and the error says that it was no more
	FailSync    DiskFault = "sync error"  // EIO; what it covered is gone once the process ends, as at a power failure
)

// DiskState is what has met a fault on a broker's disk so far.
type DiskState struct {
	Failed int64  // operations that BreakDisk let fail
	Last   string // the last of them in words
	Slowed int64  // writes and syncs that SlowDisk let take longer
}

// Disks is the faults that a cluster can do to its brokers' disks.
type Disks interface {
	// BreakDisk lets the next such operation of a running broker fail, once.
	BreakDisk(b history.BrokerID, how DiskFault) error
	// MendDisk ends that, where nothing has met it.
	MendDisk(b history.BrokerID) error
	// SlowDisk lets a broker's flushes take so many times longer from now on; 1 is as they were.
	SlowDisk(b history.BrokerID, times float64) error
	// FlipBit kills the process and then inverts one bit of a partition's log, above its recovery point, that recovery cannot miss: not one of a
	// batch's leader epoch, which no CRC covers. Detail says which.
	FlipBit(b history.BrokerID) (detail string, err error)
	// ProbeDisk tells what has met a fault.
	ProbeDisk(b history.BrokerID) (DiskState, error)
}
