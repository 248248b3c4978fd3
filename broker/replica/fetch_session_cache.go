package replica

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"tidemark/broker/kafka"
)

// sessionEvictionAge is how long a session stays that is not used, and how long a new one is safe from larger ones (Kafka's
// MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS).
const sessionEvictionAge = 2 * time.Minute

// cachedPartitionsMax bounds what all sessions of a broker remember together. Kafka bounds their number only.
const cachedPartitionsMax = 200_000

// fetchSessionCache holds a broker's fetch sessions (Kafka's FetchSessionCacheShard; a single thread needs one shard).
type fetchSessionCache struct {
	slots    int             // max.incremental.fetch.session.cache.slots
	most     int             // partitions that all of them may remember
	sessions []*fetchSession // by id, ascending
	cached   int             // partitions of all of them
	seed     uint64          // of the ids
}

// FetchSessions is how many fetch sessions this broker keeps as a leader, and how many partitions they remember (Kafka's metrics
// NumIncrementalFetchSessions and NumIncrementalFetchPartitionsCached).
func (m *Manager) FetchSessions() (sessions, partitions int) {
	return len(m.sessions.sessions), m.sessions.cached
}

func (c *fetchSessionCache) search(id int32) (int, bool) {
	return slices.BinarySearchFunc(c.sessions, id, func(s *fetchSession, id int32) int { return cmp.Compare(s.id, id) })
}

// find returns the session of that id, nil if there is none.
func (c *fetchSessionCache) find(id int32) *fetchSession {
	if i, found := c.search(id); found {
		return c.sessions[i]
	}
	return nil
}

// close forgets the session of that id, if there is one.
func (c *fetchSessionCache) close(id int32) {
	if i, found := c.search(id); found {
		c.cached -= c.sessions[i].size
		c.sessions = slices.Delete(c.sessions, i, i+1)
	}
}

// open makes a session from a full fetch that was answered, and returns its id: noSession if there is no room and nothing that may be evicted.
func (c *fetchSessionCache) open(op *fetchOp, now time.Duration) int32 {
	if len(op.targets) == 0 || c.cached+len(op.targets) > c.most {
		return noSession
	}
	if len(c.sessions) >= c.slots && !c.evict(op.follower != kafka.NoBroker, len(op.targets), now) {
		return noSession
	}
	s := newSession(op)
	s.id, s.created = c.newID(), now
	i, _ := c.search(s.id)
	c.sessions = slices.Insert(c.sessions, i, s)
	c.touch(s, now)
	return s.id
}

// touch takes down that a session is used. False: it has grown beyond what all may have, and is closed.
func (c *fetchSessionCache) touch(s *fetchSession, now time.Duration) bool {
	if grown := len(s.parts) - s.size; c.cached+grown > c.most {
		c.close(s.id)
		return false
	}
	c.cached += len(s.parts) - s.size
	s.used, s.size, s.evictable = now, len(s.parts), now-s.created > sessionEvictionAge
	return true
}

// evict makes room for a newcomer: the session that was not used for longest goes, if that is long, else the least valuable of those that the
// newcomer may replace, if it is worth less (FetchSessionCacheShard.tryEvict).
func (c *fetchSessionCache) evict(privileged bool, size int, now time.Duration) bool {
	var oldest, least *fetchSession
	for _, s := range c.sessions {
		if oldest == nil || s.used < oldest.used {
			oldest = s
		}
		if (s.evictable || privileged && !s.privileged) && (least == nil || worth(s.privileged, s.size, least.privileged, least.size) < 0) {
			least = s
		}
	}
	switch {
	case oldest != nil && now-oldest.used > sessionEvictionAge:
		c.close(oldest.id)
	case least != nil && worth(privileged, size, least.privileged, least.size) > 0:
		c.close(least.id)
	default:
		return false
	}
	return true
}

// worth compares two sessions: a follower's is worth more than a consumer's, then a larger one (Kafka's EvictableKey).
func worth(privileged bool, size int, otherPrivileged bool, otherSize int) int {
	if privileged != otherPrivileged {
		if privileged {
			return 1
		}
		return -1
	}
	return cmp.Compare(size, otherSize)
}

// SetIncarnation hands in the random id of this incarnation of the broker, from which it makes the ids of its fetch sessions.
func (m *Manager) SetIncarnation(id [16]byte) { m.sessions.seed = binary.BigEndian.Uint64(id[:]) }

// newID makes the id of a session. It must not be one that an earlier incarnation of the broker gave out, whose clients would take this session
// for theirs: Kafka draws it at random, here it is drawn from a stream that the incarnation's id begins (SplitMix64).
func (c *fetchSessionCache) newID() int32 {
	for {
		c.seed += 0x9e3779b97f4a7c15
		x := c.seed
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		id := int32((x ^ x>>31) & (1<<31 - 1))
		if _, found := c.search(id); id != noSession && !found {
			return id
		}
	}
}
