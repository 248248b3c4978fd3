package checker

import (
	"slices"
	"testing"
	"time"

	"tidemark/history"
)

// stage feeds invariants by hand: brokers 1, 2, 3 with a log each, and the controller's state.
type stage struct {
	inv     *Invariants
	part    PartitionView
	logs    map[history.BrokerID][]Entry
	views   map[history.BrokerID]ReplicaView
	asked   int // calls of Entry
	now     time.Duration
	written int
}

func newStage(c Contract) *stage {
	s := &stage{inv: NewInvariants(c), logs: map[history.BrokerID][]Entry{}, views: map[history.BrokerID]ReplicaView{}}
	s.part = PartitionView{Partition: history.Partition{Topic: "orders"}, Leader: 1, Epoch: 0, ISR: []history.BrokerID{1, 2, 3},
		Replicas: []history.BrokerID{1, 2, 3}, MinISR: 2,
		Known: map[history.BrokerID]BrokerView{1: {Incarnation: 11}, 2: {Incarnation: 12}, 3: {Incarnation: 13}}}
	for b := history.BrokerID(1); b <= 3; b++ {
		s.views[b] = ReplicaView{Broker: b, Incarnation: 10 + int64(b), Running: true}
	}
	s.controller(func(*PartitionView) {})
	for b := history.BrokerID(1); b <= 3; b++ {
		s.replica(b, func(v *ReplicaView) {
			v.Leads = b == 1
			if v.Leads {
				v.ISR, v.Maximal = s.part.ISR, s.part.ISR
			}
		})
	}
	return s
}

func (s *stage) controller(change func(*PartitionView)) {
	s.now += time.Millisecond
	known := map[history.BrokerID]BrokerView{}
	for b, k := range s.part.Known {
		known[b] = k
	}
	s.part.Known = known
	s.part.ISR, s.part.ELR = slices.Clone(s.part.ISR), slices.Clone(s.part.ELR)
	change(&s.part)
	s.inv.Partition(s.now, s.part)
}

func (s *stage) replica(b history.BrokerID, change func(*ReplicaView)) {
	s.now += time.Millisecond
	v := s.views[b]
	v.LEO = history.Offset(len(s.logs[b]))
	change(&v)
	v.Entry = func(o history.Offset) (Entry, bool) {
		s.asked++
		if log := s.logs[b]; o >= 0 && o < history.Offset(len(log)) {
			return log[o], true
		}
		return Entry{}, false
	}
	s.views[b] = v
	s.inv.Replica(s.now, s.part.Partition, v)
}

// write appends n new entries on a leader.
func (s *stage) write(b history.BrokerID, n int) {
	for range n {
		s.written++
		s.logs[b] = append(s.logs[b], Entry{Epoch: s.views[b].Epoch, Digest: uint64(s.written)})
	}
	s.replica(b, func(*ReplicaView) {})
}

// fetch copies what a follower lacks and tells it a high watermark.
func (s *stage) fetch(follower, leader history.BrokerID, hw history.Offset) {
	s.logs[follower] = append(s.logs[follower], s.logs[leader][len(s.logs[follower]):]...)
	s.replica(follower, func(v *ReplicaView) { v.HW = hw })
}

func (s *stage) cut(b history.BrokerID, to int) {
	s.logs[b] = s.logs[b][:to]
	s.replica(b, func(v *ReplicaView) { v.HW = min(v.HW, v.LEO) })
}

func (s *stage) expose(b history.BrokerID, hw history.Offset) {
	s.replica(b, func(v *ReplicaView) { v.HW = hw })
}

func (s *stage) lead(b history.BrokerID, epoch history.Epoch) {
	s.replica(b, func(v *ReplicaView) {
		v.Leads, v.Epoch, v.EpochStart, v.ISR, v.Maximal = true, epoch, v.LEO, s.part.ISR, s.part.ISR
	})
}

func (s *stage) follow(b history.BrokerID, epoch history.Epoch) {
	s.replica(b, func(v *ReplicaView) { v.Leads, v.Epoch, v.ISR, v.Maximal = false, epoch, nil, nil })
}

// committed takes a stage to ten committed entries on all three.
func (s *stage) committed() {
	s.write(1, 10)
	s.fetch(2, 1, 0)
	s.fetch(3, 1, 0)
	s.expose(1, 10)
	s.fetch(2, 1, 10)
	s.fetch(3, 1, 10)
}

