package results

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// hostile is what a page must show as text wherever it may stand.
const hostile = `<img src=x onerror=alert(1)></script><script>alert(2)</script>`

var orders = history.Partition{Topic: "orders", Index: 0}

// story is a run of three brokers, made up for the tests: a leader that acknowledges before it replicates is cut off, keeps
// acknowledging, and loses what it acknowledged when it truncates; later a broker is killed and another loses power.
type story struct {
	odd     string
	h       history.History
	index   int64
	rnd     *rand.Rand
	brokers map[history.BrokerID]*storyBroker
	leader  history.BrokerID // as the controller has it
	epoch   history.Epoch
	isr     []history.BrokerID
	lost    history.Op      // the write that is lost
	busy    []time.Duration // until when each process has an operation under way
}

type storyBroker struct {
	up, leads, cut bool
	epoch          history.Epoch
	leo, hw        history.Offset
}

func invalidRun() (Outcome, *history.History) { return invalidRunWith(hostile) }

// invalidRunWith tells the story with an odd text in the lost message, an error, a probe and the plan.
func invalidRunWith(odd string) (Outcome, *history.History) {
	s := &story{odd: odd, rnd: rand.New(rand.NewPCG(7, 11)), leader: 1, epoch: 1, isr: []history.BrokerID{1, 2, 3}, brokers: map[history.BrokerID]*storyBroker{}}
	for _, b := range s.isr {
		s.brokers[b] = &storyBroker{up: true, epoch: 1, leads: b == 1}
	}
	s.play()
	return s.outcome(), &s.h
}

const storyEnd = 60 * time.Second

func (s *story) play() {
	const ms = time.Millisecond
	script := []struct {
		at time.Duration
		do func(now time.Duration)
	}{
		{0, func(now time.Duration) { s.mark(now, "load"); s.elect(now, 1, 1) }},
		{9 * time.Second, func(now time.Duration) {
			s.fault(now, 0, history.FaultRequested, "partition", "")
		}},
		{9002 * ms, func(now time.Duration) { s.cut(now, 1, true); s.fault(now, 0, history.FaultApplied, "partition", "") }},
		{9120 * ms, func(now time.Duration) {
			s.fault(now, 0, history.FaultObserved, "partition", "1 cannot reach 2 and 3")
		}},
		{11400 * ms, func(now time.Duration) { s.setISR(now, 2, 3); s.elect(now, 2, 2) }},
		{14002 * ms, func(now time.Duration) { s.cut(now, 1, false); s.fault(now, 0, history.FaultUndone, "partition", "") }},
		{14080 * ms, func(now time.Duration) {
			s.fault(now, 0, history.FaultVerified, "partition", "all reach all")
		}},
		{14300 * ms, func(now time.Duration) { s.truncate(now, 1) }},
		{15100 * ms, func(now time.Duration) { s.setISR(now, 1, 2, 3) }},
		{25 * time.Second, func(now time.Duration) {
			s.fault(now, 1, history.FaultRequested, "kill", "")
			s.down(now, 3)
			s.fault(now, 1, history.FaultApplied, "kill", "")
		}},
		{25010 * ms, func(now time.Duration) { s.fault(now, 1, history.FaultObserved, "kill", "connection refused") }},
		{26500 * ms, func(now time.Duration) { s.setISR(now, 1, 2) }},
		{28 * time.Second, func(now time.Duration) {
			s.start(now, 3, 0)
			s.fault(now, 1, history.FaultUndone, "kill", "")
		}},
		{28200 * ms, func(now time.Duration) { s.fault(now, 1, history.FaultVerified, "kill", "answers ApiVersions") }},
		{29500 * ms, func(now time.Duration) { s.setISR(now, 1, 2, 3) }},
		{33 * time.Second, func(now time.Duration) {
			s.fault(now, 2, history.FaultRequested, "clock", "")
			s.fault(now, 2, history.FaultApplied, "clock", "")
		}},
		{36 * time.Second, func(now time.Duration) { s.fault(now, 2, history.FaultUndone, "clock", s.odd) }},
		{40 * time.Second, func(now time.Duration) {
			s.fault(now, 3, history.FaultRequested, "powerfail", "")
			s.down(now, 2)
			s.fault(now, 3, history.FaultApplied, "powerfail", "")
			s.fault(now, 3, history.FaultObserved, "powerfail", "connection refused")
		}},
		{41700 * ms, func(now time.Duration) { s.setISR(now, 1, 3); s.elect(now, 3, 3) }},
		{44 * time.Second, func(now time.Duration) {
			s.start(now, 2, 37)
			s.fault(now, 3, history.FaultUndone, "powerfail", "")
			s.fault(now, 3, history.FaultVerified, "powerfail", "answers ApiVersions")
		}},
		{45600 * ms, func(now time.Duration) { s.setISR(now, 1, 2, 3) }},
		{50 * time.Second, func(now time.Duration) {
			s.fault(now, 4, history.FaultRequested, "kill", "")
			s.fault(now, 4, history.FaultRefused, "kill", "two replicas of orders/0 would be unclean, the budget is one")
		}},
		{56 * time.Second, func(now time.Duration) { s.mark(now, "heal"); s.mark(now, "settle"); s.mark(now, "final") }},
	}
	for now := time.Duration(0); now < storyEnd; now += 5 * ms {
		for len(script) > 0 && script[0].at <= now {
			script[0].do(now)
			script = script[1:]
		}
		s.replicate(now)
		if now%(15*ms) == 0 && now < 56*time.Second {
			s.send(now)
		}
		if now%(25*ms) == 0 {
			s.poll(now)
		}
		if now%(200*ms) == 0 {
			s.observe(now)
		}
	}
	s.mark(storyEnd, "end")
	s.reindex()
}

