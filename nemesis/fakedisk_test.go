package nemesis

import (
	"fmt"

	"tidemark/history"
	"tidemark/world"
)

// fakeDisk is a disk that a fault waits on. A broker that runs writes all the time, and dies of the first error.
type fakeDisk struct {
	next world.DiskFault
	slow float64
	seen world.DiskState
}

func (c *fakeCluster) disk(b history.BrokerID) *fakeDisk {
	if c.disks[b] == nil {
		c.disks[b] = &fakeDisk{}
	}
	return c.disks[b]
}

func (c *fakeCluster) BreakDisk(b history.BrokerID, how world.DiskFault) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call("BreakDisk")
	d := c.disk(b)
	switch {
	case !ok:
	case !c.runs(b):
		return fmt.Errorf("%s of broker %d: it is %s", how, b, c.node[b].state)
	case how == world.FailRead: // all that is read is in memory
		d.next = how
	default:
		d.seen.Failed++
		d.seen.Last = string(how) + " on orders-0/00000000000000000000.log"
		c.node[b].state = world.ProcessGone
	}
	return err
}

func (c *fakeCluster) MendDisk(b history.BrokerID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call("MendDisk")
	if ok {
		c.disk(b).next = world.NoDiskFault
	}
	return err
}

func (c *fakeCluster) SlowDisk(b history.BrokerID, times float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call("SlowDisk")
	if ok {
		c.disk(b).slow = times
	}
	return err
}

func (c *fakeCluster) FlipBit(b history.BrokerID) (string, error) {
	err := c.become("FlipBit", b, []world.ProcessState{world.ProcessRunning, world.ProcessPaused}, world.ProcessGone)
	return "flipped bit 3 of byte 77 of orders-0/00000000000000000000.log", err
}

// ProbeDisk finds that one more flush took its time on a slow disk whenever it looks.
func (c *fakeCluster) ProbeDisk(b history.BrokerID) (world.DiskState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.call("ProbeDisk")
	d := c.disk(b)
	if d.slow > 1 && c.runs(b) {
		d.seen.Slowed++
	}
	return d.seen, err
}