// legal is a long life without a mistake, with everything that looks like one: a deposed leader that goes on, a divergent tail, a replica that
// lost unsynced data, an incarnation that is not registered yet, an eligible leader replica, a local HW that goes back.
func legal(s *stage) {
	s.committed()
	s.write(1, 2) // on the leader alone
	s.controller(func(p *PartitionView) { p.Leader, p.Epoch, p.ISR = 2, 1, []history.BrokerID{2, 3} })
	s.write(1, 3) // it does not know
	s.lead(2, 1)
	s.write(2, 4)
	s.follow(3, 1)
	s.fetch(3, 2, 0) // its HW goes back
	s.expose(2, 14)
	s.follow(1, 1)
	s.cut(1, 10)
	s.fetch(1, 2, 14)
	s.replica(2, func(v *ReplicaView) { v.Maximal = []history.BrokerID{1, 2, 3} })
	s.controller(func(p *PartitionView) { p.ISR = []history.BrokerID{1, 2, 3} })
	s.write(2, 2)
	s.fetch(1, 2, 14)
	s.fetch(3, 2, 14)
	s.expose(2, 16)
	// broker 3 loses power and what it had not synced; the controller does not know yet
	s.replica(3, func(v *ReplicaView) { v.Running = false })
	s.logs[3] = s.logs[3][:12]
	s.replica(3, func(v *ReplicaView) { v.Running, v.Incarnation, v.HW = true, -1, 10 })
	s.replica(3, func(v *ReplicaView) { v.Incarnation = 23 })
	s.controller(func(p *PartitionView) {
		p.ISR, p.Known[3] = []history.BrokerID{1, 2}, BrokerView{Incarnation: 23, Fenced: true}
	})
	s.fetch(3, 2, 14)
	// broker 1 is fenced: below min.insync.replicas it becomes eligible, and the HW stands
	s.controller(func(p *PartitionView) {
		p.ISR, p.ELR, p.Known[1] = []history.BrokerID{2}, []history.BrokerID{1}, BrokerView{Incarnation: 11, Fenced: true}
	})
	s.write(2, 5)
	s.controller(func(p *PartitionView) { p.Leader, p.Epoch, p.ISR, p.ELR = -1, 2, nil, []history.BrokerID{1, 2} })
	s.controller(func(p *PartitionView) {
		p.Known[1] = BrokerView{Incarnation: 11}
		p.Leader, p.Epoch, p.ISR, p.ELR = 1, 3, []history.BrokerID{1}, []history.BrokerID{2}
	})
	s.lead(1, 3)
	s.write(1, 1)
}

func names(broken []Broken) []string {
	var out []string
	for _, b := range broken {
		out = append(out, b.Name)
	}
	return out
}

// TestInvariantsHoldOnLegalStates feeds a legal life and counts how often entries are asked for.
func TestInvariantsHoldOnLegalStates(t *testing.T) {
	s := newStage(ContractOf(testRun(1)))
	legal(s)
	if b := s.inv.Broken(); len(b) > 0 {
		t.Fatalf("broken: %+v", b)
	}
}

// TestInvariantsForgetTheDeleted commits a shrink together with the topic's deletion, so that only the leader is ever seen to know of it. Of a
// partition that still stands it is a mistake.
func TestInvariantsForgetTheDeleted(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		s := newStage(ContractOf(testRun(1)))
		s.committed()
		if deleted {
			s.inv.Deleted(s.part.Partition)
		}
		s.replica(1, func(v *ReplicaView) { v.ISR, v.Maximal = []history.BrokerID{1}, []history.BrokerID{1} })
		if b := s.inv.Broken(); len(b) == 0 != deleted {
			t.Errorf("deleted %v: broken: %+v", deleted, b)
		}
	}
}

// TestInvariantsCost checks that the number of entries looked at grows with the entries, not with the events.
func TestInvariantsCost(t *testing.T) {
	s := newStage(ContractOf(testRun(1)))
	for n := range 2000 {
		s.write(1, 1)
		s.fetch(2, 1, history.Offset(n))
		s.fetch(3, 1, history.Offset(n))
		s.expose(1, history.Offset(n+1))
		for range 10 {
			s.replica(1, func(*ReplicaView) {})
			s.replica(2, func(*ReplicaView) {})
		}
	}
	if b := s.inv.Broken(); len(b) > 0 {
		t.Fatalf("broken: %+v", b)
	}
	if s.asked > 2000*4 {
		t.Fatalf("%d entries asked for, for 2000 entries on 3 replicas", s.asked)
	}
}