// reindex numbers everything in order of time, as a journal has it.
func (s *story) reindex() {
	type entry struct {
		at    time.Duration
		index *int64
	}
	var entries []entry
	for i := range s.h.Ops {
		op := &s.h.Ops[i]
		entries = append(entries, entry{op.Invoke, &op.InvokeIndex}, entry{op.Return, &op.ReturnIndex})
	}
	for i := range s.h.Faults {
		entries = append(entries, entry{s.h.Faults[i].Time, &s.h.Faults[i].Index})
	}
	for i := range s.h.States {
		entries = append(entries, entry{s.h.States[i].Time, &s.h.States[i].Index})
	}
	for i := range s.h.Steps {
		entries = append(entries, entry{s.h.Steps[i].Time, &s.h.Steps[i].Index})
	}
	for i := range s.h.Marks {
		entries = append(entries, entry{s.h.Marks[i].Time, &s.h.Marks[i].Index})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(*a.index, *b.index)) })
	for i, e := range entries {
		*e.index = int64(i)
	}
	slices.SortStableFunc(s.h.Steps, func(a, b history.Step) int { return cmp.Compare(a.Index, b.Index) })
}

func (s *story) next() int64 { s.index++; return s.index - 1 }

func (s *story) mark(now time.Duration, name string) {
	s.h.Marks = append(s.h.Marks, history.Mark{Index: s.next(), Time: now, Name: name})
}

var storyPlan = []string{
	"at 9s partition leader(orders/0) | rest for 5s",
	"at 25s kill broker 3 for 3s",
	"at 33s clock broker 1 drift 80 for 3s",
	"when isr(orders/0) = 3 powerfail leader(orders/0) for 4s",
	"at 50s kill broker 1 for 3s",
}

func (s *story) fault(now time.Duration, line int, phase history.FaultPhase, kind, detail string) {
	targets := [][]history.BrokerID{{1}, {3}, {1}, {2}, {1}}[line]
	s.h.Faults = append(s.h.Faults, history.FaultEvent{
		Index: s.next(), Time: now, Fault: line, Phase: phase, Kind: kind, Line: storyPlan[line], Targets: targets, Detail: detail,
	})
}

func (s *story) step(now time.Duration, step history.Step) {
	step.Index, step.Time, step.Partition = s.next(), now, orders
	s.h.Steps = append(s.h.Steps, step)
}

