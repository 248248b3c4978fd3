package controller

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// TestScenarios plays the stories in testdata/scenarios. The commands:
//
//	cluster voters=N [nodes=N] [classic] [unclean] [rebalance=D] [min-isr=N] [bug=NAME] [snapshot-bytes=N] [auto-join]
//	campaign N            member N stands for election; advance D moves the clock, [alive=(..)] brokers keep their sessions
//	isolate N [inbound], heal  all messages from and to N are held, or those to it; heal lets them go (drop: forgets them first)
//	duplicate             every message held is delivered, and held on
//	hold-flushes N, release-flushes N
//	kill N, powerfail N [keep=BYTES], start N [blank|formatted]: on an empty disk, or on one that has an id of its own
//	producer-ids N, register, heartbeat, join, create, alter, elect-leaders, reassign, list-reassignments,
//	add-voter, remove-voter N [disk=first]: requests to the active controller,
//	or to=N; what is not answered at once is told by: answers
//	state, quorum, voters, steps  what members have, in words; files N: those of a member's metadata log
//	cut N BYTES           the files of a member that is down are cut short
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t, s.d = t, d
			out := s.run()
			switch bad := s.broken(); {
			case bad != "" && s.cfg.Bug != nil: // it is what the story tells
				out += "BROKEN: " + bad
			case bad != "":
				t.Fatalf("%s: after %s: %s", d.Pos, d.Cmd, bad)
			}
			if out == "" {
				return "ok"
			}
			return strings.TrimSuffix(out, "\n")
		})
	})
}

type scenario struct {
	*cluster
	t         *testing.T
	d         *datadriven.TestData
	isolated  map[kafka.BrokerID]bool
	deaf      map[kafka.BrokerID]bool
	unflushed map[kafka.BrokerID]bool
	told      map[Token]bool
	named     map[Token]string
	epochs    map[kafka.BrokerID]int64 // broker epochs as the answers told them
}

func (s *scenario) run() string {
	n := 0
	if len(s.d.CmdArgs) > 0 && len(s.d.CmdArgs[0].Vals) == 0 {
		n, _ = strconv.Atoi(s.d.CmdArgs[0].Key)
	}
	switch s.d.Cmd {
	case "cluster":
		return s.newCluster()
	case "campaign":
		s.member(n).c.q.electionAt = s.now
		s.tick(s.now)
	case "advance":
		s.advance()
	case "isolate":
		if s.d.HasArg("inbound") {
			s.deaf[kafka.BrokerID(n)] = true
		} else {
			s.isolated[kafka.BrokerID(n)] = true
		}
	case "drop":
		s.wire = nil
		return ""
	case "duplicate":
		for i := range s.wire {
			if err := s.deliver(i, true); err != nil {
				return err.Error()
			}
		}
	case "heal":
		clear(s.isolated)
		clear(s.deaf)
	case "hold-flushes":
		s.unflushed[kafka.BrokerID(n)] = true
	case "release-flushes":
		delete(s.unflushed, kafka.BrokerID(n))
	case "kill":
		s.stop(s.member(n), false, 0)
	case "powerfail":
		keep := 0
		s.d.MaybeScanArgs(s.t, "keep", &keep)
		s.stop(s.member(n), true, keep)
	case "start":
		if s.d.HasArg("blank") || s.d.HasArg("formatted") {
			s.member(n).fs = newMemFS()
		}
		if m := s.member(n); s.d.HasArg("formatted") {
			_ = disk.Run(m.fs, disk.Step{Op: disk.WriteFile, Path: MetaProperties, Data: FormatDirectory(m.id, DirectoryID{byte(m.id), byte(m.starts)})})
		}
		if err := s.start(s.member(n)); err != nil {
			return err.Error()
		}
	case "state":
		return s.state(s.member(n).c.Image())
	case "quorum":
		return s.quorum()
	case "files":
		names, _ := s.member(n).fs.ReadDir(logDir)
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
		return strings.Join(names, "\n")
	case "voters":
		return s.voters()
	case "cut":
		files := s.member(n).fs.files
		bytes, _ := strconv.Atoi(s.d.CmdArgs[1].Key)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			files[path].data = files[path].data[:min(bytes, len(files[path].data))]
		}
		return ""
	case "steps":
		return s.steps()
	case "answers":
		return s.answers()
	default:
		return s.request()
	}
	if err := s.quiet(); err != nil {
		return err.Error()
	}
	return s.answers()
}

