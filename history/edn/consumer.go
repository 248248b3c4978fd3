package edn

import (
	"math"

	"tidemark/history"
)

// consumer is where a process reads on, as far as its operations tell.
type consumer struct {
	subscribed bool // its keys may be taken and given at any time
	next       map[history.Partition]history.Offset
	came       map[history.Partition]history.Offset // of a subscribed one: where its last answer ended, while it kept the key
}

func (b *builder) consumer(process int32) *consumer {
	c := b.consumers[process]
	if c == nil {
		c = &consumer{next: map[history.Partition]history.Offset{}, came: map[history.Partition]history.Offset{}}
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
	clear(c.came)
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
	n := len(records)
	switch {
	case n == 0 || records[n-1].Offset == math.MaxInt64:
	case c.subscribed:
		c.came[key] = records[n-1].Offset + 1
	default:
		c.next[key] = records[n-1].Offset + 1
	}
}

// passes is the stretch from a subscribed consumer's last answer to records of its next one. Its group may have had another member read on
// there for a while, so the consumer has skipped nothing; but what no member's answer holds of such a stretch nobody was given.
func (c *consumer) passes(key history.Partition, records []history.Record) (over span, ok bool) {
	at, known := c.came[key]
	if !known || len(records) == 0 || records[0].Offset <= at {
		return span{}, false
	}
	return span{at, records[0].Offset}, true
}

// forget is called where the consumer may have moved.
func (c *consumer) forget(key history.Partition) {
	delete(c.next, key)
	delete(c.came, key)
}
