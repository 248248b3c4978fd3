package replica

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// show prints the fetch, or else the answer, that is delivered next between a follower and a leader.
func (s *scenario) show(route string) error {
	from, to, _ := strings.Cut(route, "->")
	ids := append(brokerIDs(from), brokerIDs(to)...)
	if len(ids) != 2 {
		return fmt.Errorf("expected F->L")
	}
	switch w := s.c.wire(ids[0], ids[1]); {
	case len(w.requests) > 0:
		fmt.Fprintf(&s.c.out, "broker %d asks %d: %s\n", ids[0], ids[1], fetchText(w.requests[0]))
	case len(w.responses) > 0:
		fmt.Fprintf(&s.c.out, "broker %d answers %d: %s\n", ids[1], ids[0], answerText(w.responses[0]))
	default:
		return fmt.Errorf("there is none")
	}
	return nil
}

func fetchText(req *kmsg.FetchRequest) string {
	parts := []string{map[int32]string{initialEpoch: "full fetch", finalEpoch: "fetch without a session"}[req.SessionEpoch]}
	if parts[0] == "" {
		parts[0] = fmt.Sprintf("fetch %d of the session", req.SessionEpoch)
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			parts = append(parts, fmt.Sprintf("t-%d from %d in epoch %d", p.Partition, p.FetchOffset, p.CurrentLeaderEpoch))
		}
	}
	for _, t := range req.ForgottenTopics {
		for _, p := range t.Partitions {
			parts = append(parts, fmt.Sprintf("forget t-%d", p))
		}
	}
	return strings.Join(parts, ", ")
}

func answerText(resp *kmsg.FetchResponse) string {
	parts := []string{"in a session"}
	if resp.SessionID == noSession {
		parts[0] = "in no session"
	}
	if resp.ErrorCode != 0 {
		parts = append(parts, kafka.Code(resp.ErrorCode).String())
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			what := fmt.Sprintf("t-%d [%s] HW %d", p.Partition, values(p.RecordBatches), p.HighWatermark)
			if p.ErrorCode != 0 {
				what = fmt.Sprintf("t-%d %s", p.Partition, kafka.Code(p.ErrorCode))
			}
			parts = append(parts, what)
		}
	}
	return strings.Join(parts, ", ")
}

// sessions is a broker that consumers fetch from, at a time of the test's choosing. It leads t-0 to t-9, each of one record.
type sessions struct {
	t   *testing.T
	c   *cluster
	now time.Duration
}

func newSessions(t *testing.T, slots int) *sessions {
	cfg := config.Default()
	cfg.FetchSessionCacheSlots = slots
	s := &sessions{t: t, c: newCluster(t, 1, 10, cfg)}
	for _, p := range s.m().parts {
		if _, _, err := p.log.Append(log.BuildBatch(0, 0, 0, []byte("a")), 0); err != nil {
			t.Fatal(err)
		}
		s.m().advanceHW(0, p)
	}
	s.m().Ready()
	return s
}

func (s *sessions) m() *Manager { return s.c.host(1).m }

// fetch asks for the record of each partition, in a session, and returns the answer.
func (s *sessions) fetch(id, epoch int32, parts ...int32) *kmsg.FetchResponse {
	return s.send(s.request(id, epoch, parts...))
}

func (s *sessions) request(id, epoch int32, parts ...int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxBytes, req.SessionID, req.SessionEpoch = 12, -1, 1<<20, id, epoch
	if len(parts) > 0 {
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = topicName
		for _, n := range parts {
			part := kmsg.NewFetchRequestTopicPartition()
			part.Partition, part.PartitionMaxBytes = n, 1<<20
			topic.Partitions = append(topic.Partitions, part)
		}
		req.Topics = append(req.Topics, topic)
	}
	return req
}

func (s *sessions) send(req *kmsg.FetchRequest) *kmsg.FetchResponse {
	s.t.Helper()
	s.c.token++
	s.m().Fetch(s.now, recodeRequest(s.t, req), s.c.token)
	out := s.m().Ready()
	if len(out.Replies) != 1 {
		s.t.Fatalf("%d answers, expected one at once", len(out.Replies))
	}
	return recodeResponse(s.t, out.Replies[0].Response.(*kmsg.FetchResponse))
}

