package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/metadata"
)

// TestRandomSchedules lets brokers crash, lose their disks within the budget, be fenced, miss metadata, lose, delay and repeat
// messages, in any order, and holds the cluster to the invariants of the published specifications after every step. In the end everything
// heals, and the cluster must come to rest.
func TestRandomSchedules(t *testing.T) {
	for _, classic := range []bool{false, true} {
		t.Run(fmt.Sprintf("classic=%v", classic), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { runSchedule(t, rt, classic) })
		})
	}
}

// schedule is one random run, with what must hold whatever happens.
type schedule struct {
	*cluster
	rt        *rapid.T
	committed []string // value and epoch at each offset below the true high watermark
	produced  int
	late      []lateAlter    // AlterPartitions that may arrive once more
	zombies   []zombie       // fetches whose sender died
	unclean   kafka.BrokerID // wiped and not back in the ISR; 0 if none
	trace     []string
}

// lateAlter is an AlterPartition on its way: the first copy, if its sender gave up on it, or another of one that was decided.
type lateAlter struct {
	req     *kmsg.AlterPartitionRequest
	decided bool
}

type zombie struct {
	leader kafka.BrokerID
	req    *kmsg.FetchRequest
}

func runSchedule(t *testing.T, rt *rapid.T, classic bool) {
	cfg := config.Default()
	cfg.MinInsyncReplicas, cfg.EligibleLeaderReplicas = 2, !classic
	cfg.ReplicaLagTimeMax = time.Second
	s := &schedule{cluster: newCluster(t, 3, 1, cfg), rt: rt}
	actions := []func(){
		s.produce, s.produce, s.request, s.request, s.request, s.response, s.response, s.response, s.lose, s.decideAlter, s.decideAlter,
		s.lateAlter, s.elect, s.hear, s.hear, s.wait, s.crash, s.restart, s.restart, s.expire, s.unfence, s.unfence, s.zombie,
	}
	if rapid.Bool().Draw(rt, "joining") {
		s.join(3)
		actions = append(actions, s.expire, s.hear, s.unfence, s.decideAlter, s.lateAlter, s.lateAlter, s.produce)
	}
	for range rapid.IntRange(20, 150).Draw(rt, "steps") {
		actions[rapid.IntRange(0, len(actions)-1).Draw(rt, "action")]()
		s.settle()
		s.check()
	}
	s.heal()
}

// join leaves a broker out of the ISR, and the proposal that lets it back in on its way when its sender gives up on it. The next copy
// may be refused, as the broker is fenced.
func (s *schedule) join(id kafka.BrokerID) {
	s.leaveISR(id)
	s.publish(s.host(s.reg().Leader))
	s.now += 500 * time.Millisecond // the fetches that wait are answered, and the next ones say that the broker has everything
	for _, h := range s.brokers {
		h.m.Tick(s.now)
	}
	s.settle()
	s.replicate([]kafka.BrokerID{1, 2, 3})
	leader := s.host(s.reg().Leader)
	if leader.alter == nil {
		s.fail("%d does not propose to let %d in", leader.id, id)
	}
	s.note("alter of %d: lost", leader.id)
	s.late = append(s.late, lateAlter{leader.alter, false})
	leader.alter = nil
	leader.m.AlterPartitionFailed(s.now)
	if rapid.Bool().Draw(s.rt, "refused") {
		s.fence(id)
		s.publish(leader)
		s.now += alterRetryBackoff
		leader.m.Tick(s.now)
		s.settle()
		s.note("alter of %d: refused", leader.id)
		req := leader.alter
		leader.alter = nil
		leader.m.AlterPartitionResponse(s.now, s.decide(req))
		s.settle()
	}
}

func (s *schedule) note(format string, a ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, a...))
}

func (s *schedule) fail(format string, a ...any) {
	s.rt.Helper()
	s.rt.Fatalf("%s\nafter %v\n%s", fmt.Sprintf(format, a...), s.trace, s.out.String())
}

func pick[T any](s *schedule, from []T) (T, bool) {
	var none T
	if len(from) == 0 {
		return none, false
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(s.rt, "which")], true
}

