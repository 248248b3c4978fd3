package log

import (
	"slices"

	"tidemark/broker/kafka"
)

// EpochStart is one entry of the leader-epoch cache: the offset of the first record that a leader of Epoch could write.
type EpochStart struct {
	Epoch kafka.Epoch
	Start kafka.Offset
}

// epochCache is Kafka's LeaderEpochFileCache: entries ascending strictly in epoch and in start.
type epochCache struct{ entries []EpochStart }

// assign adds an epoch that starts at start and drops what it contradicts: entries of the same or a later epoch, or that
// start there or later (an epoch in which nothing was written gives way to the next). It reports whether anything changed.
func (c *epochCache) assign(e kafka.Epoch, start kafka.Offset) bool {
	n := len(c.entries)
	if n > 0 && c.entries[n-1].Epoch == e && c.entries[n-1].Start <= start {
		return false
	}
	for n > 0 && (c.entries[n-1].Epoch >= e || c.entries[n-1].Start >= start) {
		n--
	}
	c.entries = append(c.entries[:n], EpochStart{e, start})
	return true
}

// trim drops the entries that start at end or later: no record below end is of those epochs (KAFKA-10706: also when no
// record had to be cut). It reports whether there were any.
func (c *epochCache) trim(end kafka.Offset) bool {
	n := len(c.entries)
	for n > 0 && c.entries[n-1].Start >= end {
		n--
	}
	changed := n < len(c.entries)
	c.entries = c.entries[:n]
	return changed
}

// trimFront drops the entries of whose epochs no record is left from start on; the one that start lies in begins there
// (LeaderEpochFileCache.truncateFromStart). It reports whether anything changed.
func (c *epochCache) trimFront(start kafka.Offset) bool {
	n := 0
	for n+1 < len(c.entries) && c.entries[n+1].Start <= start {
		n++
	}
	if len(c.entries) == 0 || c.entries[n].Start >= start {
		return false
	}
	c.entries = append(c.entries[:0], c.entries[n:]...)
	c.entries[0].Start = start
	return true
}

func (c *epochCache) latest() kafka.Epoch {
	if len(c.entries) == 0 {
		return kafka.NoEpoch
	}
	return c.entries[len(c.entries)-1].Epoch
}

// at is the epoch that the record at o was written in, by the cache.
func (c *epochCache) at(o kafka.Offset) kafka.Epoch {
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].Start <= o {
			return c.entries[i].Epoch
		}
	}
	return kafka.NoEpoch
}

// end is Log.EpochEnd for a log that ends at logEnd.
func (c *epochCache) end(asked kafka.Epoch, logEnd kafka.Offset) (kafka.Epoch, kafka.Offset) {
	if asked < 0 || len(c.entries) == 0 {
		return kafka.NoEpoch, -1
	}
	above, _ := slices.BinarySearchFunc(c.entries, asked+1, func(e EpochStart, x kafka.Epoch) int { return int(e.Epoch) - int(x) })
	switch {
	case above == len(c.entries):
		return c.entries[above-1].Epoch, logEnd
	case above == 0:
		return asked, c.entries[0].Start
	default:
		return c.entries[above-1].Epoch, c.entries[above].Start
	}
}