func (s *story) elect(now time.Duration, b history.BrokerID, epoch history.Epoch) {
	s.leader, s.epoch = b, epoch
	for id, other := range s.brokers {
		if id != b && other.up && !other.cut {
			other.leads, other.epoch = false, epoch
		}
	}
	s.brokers[b].leads, s.brokers[b].epoch = true, epoch
	s.step(now, history.Step{Kind: history.StepElection, Broker: b, Epoch: epoch, Peer: history.NoBroker, From: s.brokers[b].hw, To: s.brokers[b].leo})
	for _, id := range []history.BrokerID{1, 2, 3} {
		if other := s.brokers[id]; id != b && other.up && !other.cut {
			s.step(now, history.Step{Kind: history.StepFollow, Broker: id, Peer: b, Epoch: epoch, From: other.hw, To: other.leo})
		}
	}
}

func (s *story) setISR(now time.Duration, isr ...history.BrokerID) {
	s.isr = isr
	s.step(now, history.Step{Kind: history.StepISR, Broker: s.leader, Epoch: s.epoch, ISR: isr})
}

func (s *story) cut(_ time.Duration, b history.BrokerID, cut bool) { s.brokers[b].cut = cut }

func (s *story) truncate(now time.Duration, b history.BrokerID) {
	r := s.brokers[b]
	r.leads, r.epoch = false, s.epoch
	s.step(now, history.Step{Kind: history.StepFollow, Broker: b, Peer: s.leader, Epoch: s.epoch, From: r.hw, To: r.leo})
	to := s.lost.Offset - 3
	s.step(now+4*time.Millisecond, history.Step{Kind: history.StepTruncate, Broker: b, Peer: s.leader, Epoch: s.epoch, From: r.leo, To: to})
	r.leo, r.hw = to, min(r.hw, to)
}

func (s *story) down(now time.Duration, b history.BrokerID) {
	s.brokers[b].up, s.brokers[b].leads = false, false
	s.step(now, history.Step{Kind: history.StepDown, Broker: b, Peer: history.NoBroker})
}

func (s *story) start(now time.Duration, b history.BrokerID, torn history.Offset) {
	r := s.brokers[b]
	if torn > 0 {
		s.step(now, history.Step{Kind: history.StepRecovery, Broker: b, From: r.leo, To: r.leo - torn, Detail: "torn batch at the log's end"})
		r.leo -= torn
		r.hw = min(r.hw, r.leo)
	}
	r.up, r.epoch = true, s.epoch
	s.step(now, history.Step{Kind: history.StepStart, Broker: b, Peer: history.NoBroker, To: r.leo})
}

func (s *story) replicate(now time.Duration) {
	lead := s.brokers[s.leader]
	if !lead.up {
		return
	}
	for _, id := range []history.BrokerID{1, 2, 3} {
		r := s.brokers[id]
		if id == s.leader || !r.up || r.cut || r.leads || r.leo >= lead.leo || s.rnd.IntN(3) > 0 {
			continue
		}
		to := min(r.leo+1+history.Offset(s.rnd.IntN(20)), lead.leo)
		s.step(now, history.Step{Kind: history.StepAppend, Broker: id, Peer: s.leader, Epoch: s.epoch, From: r.leo, To: to})
		r.leo, r.hw = to, min(lead.hw, to)
	}
	hw := lead.leo
	for _, id := range s.isr {
		hw = min(hw, s.brokers[id].leo)
	}
	if hw > lead.hw {
		s.step(now, history.Step{Kind: history.StepHW, Broker: s.leader, From: lead.hw, To: hw})
		lead.hw = hw
	}
}

func (s *story) op(kind history.OpKind, process int32, now, took time.Duration) history.Op {
	return history.Op{
		ID: int64(len(s.h.Ops)), Process: process, Kind: kind, Outcome: history.OK, Broker: s.leader, Epoch: s.epoch, Partition: orders,
		Invoke: now, Return: now + took, InvokeIndex: s.next(), ReturnIndex: s.next(), Offset: history.UnknownOffset, HW: -1, LogStart: -1,
	}
}