func (s *schedule) hosts(want func(*host) bool) []*host {
	var out []*host
	for _, h := range s.brokers {
		if want(h) {
			out = append(out, h)
		}
	}
	return out
}

func up(h *host) bool   { return h.m != nil }
func down(h *host) bool { return h.m == nil }

func (s *schedule) reg() *metadata.Partition { return &s.master.Topics[topicName].Partitions[0] }

func (s *schedule) produce() {
	if h, ok := pick(s, s.hosts(func(h *host) bool { return up(h) && len(h.m.parts) > 0 && h.m.parts[0].Leads() })); ok {
		s.produceTo(h)
	}
}

// produceTo sends one unique record under acks=all.
func (s *schedule) produceTo(h *host) {
	s.produced++
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, acksAll, 1000
	topic, part := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	topic.Topic = topicName
	part.Records = log.BuildBatch(0, 0, 0, fmt.Appendf(nil, "v%d", s.produced))
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	s.token++
	s.owners[s.token] = owner{label: fmt.Sprintf("v%d", s.produced)}
	s.note("produce v%d to %d", s.produced, h.id)
	h.m.Produce(s.now, req, s.token)
	s.settle()
}

func (s *schedule) request() {
	w, ok := pick(s, slices.DeleteFunc(slices.Clone(s.wires), func(w *wire) bool { return len(w.requests) == 0 }))
	if ok {
		s.note("request %d->%d", w.follower, w.leader)
		s.deliverRequest(w)
	}
}

func (s *schedule) response() {
	w, ok := pick(s, slices.DeleteFunc(slices.Clone(s.wires), func(w *wire) bool { return len(w.responses) == 0 }))
	if ok {
		s.note("response %d->%d", w.leader, w.follower)
		s.deliverResponse(w)
	}
}

// lose breaks a fetch connection: what was sent may still arrive, the answer does not.
func (s *schedule) lose() {
	w, ok := pick(s, s.wires)
	if !ok || down(s.host(w.follower)) {
		return
	}
	s.note("lose %d->%d", w.follower, w.leader)
	s.bury(w)
	s.host(w.follower).m.FetchFailed(s.now, w.leader)
}

func (s *schedule) bury(w *wire) {
	for _, req := range w.requests {
		s.zombies = append(s.zombies, zombie{w.leader, req})
	}
	s.forget(w)
}

func (s *schedule) zombie() {
	if len(s.zombies) == 0 {
		return
	}
	i := rapid.IntRange(0, len(s.zombies)-1).Draw(s.rt, "which")
	z := s.zombies[i]
	s.zombies = slices.Delete(s.zombies, i, i+1)
	if h := s.host(z.leader); up(h) {
		s.note("late fetch of %d to %d", z.req.ReplicaState.ID, z.leader)
		s.token++
		s.owners[s.token] = owner{lost: true}
		h.m.Fetch(s.now, z.req, s.token)
	}
}

func (s *schedule) decideAlter() {
	h, ok := pick(s, s.hosts(func(h *host) bool { return up(h) && h.alter != nil }))
	if !ok {
		return
	}
	req := h.alter
	h.alter = nil
	fate := rapid.IntRange(0, 5).Draw(s.rt, "fate")
	switch fate {
	case 0:
		s.note("alter of %d: lost", h.id)
		h.m.AlterPartitionFailed(s.now)
	case 1:
		s.note("alter of %d: answer lost", h.id)
		s.decide(req)
		h.m.AlterPartitionFailed(s.now)
	default:
		s.note("alter of %d: decided", h.id)
		h.m.AlterPartitionResponse(s.now, s.decide(req))
	}
	s.late = append(s.late, lateAlter{req, fate != 0})
}

// lateAlter delivers a copy that nobody waits for. The network repeats no request by itself: one that was refused for its members
// (and so left the partition epoch as it was) does not come again, only one that its sender gave up on comes, at any time.
func (s *schedule) lateAlter() {
	if len(s.late) == 0 {
		return
	}
	i := rapid.IntRange(0, len(s.late)-1).Draw(s.rt, "which")
	late := s.late[i]
	if !late.decided || s.reg().PartitionEpoch > late.req.Topics[0].Partitions[0].PartitionEpoch {
		s.late[i].decided = true
		s.note("alter of %d comes late", late.req.BrokerID)
		s.decide(late.req)
	}
}

