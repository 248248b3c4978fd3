package sim

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Who only looks after an event meets no error of a disk, which is left for the broker.
func TestALookMeetsNoDiskFault(t *testing.T) {
	const name = "orders-0/00000000000000000000.log"
	var c *cluster
	read := func() error {
		file, err := c.fakes[1].fs.Open(name, false)
		c.must(err)
		_, err = file.ReadAt(make([]byte, 4), 0)
		return errors.Join(err, file.Close())
	}
	looks := 0
	c = newCluster(t, Options{Seed: 1, AfterEvent: func(time.Duration, history.BrokerID) {
		if looks++; looks > 1 { // the first is that of the start
			c.must(read())
		}
	}}, 1, nil)
	c.run(func() {
		fs := c.fakes[1].fs
		c.must(fs.MkdirAll("orders-0"))
		file, err := fs.Open(name, true)
		c.must(err)
		_, err = file.WriteAt([]byte("data"), 0)
		c.must(err)
		c.must(c.BreakDisk(1, world.FailRead))
		for range 3 {
			c.poke(1, func(*fake) {})
		}
		if err := read(); !errors.Is(err, syscall.EIO) {
			t.Errorf("the broker's own read: %v, expected EIO", err)
		}
	})
	if looks < 3 {
		t.Errorf("%d looks, expected 3", looks)
	}
}
