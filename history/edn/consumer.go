package edn

import (
	"math"

	"tidemark/history"
)

// consumer is where a process reads on, as far as its operations tell.
type consumer struct {
	subscribed bool // its keys may be taken and given at any time
	next       map[history.Partition]history.Offset
}

func (b *builder) consumer(process int32) *consumer {
	c := b.consumers[process]
	if c == nil {
		c = &consumer{next: map[history.Partition]history.Offset{}}
		b.consumers[process] = c
	}
	return c
}

// assign takes in an assign or subscribe that completed. What is not known to have worked leaves no position behind that is certain.
func (c *consumer) assign(u *underway, outcome history.Outcome) {
	if outcome == history.Fail {
		return
	}
	kept := c.next
	c.next = make(map[history.Partition]history.Offset, len(u.keys))
	c.subscribed = u.f == "subscribe"
	if c.subscribed || outcome != history.OK {
		return
	}
	for _, key := range u.keys {
		if next, had := kept[key]; u.beginning {
			c.next[key] = 0
		} else if had {
			c.next[key] = next
		}
	}
}

// position is where a poll began that returned records.
func (c *consumer) position(key history.Partition, records []history.Record) history.Offset {
	if next, known := c.next[key]; known {
		return next
	}
	if len(records) > 0 {
		return records[0].Offset
	}
	return history.UnknownOffset
}

// read moves on behind records.
func (c *consumer) read(key history.Partition, records []history.Record) {
	if n := len(records); n > 0 && !c.subscribed && records[n-1].Offset < math.MaxInt64 {
		c.next[key] = records[n-1].Offset + 1
	}
}

// forget is called where the consumer may have moved.
func (c *consumer) forget(key history.Partition) { delete(c.next, key) }