func (s *story) send(now time.Duration) {
	producer := s.idle(now)
	process := producer%4 + 8*(producer/4) // four producers of eight clients: see history.Op
	took := time.Duration(2e6 + s.rnd.ExpFloat64()*4e6)
	old := s.brokers[1]
	deposed := old.cut && s.rnd.IntN(2) == 0
	lead := s.brokers[s.leader]
	if deposed {
		lead = old
	}
	op := s.op(history.Send, process, now, took)
	op.Acks, op.Value = -1, fmt.Sprintf("p%d-%d", process, op.ID)
	switch {
	case !lead.up:
		op.Outcome, op.Error, op.Return = history.Info, "request timed out after 1.5s", now+1500*time.Millisecond
	case s.rnd.IntN(200) == 0:
		op.Outcome, op.Error = history.Fail, []string{"NOT_ENOUGH_REPLICAS", "LEADER_NOT_AVAILABLE", s.odd}[s.rnd.IntN(3)]
	default:
		op.Offset = lead.leo
		if old.cut && now < 11400*time.Millisecond {
			op.Return += time.Duration(s.rnd.IntN(900)) * time.Millisecond
		}
		b := s.leader
		if deposed {
			b = 1
		}
		s.step(now, history.Step{Kind: history.StepAppend, Broker: b, Epoch: lead.epoch, Peer: history.NoBroker, From: lead.leo, To: lead.leo + 1})
		lead.leo++
		if deposed && s.lost.Value == "" && now > 12*time.Second {
			op.Value += s.odd
			op.Broker, op.Epoch = 1, 1
			s.lost = op
		}
	}
	s.busy[producer] = op.Return
	s.h.Ops = append(s.h.Ops, op)
}

// idle picks a producer's process without an operation under way, by its number among them; a new one if there is none.
func (s *story) idle(now time.Duration) int32 {
	first := s.rnd.IntN(4)
	for i := range s.busy {
		if p := (first + i) % len(s.busy); s.busy[p] < now {
			return int32(p)
		}
	}
	s.busy = append(s.busy, 0)
	return int32(len(s.busy) - 1)
}

func (s *story) poll(now time.Duration) {
	lead := s.brokers[s.leader]
	op := s.op(history.Poll, 4+int32(s.rnd.IntN(2)), now, min(time.Duration(1e6+s.rnd.ExpFloat64()*2e6), 20*time.Millisecond))
	op.Position, op.HW, op.LogStart = max(lead.hw-2, 0), lead.hw, 0
	if op.Final = now > 56*time.Second; op.Final {
		op.Process = 7
	}
	for o := op.Position; o < op.HW; o++ {
		op.Records = append(op.Records, history.Record{Offset: o, Value: "v"})
	}
	if !lead.up {
		op.Outcome, op.Error, op.HW, op.Records = history.Fail, "connection refused", -1, nil
	}
	s.h.Ops = append(s.h.Ops, op)
}

func (s *story) observe(now time.Duration) {
	ps := history.PartitionState{Partition: orders, Leader: s.leader, Epoch: s.epoch, ISR: slices.Clone(s.isr)}
	for _, id := range []history.BrokerID{1, 2, 3} {
		r := s.brokers[id]
		ps.Replicas = append(ps.Replicas, history.ReplicaState{Broker: id, Up: r.up, Leads: r.leads, Epoch: r.epoch, LEO: r.leo, HW: r.hw})
	}
	s.h.States = append(s.h.States, history.ClusterState{Index: s.next(), Time: now, Controller: 2, Partitions: []history.PartitionState{ps}})
}