// TestEachInvariantBroken breaks one invariant at a time.
func TestEachInvariantBroken(t *testing.T) {
	tests := []struct {
		name string
		do   func(*stage)
	}{
		{LogMatching, func(s *stage) {
			s.controller(func(p *PartitionView) { p.ISR = []history.BrokerID{1, 2} })
			s.replica(1, func(v *ReplicaView) { v.ISR, v.Maximal = s.part.ISR, s.part.ISR })
			s.write(1, 1)
			s.fetch(2, 1, 10)
			s.expose(1, 11)
			s.logs[3] = append(s.logs[3], Entry{Epoch: 0, Digest: 999})
			s.replica(3, func(v *ReplicaView) { v.HW = 11 })
		}},
		{WeakIsr, func(s *stage) {
			s.controller(func(p *PartitionView) { p.Leader, p.Epoch, p.ISR = 2, 1, []history.BrokerID{2, 3} })
			s.lead(2, 1)
			s.write(2, 1)
			s.follow(3, 1)
			s.fetch(3, 2, 10)
			s.expose(2, 11)
			s.write(1, 1)
			s.expose(1, 11) // the deposed leader exposes its own
		}},
		{ConsistentRead, func(s *stage) {
			s.logs[1][9].Digest = 999
			s.replica(1, func(v *ReplicaView) { v.Running = false })
			s.replica(1, func(v *ReplicaView) { v.Running = true })
		}},
		{StrongIsr, func(s *stage) {
			s.write(1, 1)
			s.fetch(3, 1, 10)
			s.logs[2] = append(s.logs[2], Entry{Epoch: 0, Digest: 999})
			s.fetch(2, 1, 10)
			s.expose(1, 11)
		}},
		{ValidHighWatermark, func(s *stage) { s.write(1, 1); s.fetch(2, 1, 10); s.expose(1, 11) }},
		{ValidHighWatermark, func(s *stage) { s.cut(2, 9) }},
		{LeaderCandidate, func(s *stage) {
			s.controller(func(p *PartitionView) { p.ISR, p.ELR = []history.BrokerID{1}, []history.BrokerID{2} })
			s.write(1, 1)
			s.expose(1, 11)
		}},
		{LeaderCompleteness, func(s *stage) {
			s.controller(func(p *PartitionView) { p.ISR = []history.BrokerID{1, 2} })
			s.write(1, 1)
			s.fetch(2, 1, 10)
			s.expose(1, 11)
			s.controller(func(p *PartitionView) { p.Leader, p.Epoch, p.ISR = 3, 1, []history.BrokerID{3} })
			s.lead(3, 1)
		}},
		{LeaderInISR, func(s *stage) { s.controller(func(p *PartitionView) { p.ISR = []history.BrokerID{2, 3} }) }},
		{ReplicationQuorumSuperset, func(s *stage) {
			s.replica(1, func(v *ReplicaView) { v.Maximal = []history.BrokerID{1, 2} })
		}},
		{ValidControllerState, func(s *stage) {
			s.controller(func(p *PartitionView) { p.Known[2] = BrokerView{Incarnation: 12, Fenced: true} })
		}},
		{ValidControllerState, func(s *stage) { s.controller(func(p *PartitionView) { p.ELR = []history.BrokerID{3} }) }},
		{ValidControllerState, func(s *stage) {
			s.controller(func(p *PartitionView) { p.ISR, p.ELR = []history.BrokerID{1, 2}, []history.BrokerID{3} })
		}},
		{ValidControllerState, func(s *stage) { s.controller(func(p *PartitionView) { p.Replicas = []history.BrokerID{1, 2} }) }},
		{OneLeaderPerEpoch, func(s *stage) { s.lead(3, 0) }},
		{MonotoneEpoch, func(s *stage) {
			s.controller(func(p *PartitionView) { p.Epoch = 1 })
			s.controller(func(p *PartitionView) { p.Epoch = 0 })
		}},
		{MonotoneEpoch, func(s *stage) { s.follow(3, 2); s.follow(3, 1) }},
		{CurrentHighWatermark, func(s *stage) { s.write(1, 1); s.replica(1, func(v *ReplicaView) { v.DueHW = 11 }) }},
		{MonotoneLeader, func(s *stage) { s.write(1, 1); s.cut(1, 10) }},
		{MonotoneLeader, func(s *stage) { s.expose(1, 9) }},
		{ValidOffsets, func(s *stage) { s.replica(3, func(v *ReplicaView) { v.HW = 11 }) }},
		{ValidOffsets, func(s *stage) {
			s.controller(func(p *PartitionView) { p.ISR = []history.BrokerID{1, 2} })
			s.replica(3, func(v *ReplicaView) { v.Start = 10; v.HW = 5 })
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(ContractOf(testRun(1)))
			s.committed()
			if b := s.inv.Broken(); len(b) > 0 {
				t.Fatalf("broken before: %+v", b)
			}
			tt.do(s)
			if got := names(s.inv.Broken()); len(got) != 1 || got[0] != tt.name {
				t.Fatalf("broken: %+v", s.inv.Broken())
			}
		})
	}
}

// TestInvariantsFollowTheContract checks that what a contract does not promise is not watched.
func TestInvariantsFollowTheContract(t *testing.T) {
	lose := func(s *stage) {
		s.committed()
		s.controller(func(p *PartitionView) { p.Leader, p.Epoch, p.ISR = 3, 1, []history.BrokerID{3} })
		s.logs[3] = s.logs[3][:5]
		s.replica(3, func(v *ReplicaView) { v.Running = false })
		s.replica(3, func(v *ReplicaView) { v.Running, v.HW = true, 5 })
		s.lead(3, 1)
	}
	for name, c := range map[string]struct {
		change func(*history.Run)
		broken bool
	}{
		"acks=1":  {func(r *history.Run) { r.Acks = 1 }, true},
		"unclean": {func(r *history.Run) { r.Unclean = true }, false},
		"beyond":  {func(r *history.Run) { r.Beyond = true }, false},
	} {
		run := testRun(1)
		c.change(&run)
		s := newStage(ContractOf(run))
		lose(s)
		if got := len(s.inv.Broken()) > 0; got != c.broken {
			t.Errorf("%s: broken %v", name, names(s.inv.Broken()))
		}
	}
}