// elect chooses a live member of the ISR.
func (s *schedule) elect() { s.electFrom("election") }

func (s *schedule) electFrom(why string) {
	reg := s.reg()
	h, ok := pick(s, s.hosts(func(h *host) bool {
		return up(h) && slices.Contains(reg.ISR, h.id) && !s.master.Brokers[h.id].Fenced && h.epoch == s.master.Brokers[h.id].Epoch
	}))
	reg.LeaderEpoch++
	reg.PartitionEpoch++
	s.master.Index++
	reg.Leader = kafka.NoBroker
	if ok {
		reg.Leader = h.id
	}
	s.note("%s: leader %d epoch %d ISR %v", why, reg.Leader, reg.LeaderEpoch, reg.ISR)
}

func (s *schedule) hear() {
	if h, ok := pick(s, s.hosts(up)); ok {
		s.note("publish to %d", h.id)
		s.publish(h)
	}
}

func (s *schedule) wait() {
	s.now += time.Duration(rapid.IntRange(1, 1500).Draw(s.rt, "ms")) * time.Millisecond
	s.note("at %v", s.now)
	for _, h := range s.hosts(up) {
		h.m.Tick(s.now)
	}
}

// crash kills a broker. If every other replica is clean and another member is in the ISR, it may lose its disk too.
func (s *schedule) crash() {
	h, ok := pick(s, s.hosts(up))
	if !ok {
		return
	}
	for _, w := range s.wires {
		if w.follower == h.id {
			s.bury(w)
		}
	}
	s.note("kill %d", h.id)
	s.stop(h)
	clean := s.unclean == 0 || s.unclean == h.id
	if clean && (!slices.Contains(s.reg().ISR, h.id) || len(s.reg().ISR) > 1) && rapid.Bool().Draw(s.rt, "wipe") {
		s.note("wipe %d", h.id)
		h.fs = disk.Mem()
		s.unclean = h.id
		s.fence(h.id) // or a late fetch of the dead could bring it back as the last member, which classic mode does not survive
	}
}

// leaveISR takes a broker out of the ISR unless it is the last, and away from leadership.
func (s *schedule) leaveISR(id kafka.BrokerID) {
	reg := s.reg()
	if len(reg.ISR) > 1 && slices.Contains(reg.ISR, id) {
		reg.ISR = without(reg.ISR, []kafka.BrokerID{id})
		reg.PartitionEpoch++
		s.master.Index++
	}
	if reg.Leader == id {
		s.electFrom("failover")
	}
}

func (s *schedule) restart() {
	h, ok := pick(s, s.hosts(down))
	if !ok {
		return
	}
	s.note("start %d", h.id)
	s.leaveISR(h.id)
	s.register(h)
	if s.reg().Leader == h.id || s.reg().Leader == kafka.NoBroker {
		s.electFrom("election at registration")
	}
	s.start(h)
}

func (s *schedule) expire() {
	if h, ok := pick(s, s.brokers); ok && !s.master.Brokers[h.id].Fenced {
		s.fence(h.id)
	}
}

func (s *schedule) fence(id kafka.BrokerID) {
	b := s.master.Brokers[id]
	b.Fenced = true
	s.master.Brokers[id] = b
	s.note("fence %d", id)
	s.leaveISR(id)
}

func (s *schedule) unfence() {
	h, ok := pick(s, s.hosts(func(h *host) bool { return up(h) && s.master.Brokers[h.id].Fenced }))
	if ok {
		b := s.master.Brokers[h.id]
		b.Fenced = false
		s.master.Brokers[h.id] = b
		s.note("unfence %d", h.id)
		if s.reg().Leader == kafka.NoBroker {
			s.electFrom("election")
		}
	}
}

// records lists a replica's records as value and epoch.
func (s *schedule) records(p *Partition) []string {
	var out []string
	for from := p.log.Start(); from < p.log.End(); {
		data, err := p.log.Read(from, p.log.End(), 1<<20, true)
		if err != nil {
			s.fail("%v", err)
		}
		for len(data) > 0 {
			b, err := log.ParseBatch(data)
			if err != nil {
				s.fail("%v", err)
			}
			records, err := log.Records(data[:b.Size], 1<<20)
			if err != nil {
				s.fail("%v", err)
			}
			for _, r := range records {
				out = append(out, fmt.Sprintf("%s/%d", r.Value, b.Epoch))
			}
			from, data = b.Last+1, data[b.Size:]
		}
	}
	return out
}