// open opens a session of the first partitions, and returns its id.
func (s *sessions) open(size int32) int32 {
	s.t.Helper()
	var parts []int32
	for n := range size {
		parts = append(parts, n)
	}
	return s.fetch(noSession, initialEpoch, parts...).SessionID
}

func (s *sessions) expect(what string, resp *kmsg.FetchResponse, want string) {
	s.t.Helper()
	if got := answerText(resp); got != want {
		s.t.Errorf("%s: answered %q, expected %q", what, got, want)
	}
}

// TestSessionErrors holds the errors of sessions to Kafka's.
func TestSessionErrors(t *testing.T) {
	s := newSessions(t, 10)
	id := s.open(2)
	s.expect("an incremental fetch", s.fetch(id, 1), "in a session, t-0 [0:a/0] HW 1, t-1 [0:a/0] HW 1")
	s.expect("the same fetch again", s.fetch(id, 1), "in no session, INVALID_FETCH_SESSION_EPOCH")
	s.expect("an unknown session", s.fetch(id+1, 1), "in no session, FETCH_SESSION_ID_NOT_FOUND")
	byID := s.request(id, 2)
	byID.Version = 13
	s.expect("topic ids in a session of names", s.send(byID), "in no session, FETCH_SESSION_TOPIC_ID_ERROR")
	s.expect("the session after the errors", s.fetch(id, 2, 5), "in a session, t-0 [0:a/0] HW 1, t-1 [0:a/0] HW 1, t-5 [0:a/0] HW 1")
	s.expect("an unknown partition", s.fetch(id, 3, 77), "in a session, t-0 [0:a/0] HW 1, t-1 [0:a/0] HW 1, t-5 [0:a/0] HW 1, t-77 UNKNOWN_TOPIC_OR_PARTITION")

	again := s.fetch(id, initialEpoch, 3)
	if again.SessionID == id || again.SessionID == noSession {
		t.Errorf("a full fetch in session %d was answered in %d, expected another", id, again.SessionID)
	}
	s.expect("the session before", s.fetch(id, 4), "in no session, FETCH_SESSION_ID_NOT_FOUND")
	s.expect("the end of a session", s.fetch(again.SessionID, finalEpoch), "in no session")
	s.expect("what was ended", s.fetch(again.SessionID, 1), "in no session, FETCH_SESSION_ID_NOT_FOUND")

	id = s.open(1)
	forget := s.request(id, 1)
	forget.ForgottenTopics = append(forget.ForgottenTopics, kmsg.FetchRequestForgottenTopic{Topic: topicName, Partitions: []int32{0}})
	s.expect("forgetting all", s.send(forget), "in no session")
	s.expect("the forgotten session", s.fetch(id, 2), "in no session, FETCH_SESSION_ID_NOT_FOUND")
	old := s.request(noSession, initialEpoch, 0)
	old.Version = 6
	s.expect("a client from before KIP-227", s.send(old), "in no session, t-0 [0:a/0] HW 1")
}

// TestSessionOfATopicMadeAnew fetches by topic id when the topic is deleted and another of its name created: the session tells that the id is not
// that of the name, a full fetch that there is no such id.
func TestSessionOfATopicMadeAnew(t *testing.T) {
	s := newSessions(t, 10)
	byID := func(session, epoch int32, parts ...int32) *kmsg.FetchResponse {
		req := s.request(session, epoch, parts...)
		req.Version = 13
		for i := range req.Topics {
			req.Topics[i].TopicID = kafka.TopicID{1}
		}
		return s.send(req)
	}
	id := byID(noSession, initialEpoch, 3).SessionID
	s.expect("before", byID(id, 1), "in a session, t-3 [0:a/0] HW 1")
	c := s.c
	c.master.Index++
	c.master.Names, c.master.Topics[topicName].ID = map[kafka.TopicID]string{{2}: topicName}, kafka.TopicID{2}
	c.publish(c.host(1))
	c.settle()
	s.expect("after", byID(id, 2), "in a session, t-3 INCONSISTENT_TOPIC_ID")
	s.expect("again", byID(id, 3), "in a session, t-3 INCONSISTENT_TOPIC_ID")
	s.expect("in full", byID(id, initialEpoch, 3), "in a session, t-3 UNKNOWN_TOPIC_ID")
}

