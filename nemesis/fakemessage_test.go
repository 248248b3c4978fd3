package nemesis

import (
	"fmt"
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// fakeCatch is a fault on messages. Between two running brokers, and to clients, a message of every kind goes each second; nobody adds
// voters.
type fakeCatch struct {
	world.MessageFault
	at    time.Duration
	seen  int64
	done  int64
	ended bool
}

const fakeMessages = time.Second

func (c *fakeCluster) Catch(f world.MessageFault) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call("Catch")
	if !ok && err == nil {
		f.API = "add-raft-voter"
	}
	c.holds = append(c.holds, &fakeCatch{MessageFault: f, at: c.env.Now()})
	return len(c.holds), err
}

func (c *fakeCluster) Caught(number int) (world.Caught, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.call("Caught")
	f := c.holds[number-1]
	if f.ended {
		return world.Caught{}, fmt.Errorf("fault %d has ended", number)
	}
	for ; f.at+fakeMessages <= c.env.Now() && f.API != "add-raft-voter"; f.at += fakeMessages {
		for _, l := range f.Links {
			if c.talks(l.From) && c.talks(l.To) {
				f.seen++
				if f.Nth == 0 || f.seen == int64(f.Nth) {
					f.done++
					c.change++ // if nothing else, somebody waits or asks again
				}
			}
		}
	}
	return world.Caught{Messages: f.done}, err
}

func (c *fakeCluster) EndCatch(number int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call("EndCatch")
	if ok {
		c.holds[number-1].ended = true
	}
	return err
}

// talks reports whether an end of a link can send and receive.
func (c *fakeCluster) talks(b history.BrokerID) bool {
	return b == history.NoBroker || slices.Contains(c.ids, b) && c.runs(b)
}