func (s *scenario) newCluster() string {
	voters := 3
	s.d.MaybeScanArgs(s.t, "voters", &voters)
	nodes := voters
	s.d.MaybeScanArgs(s.t, "nodes", &nodes)
	cfg := testConfig(voters)
	s.d.MaybeScanArgs(s.t, "min-isr", &cfg.MinInsyncReplicas)
	cfg.QuorumAutoJoin = s.d.HasArg("auto-join")
	if s.d.HasArg("snapshot-bytes") {
		bytes := 0
		s.d.ScanArgs(s.t, "snapshot-bytes", &bytes)
		cfg.MetadataSnapshotBytes = int64(bytes)
	}
	if s.d.HasArg("bug") {
		var name string
		s.d.ScanArgs(s.t, "bug", &name)
		cfg.Bug = bug.On(bug.Name(name))
	}
	cfg.EligibleLeaderReplicas = !s.d.HasArg("classic")
	cfg.UncleanLeaderElection = s.d.HasArg("unclean")
	if s.d.HasArg("rebalance") {
		cfg.AutoLeaderRebalance, cfg.LeaderImbalanceCheckInterval = true, s.duration("rebalance")
	}
	cl, err := newCluster(cfg, nodes)
	if err != nil {
		return err.Error()
	}
	*s = scenario{cluster: cl, t: s.t, d: s.d, isolated: map[kafka.BrokerID]bool{}, deaf: map[kafka.BrokerID]bool{}, unflushed: map[kafka.BrokerID]bool{},
		told: map[Token]bool{}, named: map[Token]string{}, epochs: map[kafka.BrokerID]int64{}}
	return ""
}

func (s *scenario) duration(key string) time.Duration {
	var text string
	s.d.ScanArgs(s.t, key, &text)
	out, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *scenario) quiet() error {
	return s.settle(func(w wireMessage) bool { return s.isolated[w.from] || s.isolated[w.to] || s.deaf[w.to] },
		func(id kafka.BrokerID) bool { return s.unflushed[id] })
}