// check holds every replica to what was ever committed: what a leader exposed below its high watermark stays there, on every leader of
// a newer epoch (LeaderCompleteness), on every live member of the ISR (LeaderCandidateCompleteness), below every high watermark (LogMatching).
func (s *schedule) check() {
	reg := s.reg()
	if s.unclean != 0 && slices.Contains(reg.ISR, s.unclean) {
		s.unclean = 0
	}
	for _, h := range s.brokers {
		if h.m == nil || len(h.m.parts) == 0 {
			continue
		}
		p := h.m.parts[0]
		records := s.records(p)
		if p.Leads() {
			for o := len(s.committed); o < int(p.hw); o++ {
				s.committed = append(s.committed, records[o])
			}
			if extra := without(p.maximal, reg.Replicas); len(extra) > 0 {
				s.fail("the maximal ISR of %d has %v", h.id, extra)
			}
		}
		if p.Leads() && p.epoch == reg.LeaderEpoch && p.partitionEpoch == reg.PartitionEpoch && len(without(reg.ISR, p.maximal)) > 0 {
			s.fail("the maximal ISR of leader %d is %v, the controller's ISR %v", h.id, p.maximal, reg.ISR)
		}
	}
	for o, value := range s.acked {
		if int(o) >= len(s.committed) || !strings.HasPrefix(s.committed[o], value+"/") {
			s.fail("%s was acknowledged at %d, committed is %v", value, o, s.committed)
		}
	}
	for _, h := range s.brokers {
		if h.m == nil || len(h.m.parts) == 0 {
			continue
		}
		p := h.m.parts[0]
		records := s.records(p)
		need := int(p.hw)
		if p.Leads() && p.epoch == reg.LeaderEpoch || slices.Contains(reg.ISR, h.id) && s.master.Brokers[h.id].Epoch == h.epoch {
			need = max(need, len(s.committed))
		}
		for o := range need {
			if o >= len(s.committed) || o >= len(records) || records[o] != s.committed[o] {
				s.fail("broker %d (HW %d) has %v, committed is %v, ISR %v", h.id, p.hw, records, s.committed, reg.ISR)
			}
		}
	}
}

// heal ends every fault; then everything must be everywhere, and a write be acknowledged.
func (s *schedule) heal() {
	for _, h := range s.hosts(down) {
		s.leaveISR(h.id)
		s.register(h)
		s.start(h)
	}
	for _, h := range s.brokers {
		b := s.master.Brokers[h.id]
		b.Fenced = false
		s.master.Brokers[h.id] = b
	}
	s.electFrom("heal")
	if s.reg().Leader == kafka.NoBroker {
		s.fail("nobody can lead")
	}
	before := len(s.committed)
	for round := range 20 {
		for _, h := range s.brokers {
			s.publish(h)
			s.settle()
			if h.alter != nil {
				req := h.alter
				h.alter = nil
				h.m.AlterPartitionResponse(s.now, s.decide(req))
				s.settle()
			}
		}
		if round == 5 {
			h := s.host(s.reg().Leader)
			if h.m.parts[0].Leads() {
				s.produceTo(h)
			}
		}
		s.replicate([]kafka.BrokerID{1, 2, 3})
		s.now += 500 * time.Millisecond
		for _, h := range s.brokers {
			h.m.Tick(s.now)
		}
		s.settle()
		s.check()
	}
	for _, h := range s.brokers {
		if p := h.m.parts[0]; p.hw != p.log.End() || int(p.hw) != len(s.committed) || len(s.reg().ISR) != 3 {
			s.fail("broker %d is at LEO %d, HW %d of %d, ISR %v", h.id, p.log.End(), p.hw, len(s.committed), s.reg().ISR)
		}
	}
	if len(s.committed) <= before {
		s.fail("nothing was committed after the heal")
	}
}
