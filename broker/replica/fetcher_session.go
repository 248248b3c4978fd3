package replica

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
)

// leaderSession is a follower's side of its fetch session with one leader (KIP-227; Kafka's FetchSessionHandler). The leader remembers the
// partitions of the last fetch; the zero value is no session yet.
type leaderSession struct {
	id    int32
	epoch int32   // of the next fetch, or of the outstanding one
	parts []asked // by the last fetch, in order of partition
	spare []asked // the list before, to be used again
}

// full reports whether the next fetch names all partitions.
func (s *leaderSession) full() bool { return s.epoch == initialEpoch }

// restart makes the next fetch a full one, which ends this session and asks for another: the leader may or may not have had the last one.
func (s *leaderSession) restart() { s.epoch = initialEpoch }

// begin returns an empty list, for what the next fetch is to ask for, in order of partition.
func (s *leaderSession) begin() []asked { return s.spare[:0] }

// ask writes what is due into a request. A leader fills its response in the order of a full request, up to a limit: so each begins at another
// partition, or the last ones would starve behind busy first ones (Kafka's PartitionStates); in a session the leader sees to that.
func (s *leaderSession) ask(req *kmsg.FetchRequest, due []asked, turn int, maxBytes int32) {
	before := s.parts
	s.parts, s.spare = due, before
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	if s.full() {
		for i := range due {
			addAsked(req, &due[(turn+i)%len(due)], maxBytes)
		}
		return
	}
	for i := range due {
		a := &due[i]
		for len(before) > 0 && before[0].p.tp.Compare(a.p.tp) < 0 {
			addForgotten(req, &before[0])
			before = before[1:]
		}
		if len(before) == 0 || before[0].p.tp != a.p.tp {
			addAsked(req, a, maxBytes)
			continue
		}
		switch was := &before[0]; {
		case was.id != a.id:
			addForgotten(req, was)
			addAsked(req, a, maxBytes)
		case was.want != a.want:
			addAsked(req, a, maxBytes)
		}
		before = before[1:]
	}
	for i := range before {
		addForgotten(req, &before[i])
	}
}

func addAsked(req *kmsg.FetchRequest, a *asked, maxBytes int32) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition = a.p.tp.Index
	part.CurrentLeaderEpoch = int32(a.want.epoch)
	part.FetchOffset = int64(a.want.offset)
	part.LastFetchedEpoch = int32(a.want.lastFetched)
	part.LogStartOffset = int64(a.want.start)
	part.PartitionMaxBytes = maxBytes
	if n := len(req.Topics); n == 0 || kafka.TopicID(req.Topics[n-1].TopicID) != a.id {
		topic := kmsg.NewFetchRequestTopic()
		topic.TopicID = a.id
		req.Topics = append(req.Topics, topic)
	}
	t := &req.Topics[len(req.Topics)-1]
	t.Partitions = append(t.Partitions, part)
}

func addForgotten(req *kmsg.FetchRequest, a *asked) {
	if n := len(req.ForgottenTopics); n == 0 || kafka.TopicID(req.ForgottenTopics[n-1].TopicID) != a.id {
		topic := kmsg.NewFetchRequestForgottenTopic()
		topic.TopicID = a.id
		req.ForgottenTopics = append(req.ForgottenTopics, topic)
	}
	t := &req.ForgottenTopics[len(req.ForgottenTopics)-1]
	t.Partitions = append(t.Partitions, a.p.tp.Index)
}

// take returns what was asked for a partition, once; nil if nothing was.
func (s *leaderSession) take(id kafka.TopicID, index int32) *asked {
	for i := range s.parts {
		if a := &s.parts[i]; !a.done && a.id == id && a.p.tp.Index == index {
			a.done = true
			return a
		}
	}
	return nil
}

// answered ends a fetch that was answered; fits says that the answer spoke of nothing but what was asked. False: it cannot be relied on, the
// session is over (FetchSessionHandler.handleResponse). A full fetch must be answered whole. A leader that wants no session says so by noSession.
func (s *leaderSession) answered(id int32, fits bool) bool {
	if s.full() {
		for i := range s.parts {
			fits = fits && s.parts[i].done
		}
	}
	switch {
	case !fits:
		s.restart()
		return false
	case id == noSession:
		s.id, s.epoch = noSession, initialEpoch
	default:
		s.id, s.epoch = id, nextEpoch(s.epoch)
	}
	return true
}

// refused takes an error of a whole fetch. It reports whether a full fetch, sent at once, mends it: the leader does not know the session, or
// where it stands. It may be another incarnation.
func (s *leaderSession) refused(code kafka.Code) bool {
	wasFull := s.full()
	s.restart()
	switch code {
	case kafka.FetchSessionIDNotFound:
		s.id = noSession
	case kafka.InvalidFetchSessionEpoch, kafka.FetchSessionTopicIDError:
	default:
		return false
	}
	return !wasFull
}