// advance moves the clock from deadline to deadline; brokers named alive send a heartbeat every second.
func (s *scenario) advance() {
	until, err := time.ParseDuration(s.d.CmdArgs[0].Key)
	if err != nil {
		s.t.Fatal(err)
	}
	until += s.now
	beat := s.now + time.Second
	for s.now < until {
		s.tick(min(until, s.nextDeadline(), beat))
		if s.now >= beat {
			beat += time.Second
			for _, b := range s.set("alive") {
				if a := s.active(); a != nil {
					tok := s.ask(a, s.heartbeatRequest(b, false, false))
					s.told[tok] = true
				}
			}
		}
		if err := s.quiet(); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *scenario) set(key string) []kafka.BrokerID {
	var out []kafka.BrokerID
	for _, arg := range s.d.CmdArgs {
		if arg.Key == key {
			for _, v := range arg.Vals {
				id, err := strconv.Atoi(v)
				if err != nil {
					s.t.Fatal(err)
				}
				out = append(out, kafka.BrokerID(id))
			}
		}
	}
	return out
}

func (s *scenario) quorum() string {
	var b strings.Builder
	for _, m := range s.members {
		if m.c == nil {
			fmt.Fprintf(&b, "%d is down\n", m.id)
			continue
		}
		role := "follows " + name(m.c.Active())
		switch {
		case m.c.IsActive():
			role = "is the active controller"
		case m.c.q.leading():
			role = "leads"
		}
		first := ""
		if base := m.c.q.log.base.index; base > 0 {
			first = fmt.Sprintf("from %d ", base+1)
		}
		fmt.Fprintf(&b, "%d %s in term %d, log %sto %d, applied to %d\n", m.id, role, m.c.Term(), first, m.c.q.log.last(), m.c.Image().Index)
	}
	return b.String()
}

// voters tells who each member believes votes and who only follows; a broker on a later disk than its first has a mark.
func (s *scenario) voters() string {
	list := func(ids []uint64) string {
		var out []string
		for _, id := range ids {
			disk := ""
			if id != raftID(brokerID(id)) {
				disk = "'"
			}
			out = append(out, name(brokerID(id))+disk)
		}
		return strings.Join(out, ",")
	}
	var b strings.Builder
	for _, m := range s.members {
		if m.c != nil {
			fmt.Fprintf(&b, "%d: voters %s; followed by %s\n", m.id, list(m.c.q.voters), list(m.c.q.learners))
		}
	}
	return strings.ReplaceAll(b.String(), "; followed by \n", "\n")
}

func name(b kafka.BrokerID) string {
	if b == kafka.NoBroker {
		return "nobody"
	}
	return strconv.Itoa(int(b))
}

func names(set []kafka.BrokerID) string {
	if len(set) == 0 {
		return "none"
	}
	var out []string
	for _, b := range set {
		out = append(out, name(b))
	}
	return strings.Join(out, ",")
}

func (s *scenario) state(img *metadata.Image) string {
	var b strings.Builder
	for _, id := range img.BrokerIDs() {
		r := img.Brokers[id]
		is := "unfenced"
		if r.Fenced {
			is = "fenced"
		}
		if r.Stopping {
			is += ", stopping"
		}
		fmt.Fprintf(&b, "broker %d in epoch %d: %s\n", id, r.Epoch, is)
	}
	for _, topic := range img.TopicNames() {
		for i, p := range img.Topics[topic].Partitions {
			fmt.Fprintf(&b, "%s-%d: %s leads in epoch %d; replicas %s, ISR %s", topic, i, name(p.Leader), p.LeaderEpoch, names(p.Replicas), names(p.ISR))
			for _, f := range []struct {
				what string
				set  []kafka.BrokerID
			}{{"ELR", p.ELR}, {"last known leader", p.LastKnownELR}, {"adding", p.Adding}, {"removing", p.Removing}} {
				if len(f.set) > 0 {
					fmt.Fprintf(&b, ", %s %s", f.what, names(f.set))
				}
			}
			fmt.Fprintf(&b, "; partition epoch %d\n", p.PartitionEpoch)
		}
	}
	return b.String()
}

// steps tells what the members reported since the last time: each step once, of the first member that reported it.
func (s *scenario) steps() string {
	type change struct {
		partition kafka.TopicPartition
		epoch     int32
	}
	var b strings.Builder
	told := map[change]bool{}
	for _, m := range s.members {
		for _, st := range m.steps {
			if told[change{st.Partition, st.PartitionEpoch}] {
				continue
			}
			told[change{st.Partition, st.PartitionEpoch}] = true
			unclean := ""
			if st.Unclean {
				unclean = ", uncleanly"
			}
			fmt.Fprintf(&b, "%d: %s: %s leads in epoch %d%s, ISR %s: %s\n", m.id, st.Partition, name(st.Leader), st.Epoch, unclean, names(st.ISR), st.Detail)
		}
		m.steps = nil
	}
	return b.String()
}

// answers tells what was answered since the last time, and what still waits.
func (s *scenario) answers() string {
	var b strings.Builder
	for tok := Token(1); tok <= s.token; tok++ {
		if s.told[tok] {
			continue
		}
		if r := s.asked[tok]; r == nil {
			if s.member(int(s.at[tok])).c == nil {
				s.told[tok] = true
				fmt.Fprintf(&b, "%s: never answered, %d is down\n", s.named[tok], s.at[tok])
			} else {
				fmt.Fprintf(&b, "%s: no answer yet\n", s.named[tok])
			}
		} else {
			s.told[tok] = true
			fmt.Fprintf(&b, "%s: %s\n", s.named[tok], s.describe(r))
		}
	}
	return b.String()
}

func (s *scenario) describe(resp kmsg.Response) string {
	code := func(c int16) string { return kafka.Code(c).String() }
	switch r := resp.(type) {
	case *kmsg.BrokerRegistrationResponse:
		if r.ErrorCode != 0 {
			return code(r.ErrorCode)
		}
		return fmt.Sprintf("broker epoch %d", r.BrokerEpoch)
	case *kmsg.BrokerHeartbeatResponse:
		if r.ErrorCode != 0 {
			return code(r.ErrorCode)
		}
		out := "unfenced"
		if r.IsFenced {
			out = "fenced"
		}
		if !r.IsCaughtUp {
			out += ", not caught up"
		}
		if r.ShouldShutdown {
			out += ", may shut down"
		}
		return out
	case *kmsg.AddRaftVoterResponse:
		return code(r.ErrorCode)
	case *kmsg.RemoveRaftVoterResponse:
		return code(r.ErrorCode)
	case *kmsg.AllocateProducerIDsResponse:
		if r.ErrorCode != 0 {
			return code(r.ErrorCode)
		}
		return fmt.Sprintf("%d producer ids from %d on", r.ProducerIDLen, r.ProducerIDStart)
	case *kmsg.AlterPartitionResponse:
		if r.ErrorCode != 0 {
			return code(r.ErrorCode)
		}
		p := r.Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			return code(p.ErrorCode)
		}
		return fmt.Sprintf("ISR %s, leader epoch %d, partition epoch %d", names(brokers(p.ISR)), p.LeaderEpoch, p.PartitionEpoch)
	case *kmsg.CreateTopicsResponse:
		t := r.Topics[0]
		if t.ErrorCode != 0 {
			out := code(t.ErrorCode)
			if t.ErrorMessage != nil {
				out += ": " + *t.ErrorMessage
			}
			return out
		}
		return fmt.Sprintf("%d partitions of %d replicas", t.NumPartitions, t.ReplicationFactor)
	case *kmsg.ElectLeadersResponse:
		if r.ErrorCode != 0 {
			return code(r.ErrorCode)
		}
		var out []string
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out = append(out, fmt.Sprintf("%s-%d %s", t.Topic, p.Partition, code(p.ErrorCode)))
			}
		}
		return strings.Join(out, ", ")
	case *kmsg.AlterPartitionAssignmentsResponse:
		if r.ErrorCode != 0 {
			return code(r.ErrorCode)
		}
		p := r.Topics[0].Partitions[0]
		if p.ErrorMessage != nil {
			return code(p.ErrorCode) + ": " + *p.ErrorMessage
		}
		return code(p.ErrorCode)
	case *kmsg.ListPartitionReassignmentsResponse:
		var out []string
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out = append(out, fmt.Sprintf("%s-%d to %s, adding %s, removing %s", t.Topic, p.Partition, names(brokers(p.Replicas)),
					names(brokers(p.AddingReplicas)), names(brokers(p.RemovingReplicas))))
			}
		}
		return strings.Join(out, "; ")
	}
	return fmt.Sprintf("%T", resp)
}

// broken is what no moment of any story may show.
func (s *scenario) broken() string {
	leaders := map[int64]kafka.BrokerID{}
	applied := map[int64]uint64{}
	for _, m := range s.members {
		if m.c == nil {
			continue
		}
		if m.c.q.leading() {
			if other, ok := leaders[m.c.Term()]; ok {
				return fmt.Sprintf("%d and %d lead in term %d", other, m.id, m.c.Term())
			}
			leaders[m.c.Term()] = m.id
		}
		q := m.c.Quorum()
		for i, digest := range q.Applied {
			index := q.Index - int64(len(q.Applied)-1-i)
			if other, ok := applied[index]; ok && other != digest {
				return fmt.Sprintf("%d applied another entry %d than a member before it", m.id, index)
			}
			applied[index] = digest
		}
		img := m.c.Image()
		for _, t := range img.Topics {
			for i, p := range t.Partitions {
				if bad := badPartition(img, s.cfg, t, p); bad != "" {
					return fmt.Sprintf("member %d, %s-%d: %s", m.id, t.Name, i, bad)
				}
			}
		}
	}
	return ""
}