// TestSessionGoesOnWhileAFetchWaits lets a consumer give up on a fetch that waits, and send the next one: the answer to the first must not be
// taken for the second's.
func TestSessionGoesOnWhileAFetchWaits(t *testing.T) {
	s := newSessions(t, 10)
	id := s.open(1)
	wait := s.request(id, 1, 0)
	wait.MaxWaitMillis, wait.MinBytes, wait.Topics[0].Partitions[0].FetchOffset = 1000, 1, 1
	s.m().Fetch(s.now, wait, 99)
	if n := len(s.m().Ready().Replies); n != 0 {
		t.Fatalf("%d answers, expected the fetch to wait", n)
	}
	s.expect("the next fetch", s.fetch(id, 2), "in a session")
	s.m().Tick(time.Second)
	out := s.m().Ready()
	if len(out.Replies) != 1 || out.Replies[0].Token != 99 {
		t.Fatalf("%d answers, expected that to the fetch which waited", len(out.Replies))
	}
	s.expect("the fetch before", out.Replies[0].Response.(*kmsg.FetchResponse), "in a session, INVALID_FETCH_SESSION_EPOCH")
}

// TestWhoGetsASession fills the cache and holds who is let in, and who has to go, to Kafka's FetchSessionCache.
func TestWhoGetsASession(t *testing.T) {
	s := newSessions(t, 2)
	small, large := s.open(2), s.open(4)
	alive := func(id int32) bool { return s.m().sessions.find(id) != nil }
	follower := func(size int) int32 {
		op := &fetchOp{version: 12, follower: 2, topics: []fetchTopic{{name: topicName, n: size}}, targets: make([]fetchTarget, size)}
		for i := range op.targets {
			op.targets[i].index = int32(i)
		}
		return s.m().sessions.open(op, s.now)
	}
	if id := s.open(9); id != noSession {
		t.Errorf("a large newcomer got session %d while the others are new, expected none", id)
	}
	s.now = sessionEvictionAge + 1
	s.fetch(small, 1)
	s.fetch(large, 1)
	if id := s.open(2); id != noSession || !alive(small) {
		t.Errorf("a newcomer as small as the smallest got session %d, expected none", id)
	}
	middle := s.open(3)
	if middle == noSession || alive(small) || !alive(large) {
		t.Errorf("a newcomer of 3 got session %d, smallest alive %v, largest alive %v; expected it to replace the smallest", middle, alive(small), alive(large))
	}
	first := follower(1)
	if first == noSession || alive(middle) {
		t.Errorf("a follower got session %d, the new consumer's alive %v; expected it to replace the consumer's", first, alive(middle))
	}
	second := follower(1)
	if second == noSession || alive(large) || !alive(first) {
		t.Errorf("a second follower got session %d, expected it to replace the last consumer's", second)
	}
	if id := follower(9); id != noSession {
		t.Errorf("a third follower got session %d while the others are new, expected none", id)
	}
	s.now += sessionEvictionAge + 1
	if id := s.open(1); id == noSession || alive(first) && alive(second) {
		t.Errorf("a consumer got session %d, expected it to replace one that nobody used", id)
	}
	if none := newSessions(t, 0).open(5); none != noSession {
		t.Errorf("session %d was opened, expected none without slots", none)
	}
}

// TestSessionsRememberNoMoreThanTheyMay lets one session grow without end: it is closed, and what it remembered is free again.
func TestSessionsRememberNoMoreThanTheyMay(t *testing.T) {
	s := newSessions(t, 10)
	cache := &s.m().sessions
	cache.most = 20
	id := s.open(10)
	if s.open(10) == noSession || s.open(1) != noSession {
		t.Error("expected room for 20 partitions, and for no more")
	}
	s.expect("a session that grows", s.fetch(id, 1, 100), "in no session, FETCH_SESSION_ID_NOT_FOUND")
	if cache.cached != 10 || len(cache.sessions) != 1 {
		t.Errorf("%d sessions of %d partitions are kept, expected one of 10", len(cache.sessions), cache.cached)
	}
	if s.open(10) == noSession {
		t.Error("expected room for another 10 partitions")
	}
}
