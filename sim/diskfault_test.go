package sim

import (
	"testing"
	"time"

	"tidemark/broker/disk"
	"tidemark/history"
	"tidemark/world"
)

// TestLookingMeetsNoFault: what the caller's hook reads of a log after an event leaves a fault to the broker.
func TestLookingMeetsNoFault(t *testing.T) {
	const path = "orders-0/00000000000000000000.log"
	read := func(fs disk.FS) error {
		f, err := fs.Open(path, false)
		if err != nil {
			return err
		}
		var b [4]byte
		return disk.ReadFull(f, b[:], 0)
	}
	looked := 0
	var c *cluster
	look := func(time.Duration, history.BrokerID) {
		if c == nil || c.fakes[1] == nil {
			return
		}
		if _, err := c.fakes[1].fs.Open(path, false); err == nil {
			looked++
			c.must(read(c.fakes[1].fs))
		}
	}
	c = newCluster(t, Options{Seed: 1, AfterEvent: look}, 1, nil)
	c.run(func() {
		c.poke(1, func(f *fake) {
			c.must(f.fs.MkdirAll("orders-0"))
			file, err := f.fs.Open(path, true)
			c.must(err)
			_, err = file.WriteAt([]byte("text"), 0)
			c.must(err)
		})
		c.must(c.BreakDisk(1, world.FailRead))
		before := looked
		c.poke(1, func(*fake) {})
		if looked == before {
			t.Error("the hook did not look")
		}
		c.poke(1, func(f *fake) { f.out.Fatal = read(f.fs) })
		if state, err := c.ProbeDisk(1); err != nil || state.Failed != 1 || c.ProbeProcess(1) != world.ProcessGone {
			t.Errorf("%+v %v, and the broker is %s; expected it to have met the fault", state, err, c.ProbeProcess(1))
		}
	})
}
