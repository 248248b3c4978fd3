package controller

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// committed is the ghost of the quorum: every entry that any member ever applied.
type committed struct {
	entries []uint64 // digest of the log up to each index, from 1
}

// TestQuorumKeepsItsWord plays random schedules of three voters: messages dropped, repeated, out of order; processes killed and
// powered off with any part of what they had not synced; brokers that register, die, shut down and move. Whatever happens, one
// member at most leads a term, all members apply the same entries, what was answered stays, and the partitions keep the
// specification's ValidControllerState. At the end, with everything healed, there is an active controller again.
func TestQuorumKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := testConfig(3)
		cfg.EligibleLeaderReplicas = rapid.Bool().Draw(t, "elr")
		cfg.UncleanLeaderElection = rapid.Bool().Draw(t, "unclean")
		cfg.MinInsyncReplicas = rapid.IntRange(1, 3).Draw(t, "min-isr")
		if rapid.Bool().Draw(t, "snapshots") {
			cfg.MetadataSnapshotBytes = rapid.Int64Range(1, 500).Draw(t, "snapshot-bytes")
		}
		cl, err := newCluster(cfg, 3)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{cluster: cl, t: t, leaders: map[int64]kafka.BrokerID{}, epochs: map[kafka.BrokerID]int64{}, incarnation: map[kafka.BrokerID]byte{}}
		cl.watch = w.learn // after each event: who takes over a snapshot has applied entries that only its sender can tell of
		for range rapid.IntRange(50, 400).Draw(t, "events") {
			w.event()
			w.check()
		}
		w.heal()
	})
}

type world struct {
	*cluster
	t           *rapid.T
	leaders     map[int64]kafka.BrokerID
	ghost       committed
	epochs      map[kafka.BrokerID]int64
	incarnation map[kafka.BrokerID]byte
	topics      int
}

func (w *world) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(w.t, what) }

func (w *world) event() {
	m := w.members[w.draw(len(w.members), "member")]
	switch k := w.draw(100, "event"); {
	case k < 45 && len(w.wire) > 0: // mostly in order, sometimes not
		i := 0
		if w.draw(4, "order") == 0 {
			i = w.draw(len(w.wire), "message")
		}
		if err := w.deliver(i, w.draw(20, "again") == 0); err != nil {
			w.t.Fatalf("a member refused another's message: %v", err)
		}
	case k < 50 && len(w.wire) > 0:
		i := w.draw(len(w.wire), "lost")
		w.wire = slices.Delete(w.wire, i, i+1)
	case k < 68 && m.c != nil && len(m.flushes) > 0:
		w.flush(m)
	case k < 75:
		w.tick(w.now + time.Duration(w.draw(1500, "ms"))*time.Millisecond)
	case k < 80:
		if at := w.nextDeadline(); at != never {
			w.tick(at)
		}
	case k < 83 && m.c != nil:
		w.stop(m, w.draw(2, "power") == 0, w.draw(200, "keep"))
	case k < 87 && m.c == nil:
		if err := w.start(m); err != nil {
			w.t.Fatal(err)
		}
	default:
		if m.c != nil {
			w.request(m)
		}
	}
	w.learn()
}

// request asks m for something that makes sense, or nearly so.
func (w *world) request(m *testMember) {
	b := kafka.BrokerID(w.draw(3, "broker") + 1)
	img := m.c.Image()
	if m.c.next != nil {
		img = m.c.next
	}
	var tp kafka.TopicPartition
	if names := img.TopicNames(); len(names) > 0 {
		tp.Topic = names[w.draw(len(names), "topic")]
	}
	p, _ := img.Partition(tp)
	switch w.draw(9, "request") {
	case 0:
		w.incarnation[b]++
		previous := int64(-1)
		if w.draw(2, "clean") == 0 {
			previous = int64(img.Brokers[b].Epoch)
		}
		w.ask(m, registration(b, w.incarnation[b], previous))
	case 1, 2, 3:
		w.ask(m, &kmsg.BrokerHeartbeatRequest{Version: 1, BrokerID: int32(b), BrokerEpoch: int64(img.Brokers[b].Epoch), CurrentMetadataOffset: 1 << 40,
			WantFence: w.draw(8, "fence") == 0, WantShutdown: w.draw(6, "shutdown") == 0})
	case 4:
		w.topics++
		w.ask(m, &kmsg.CreateTopicsRequest{Version: 7, Topics: []kmsg.CreateTopicsRequestTopic{{Topic: fmt.Sprintf("t%d", w.topics%4),
			NumPartitions: 1, ReplicationFactor: int16(w.draw(3, "factor") + 1)}}})
	case 5, 6:
		req := &kmsg.AlterPartitionRequest{Version: 3, BrokerID: int32(p.Leader), BrokerEpoch: int64(img.Brokers[p.Leader].Epoch)}
		part := kmsg.AlterPartitionRequestTopicPartition{LeaderEpoch: int32(p.LeaderEpoch), PartitionEpoch: p.PartitionEpoch}
		for _, r := range p.Replicas {
			if r == p.Leader || w.draw(2, "in") == 0 {
				part.NewEpochISR = append(part.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(r), BrokerEpoch: int64(img.Brokers[r].Epoch)})
			}
		}
		id := kafka.TopicID{}
		if t := img.Topics[tp.Topic]; t != nil {
			id = t.ID
		}
		req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: id, Partitions: []kmsg.AlterPartitionRequestTopicPartition{part}}}
		w.ask(m, req)
	case 7:
		w.ask(m, &kmsg.ElectLeadersRequest{Version: 2, ElectionType: int8(w.draw(2, "type"))})
	case 8:
		var to []int32
		if w.draw(3, "cancel") > 0 {
			to = rapid.SliceOfNDistinct(rapid.Int32Range(1, 3), 1, 3, rapid.ID[int32]).Draw(w.t, "to")
		}
		w.ask(m, &kmsg.AlterPartitionAssignmentsRequest{Topics: []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: tp.Topic,
			Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: to}}}}})
	}
}

