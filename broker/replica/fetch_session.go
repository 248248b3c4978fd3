package replica

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
)

// This file is the leader's side of incremental fetch sessions (KIP-227): a broker remembers what a client asked for, so that its next fetch
// names only what changed, and is answered with only what is new. The names are those of Kafka's FetchSession.scala.

// What a fetch says of its session (Kafka's FetchMetadata): noSession with initialEpoch asks for a new one, finalEpoch for none; either ends the
// session that it names.
const (
	noSession    int32 = 0
	initialEpoch int32 = 0
	finalEpoch   int32 = -1
)

// nextEpoch is the session epoch of the fetch after one that was answered (FetchMetadata.nextEpoch).
func nextEpoch(e int32) int32 {
	switch {
	case e < 0:
		return finalEpoch
	case e == 1<<31-1:
		return 1
	default:
		return e + 1
	}
}

// fetchSession is what a broker remembers of one client's fetches.
type fetchSession struct {
	id         int32
	epoch      int32 // of the fetch that comes next
	privileged bool  // a follower's
	byID       bool  // it names topics by id
	parts      []*cachedPartition
	index      map[partitionKey]*cachedPartition

	created, used time.Duration
	size          int  // when it was last used
	evictable     bool // by every newcomer, when it was last used
}

// partitionKey names a partition as the client does: by topic id or by topic name.
type partitionKey struct {
	id    kafka.TopicID
	topic string
	index int32
}

// cachedPartition is one partition of a session: what the client asked for last, and what it was told last.
type cachedPartition struct {
	key  partitionKey
	name string // its topic's, once it is known: of a topic that is deleted and made anew the session keeps the old id
	want fetchTarget
	told told
}

// told is what an answer says of a partition beside records.
type told struct {
	hw, start kafka.Offset
	records   bool
	failed    bool
	redirect  bool // it names a diverging epoch, or another replica to read from
}

func tell(out *kmsg.FetchResponseTopicPartition) told {
	return told{
		hw: kafka.Offset(out.HighWatermark), start: kafka.Offset(out.LogStartOffset), records: len(out.RecordBatches) > 0, failed: out.ErrorCode != 0,
		redirect: out.DivergingEpoch.Epoch >= 0 || out.PreferredReadReplica >= 0,
	}
}

// mustTell reports whether an incremental answer has to contain a partition, given what its client was told before (Kafka's
// CachedPartition.maybeUpdateResponseData).
func mustTell(now, before told) bool {
	return now.records || now.failed || now.redirect || now.hw != before.hw || now.start != before.start
}

// remember takes down what an answer told. After an error nothing counts as told, so that the partition is in the answer when it is over; nor
// after a diverging epoch, with which followers do not look at the high watermark (where Kafka lets them wait for the next one).
func (c *cachedPartition) remember(t told) {
	c.told = t
	if t.failed || t.redirect {
		c.told.hw = -1
	}
}

func newSession(op *fetchOp) *fetchSession {
	s := &fetchSession{privileged: op.follower != kafka.NoBroker, byID: op.byID(), epoch: nextEpoch(initialEpoch)}
	s.index = make(map[partitionKey]*cachedPartition, len(op.targets))
	next := 0
	for _, t := range op.topics {
		for i := next; i < next+t.n; i++ {
			s.ask(s.key(t.name, t.id, op.targets[i].index), op.targets[i]).remember(op.targets[i].told)
		}
		next += t.n
	}
	return s
}

// ask adds a partition, or takes down what the client now asks for there.
func (s *fetchSession) ask(key partitionKey, want fetchTarget) *cachedPartition {
	c := s.index[key]
	if c == nil {
		c = &cachedPartition{key: key, told: told{hw: -1, start: -1}}
		s.index[key] = c
		s.parts = append(s.parts, c)
	}
	if want.p == nil {
		want.p = c.want.p
	} else {
		c.name = want.p.tp.Topic
	}
	c.want, c.want.cached = want, c
	return c
}

// update takes the partitions that an incremental fetch names, and drops those that it forgets.
func (s *fetchSession) update(req *kmsg.FetchRequest) {
	for i := range req.Topics {
		t := &req.Topics[i]
		for k := range t.Partitions {
			s.ask(s.key(t.Topic, t.TopicID, t.Partitions[k].Partition), wanted(&t.Partitions[k]))
		}
	}
	if len(req.ForgottenTopics) == 0 {
		return
	}
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, index := range t.Partitions {
			delete(s.index, s.key(t.Topic, t.TopicID, index))
		}
	}
	s.parts = slices.DeleteFunc(s.parts, func(c *cachedPartition) bool { return s.index[c.key] != c })
}