func (s *story) outcome() Outcome {
	lost := s.lost
	var told []history.Step
	var cut history.Step // the truncation that loses it
	for _, step := range s.h.Steps {
		if step.Kind != history.StepAppend && step.Kind != history.StepHW && step.Time > 9*time.Second && step.Time < 16*time.Second {
			told = append(told, step)
			if step.Kind == history.StepTruncate {
				cut = step
			}
		}
	}
	run := history.Run{
		Format: 1, Tool: "0.1.0", Build: "5f0c9a1be2d4", World: "sim", Seed: 18_226_091_844_402_103_377, Started: time.Date(2026, 11, 29, 17, 18, 0, 0, time.UTC),
		Duration: storyEnd, Settle: 30 * time.Second, Brokers: 3, Topic: "orders", Parts: 1, Factor: 3, MinISR: 2, Acks: -1, ELR: true,
		Writers: 4, Readers: 2, Rate: 100, Bug: "ack-before-replication",
		Config: map[string]string{"replica.lag.time.max.ms": "1500", "broker.session.timeout.ms": "2000"},
		Plan:   fmt.Sprintln(storyPlan[0]+"\n"+storyPlan[1]+"\n"+storyPlan[2]+"\n"+storyPlan[3]+"\n"+storyPlan[4]) + "# " + s.odd + "\n",
	}
	contract := checker.Contract{
		Acks: -1, MinISR: 2, Factor: 3, ELR: true, WithinBudget: true, Durable: true, Ordered: true, CommittedReads: true,
		Because: "acks=all with min.insync.replicas=2 of 3 replicas, unclean election off and faults within the budget: what was acknowledged stands on a replica that can be elected.",
	}
	second := s.rnd.Int64N(100) + 9
	finding := checker.Finding{
		Class: checker.LostWrite, Severity: checker.Violation, Partition: orders, Offset: lost.Offset, Value: lost.Value, Count: 61,
		Ops: []int64{lost.ID, int64(len(s.h.Ops)) - 2}, Signature: "lost acknowledged write: isr election follow truncate",
		Text: fmt.Sprintf("Message %s was acknowledged to process %d at %.3f s by broker 1 at offset %d in epoch 1, while only broker 1 held it. "+
			"Broker 2 had been elected in epoch 2 at 11.400 s. Broker 1 truncated its log below the message at 14.304 s, and no replica holds it at the end. In force when it was acknowledged: fault #1.",
			lost.Value, lost.Process, lost.Return.Seconds(), lost.Offset),
		Witness: checker.Witness{
			Value: lost.Value, Offset: lost.Offset, Producer: lost.Process, Acked: int64(lost.Return), AckedBy: 1, AckEpoch: 1,
			HeldBy: []history.BrokerID{1}, ISR: []history.BrokerID{1, 2, 3}, Replaced: "p2-811",
			RemovedBy: []checker.Removal{
				{Broker: 1, How: "truncated", Time: int64(cut.Time), From: cut.From, To: cut.To, Leader: 2, Epoch: 2},
				{Broker: 2, How: "never had it", From: -1, To: -1, Leader: -1},
				{Broker: 3, How: "never had it", From: -1, To: -1, Leader: -1},
			},
			Steps: told,
			Faults: []checker.InForce{{Number: 1, Kind: "partition", What: "partition leader(orders/0) | rest", Brokers: []history.BrokerID{1},
				From: int64(9002 * time.Millisecond), To: int64(14002 * time.Millisecond), When: checker.WhenAcked}},
		},
	}
	allowed := checker.Finding{
		Class: checker.Duplicate, Severity: checker.Allowed, Partition: orders, Offset: 40, Value: "p1-30", Count: 1, Ops: []int64{30},
		Text: "Message p1-30 stands at offsets 40 and 44: the producer is not idempotent and sent it again.", Signature: "duplicate",
		Witness: checker.Witness{Value: "p1-30", Offset: 40, Producer: 1, Acked: int64(time.Second), AckedBy: 1, AckEpoch: 1, HeldBy: []history.BrokerID{1, 2, 3}, ISR: []history.BrokerID{1, 2, 3}},
	}
	var stats checker.Stats
	for _, op := range s.h.Ops {
		switch {
		case op.Kind == history.Poll:
			stats.Polls++
			stats.Records += int64(len(op.Records))
			continue
		case op.Outcome == history.OK:
			stats.Acked++
		case op.Outcome == history.Fail:
			stats.Failed++
		default:
			stats.Unknown++
		}
		stats.Sends++
	}
	stats.LeaderChanges, stats.ISRShrinks, stats.ISRGrowths, stats.Truncations, stats.TornRecoveries = 2, 3, 3, 1, 1
	stats.Faults, stats.FaultsObserved, stats.DumpedReplicas = 5, 3, 3
	stats.FaultsByKind = map[string]int64{"partition": 1, "kill": 1, "powerfail": 1}
	return Outcome{
		Run: run, Hash: "9b1f02c4d7e80a35", Replay: "tidemark replay runs/20261129T171800Z-18226091844402103377", Wall: 0.21,
		Verdict: checker.Verdict{
			Format: 1, Checker: "0.1.0", Status: checker.Invalid, Contract: contract, Stats: stats, Findings: []checker.Finding{finding, allowed},
			Reason:    "61 acknowledged writes of orders/0 are on no replica at the end; the contract promises durability.",
			Porcupine: checker.Second{Outcome: "objects", Windows: int(second), Budget: "2,000,000 steps"},
		},
	}
}