// learn follows what members applied and compares it with what others did.
func (w *world) learn() {
	for _, m := range w.members {
		if m.c == nil {
			continue
		}
		q := m.c.Quorum()
		for i, digest := range q.Applied {
			index := int(q.Index) - (len(q.Applied) - 1 - i)
			switch at := index - 1; {
			case at == len(w.ghost.entries):
				w.ghost.entries = append(w.ghost.entries, digest)
			case at > len(w.ghost.entries):
				w.t.Fatalf("%d applied entry %d, and nobody applied %d", m.id, index, len(w.ghost.entries)+1)
			case digest != w.ghost.entries[at]:
				w.t.Fatalf("%d applied another entry %d than a member before", m.id, index)
			}
		}
		if n := len(m.c.q.log.entries); w.cfg.MetadataSnapshotBytes < 1<<20 && n > 1000 {
			w.t.Fatalf("%d holds %d entries in memory, expected those since the last snapshot but one", m.id, n)
		}
	}
}

func (w *world) check() {
	for _, m := range w.members {
		if m.c == nil {
			continue
		}
		if m.c.q.leading() {
			if other, ok := w.leaders[m.c.Term()]; ok && other != m.id {
				w.t.Fatalf("%d and %d lead in term %d", other, m.id, m.c.Term())
			}
			w.leaders[m.c.Term()] = m.id
		}
		if m.c.IsActive() && int(m.c.q.log.last()) < len(w.ghost.entries) && m.c.Term() == w.lastTerm() {
			w.t.Fatalf("%d is active in the last term %d and lacks entries after %d of %d", m.id, m.c.Term(), m.c.q.log.last(), len(w.ghost.entries))
		}
		for _, img := range []*metadata.Image{m.c.Image(), m.c.next} {
			w.checkImage(m, img)
		}
		if m.c.IsActive() && uint64(m.c.Image().Index) == m.c.q.log.last() {
			next := m.c.next.Clone()
			next.Index = m.c.Image().Index
			if !reflect.DeepEqual(next, m.c.Image()) {
				w.t.Fatalf("%d has applied all that is proposed, yet decides on %+v instead of %+v", m.id, next, m.c.Image())
			}
		}
		if d := m.c.Deadline(); d <= w.now-time.Hour {
			w.t.Fatalf("%d has been due since %v", m.id, d)
		}
	}
}

func (w *world) checkImage(m *testMember, img *metadata.Image) {
	if img == nil {
		return
	}
	for _, t := range img.Topics {
		for i, p := range t.Partitions {
			if bad := badPartition(img, w.cfg, t, p); bad != "" {
				w.t.Fatalf("member %d, %s-%d: %s", m.id, t.Name, i, bad)
			}
		}
	}
}

func (w *world) lastTerm() int64 {
	last := int64(0)
	for t := range w.leaders {
		last = max(last, t)
	}
	return last
}

// heal starts everybody and lets everything through: a controller must come, and all must have the same state.
func (w *world) heal() {
	for _, m := range w.members {
		if m.c == nil {
			if err := w.start(m); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for until := w.now + time.Minute; w.now < until; w.tick(min(until, w.nextDeadline())) {
		if err := w.settle(func(wireMessage) bool { return false }, func(kafka.BrokerID) bool { return false }); err != nil {
			w.t.Fatal(err)
		}
		w.learn()
		w.check()
	}
	if w.active() == nil {
		w.t.Fatal("a minute after everything was healed nobody is the active controller")
	}
	for _, m := range w.members {
		if int(m.c.Image().Index) != len(w.ghost.entries) {
			w.t.Fatalf("%d applied %d entries of %d", m.id, m.c.Image().Index, len(w.ghost.entries))
		}
	}
	for tok, r := range w.asked {
		if r == nil && w.member(int(w.at[tok])).starts == 1 {
			w.t.Fatalf("request %d to %d was never answered", tok, w.at[tok])
		}
	}
}