func (s *fetchSession) key(topic string, id kafka.TopicID, index int32) partitionKey {
	if s.byID {
		return partitionKey{id: id, index: index}
	}
	return partitionKey{topic: topic, index: index}
}

// resolveSession makes all partitions of its session the targets of an incremental fetch. A replica that was found once stays the right one
// until it is removed, or taken for that of another topic id.
func (m *Manager) resolveSession(op *fetchOp) {
	s := op.session
	op.targets = make([]fetchTarget, len(s.parts))
	for i, c := range s.parts {
		if p := c.want.p; p == nil || p.removed || s.byID && p.topicID != c.key.id {
			m.resolveCached(s, c)
		}
		if n := len(op.topics); n == 0 || op.topics[n-1].id != c.key.id || op.topics[n-1].name != c.key.topic {
			op.topics = append(op.topics, fetchTopic{name: c.key.topic, id: c.key.id})
		}
		op.topics[len(op.topics)-1].n++
		op.targets[i] = c.want
	}
}

// resolveCached finds the replica of a session's partition. The name of a topic id is looked up until it is known, and not again (Kafka's
// CachedPartition.maybeResolveUnknownName): if another topic has that name later, the id is INCONSISTENT_TOPIC_ID.
func (m *Manager) resolveCached(s *fetchSession, c *cachedPartition) {
	code := kafka.None
	if c.name == "" {
		c.name, code = m.topicName(s.byID, c.key.topic, c.key.id)
	}
	c.want.p, c.want.code = m.resolve(s.byID, c.name, c.key.id, c.key.index, code)
}

// answered takes down what an incremental answer told. Partitions that had records go to the end of the session: they are looked at last in
// the next fetch, so that busy ones do not starve the others (IncrementalFetchContext's PartitionIterator).
func (s *fetchSession) answered(op *fetchOp) {
	busy := 0
	for i := range op.targets {
		t := &op.targets[i]
		t.cached.remember(t.told)
		if t.told.records {
			busy++
		}
	}
	if busy == 0 || busy == len(s.parts) {
		return
	}
	quiet := make([]*cachedPartition, 0, len(s.parts))
	moved := make([]*cachedPartition, 0, busy)
	for _, c := range s.parts {
		if c.told.records {
			moved = append(moved, c)
		} else {
			quiet = append(quiet, c)
		}
	}
	s.parts = append(quiet, moved...)
}

// sessionOf finds out what a fetch means for its session, and makes it an incremental one of that session, a full one that opens another, or
// one without (FetchManager.newContext).
func (m *Manager) sessionOf(req *kmsg.FetchRequest, op *fetchOp) kafka.Code {
	if req.Version < firstSessionVersion {
		return kafka.None
	}
	if req.SessionEpoch == initialEpoch || req.SessionEpoch == finalEpoch {
		m.sessions.close(req.SessionID)
		op.opens = req.SessionEpoch == initialEpoch
		return kafka.None
	}
	s := m.sessions.find(req.SessionID)
	switch {
	case s == nil:
		return kafka.FetchSessionIDNotFound
	case s.epoch != req.SessionEpoch:
		return kafka.InvalidFetchSessionEpoch
	case s.byID != op.byID():
		return kafka.FetchSessionTopicIDError
	}
	s.update(req)
	if len(s.parts) == 0 {
		m.sessions.close(s.id)
		return kafka.None
	}
	if !m.sessions.touch(s, m.now) {
		return kafka.FetchSessionIDNotFound
	}
	s.epoch = nextEpoch(s.epoch)
	op.session, op.sessionEpoch = s, s.epoch
	return kafka.None
}

// firstSessionVersion is the version of Fetch from which there are sessions.
const firstSessionVersion = 7

// conclude makes what was read the answer to a fetch, as far as its session goes: a session is opened, or what was told is taken down. While
// an incremental fetch waited its client may have gone on with the next one: then this one's answer must not be taken for that one's.
func (m *Manager) conclude(op *fetchOp, resp *kmsg.FetchResponse) *kmsg.FetchResponse {
	switch s := op.session; {
	case s != nil && s.epoch != op.sessionEpoch:
		return &kmsg.FetchResponse{Version: op.version, ErrorCode: int16(kafka.InvalidFetchSessionEpoch), SessionID: s.id}
	case s != nil:
		s.answered(op)
		resp.SessionID = s.id
	case op.opens:
		resp.SessionID = m.sessions.open(op, m.now)
	}
	return resp
}
