package controller

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
)

// request makes the request that a command of a story names, sends it and waits for what comes of it.
func (s *scenario) request() string {
	to := 0
	s.d.MaybeScanArgs(s.t, "to", &to)
	target := s.active()
	if to > 0 {
		target = s.member(to)
	}
	if target == nil {
		return "no active controller"
	}
	if s.d.Cmd == "join" {
		return s.join(target)
	}
	req := s.build()
	if req == nil {
		s.t.Fatalf("%s: unknown command %q", s.d.Pos, s.d.Cmd)
	}
	s.send(target, s.title(), req)
	return s.answers()
}

func (s *scenario) send(m *testMember, title string, req kmsg.Request) kmsg.Response {
	tok := s.ask(m, req)
	s.named[tok] = title
	if err := s.quiet(); err != nil {
		s.t.Fatal(err)
	}
	resp := s.asked[tok]
	if r, ok := resp.(*kmsg.BrokerRegistrationResponse); ok && r.ErrorCode == 0 {
		s.epochs[kafka.BrokerID(req.(*kmsg.BrokerRegistrationRequest).BrokerID)] = r.BrokerEpoch
	}
	return resp
}

func (s *scenario) title() string {
	words := []string{s.d.Cmd}
	for _, arg := range s.d.CmdArgs {
		if len(arg.Vals) == 0 {
			words = append(words, arg.Key)
		}
	}
	return strings.Join(words, " ")
}

// join registers brokers and unfences them.
func (s *scenario) join(m *testMember) string {
	for _, arg := range s.d.CmdArgs {
		id, err := strconv.Atoi(arg.Key)
		if err != nil {
			s.t.Fatal(err)
		}
		s.send(m, "register "+arg.Key, registration(kafka.BrokerID(id), 1, -1))
		s.send(m, "heartbeat "+arg.Key, s.heartbeatRequest(kafka.BrokerID(id), false, false))
	}
	return s.answers()
}

func registration(b kafka.BrokerID, incarnation byte, previous int64) *kmsg.BrokerRegistrationRequest {
	return &kmsg.BrokerRegistrationRequest{Version: 4, BrokerID: int32(b), IncarnationID: [16]byte{byte(b), incarnation}, PreviousBrokerEpoch: previous,
		Listeners: []kmsg.BrokerRegistrationRequestListener{{Name: "PLAINTEXT", Host: fmt.Sprintf("b%d", b), Port: 9092}}}
}

func (s *scenario) heartbeatRequest(b kafka.BrokerID, fence, shutdown bool) *kmsg.BrokerHeartbeatRequest {
	return &kmsg.BrokerHeartbeatRequest{Version: 1, BrokerID: int32(b), BrokerEpoch: s.epochs[b], CurrentMetadataOffset: 1 << 40,
		WantFence: fence, WantShutdown: shutdown}
}

func (s *scenario) build() kmsg.Request {
	first := s.d.CmdArgs[0].Key
	id, _ := strconv.Atoi(first)
	b := kafka.BrokerID(id)
	switch s.d.Cmd {
	case "register":
		incarnation, previous := 1, int64(-1)
		s.d.MaybeScanArgs(s.t, "incarnation", &incarnation)
		if s.d.HasArg("clean") {
			previous = s.epochs[b]
		}
		s.d.MaybeScanArgs(s.t, "previous", &previous)
		req := registration(b, byte(incarnation), previous)
		req.LogDirs = [][16]byte{s.directory(b)}
		return req
	case "add-voter":
		return &kmsg.AddRaftVoterRequest{VoterID: int32(b), VoterDirectoryID: s.directory(b)}
	case "remove-voter":
		return &kmsg.RemoveRaftVoterRequest{VoterID: int32(b), VoterDirectoryID: s.directory(b)}
	case "heartbeat":
		req := s.heartbeatRequest(b, s.d.HasArg("want-fence"), s.d.HasArg("want-shutdown"))
		s.d.MaybeScanArgs(s.t, "offset", &req.CurrentMetadataOffset)
		s.d.MaybeScanArgs(s.t, "epoch", &req.BrokerEpoch)
		return req
	case "producer-ids":
		return &kmsg.AllocateProducerIDsRequest{BrokerID: int32(b), BrokerEpoch: s.epochs[b]}
	case "create":
		return s.buildCreate(first)
	case "alter":
		return s.buildAlter(s.partition(first))
	case "elect-leaders":
		req := &kmsg.ElectLeadersRequest{Version: 2}
		if s.d.HasArg("unclean") {
			req.ElectionType = 1
		}
		if first != "all" {
			tp := s.partition(first)
			req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: tp.Topic, Partitions: []int32{tp.Index}}}
		}
		return req
	case "reassign":
		tp := s.partition(first)
		p := kmsg.AlterPartitionAssignmentsRequestTopicPartition{Partition: tp.Index}
		if !s.d.HasArg("cancel") {
			p.Replicas = ints(s.set("replicas"))
		}
		return &kmsg.AlterPartitionAssignmentsRequest{Topics: []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: tp.Topic,
			Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{p}}}}
	case "list-reassignments":
		return &kmsg.ListPartitionReassignmentsRequest{}
	default:
		return nil
	}
}

// directory is the disk that a broker is on, or its first.
func (s *scenario) directory(b kafka.BrokerID) DirectoryID {
	if m := s.member(int(b)); m.c != nil && !s.d.HasArg("disk") {
		return m.c.Directory()
	}
	return FirstDirectory(b)
}

func (s *scenario) buildCreate(topic string) kmsg.Request {
	partitions, factor := 1, 3
	s.d.MaybeScanArgs(s.t, "partitions", &partitions)
	s.d.MaybeScanArgs(s.t, "factor", &factor)
	t := kmsg.CreateTopicsRequestTopic{Topic: topic, NumPartitions: int32(partitions), ReplicationFactor: int16(factor)}
	if replicas := s.set("replicas"); replicas != nil {
		t.NumPartitions, t.ReplicationFactor = -1, -1
		t.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: ints(replicas)}}
	}
	for _, arg := range s.d.CmdArgs[1:] {
		if strings.Contains(arg.Key, ".") {
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: arg.Key, Value: &arg.Vals[0]})
		}
	}
	return &kmsg.CreateTopicsRequest{Version: 7, ValidateOnly: s.d.HasArg("validate-only"), Topics: []kmsg.CreateTopicsRequestTopic{t}}
}

// buildAlter asks as a leader does who knows all that is committed, but for what the command says otherwise.
func (s *scenario) buildAlter(tp kafka.TopicPartition) kmsg.Request {
	img := s.freshest()
	p, _ := img.Partition(tp)
	by, version, leaderEpoch, partitionEpoch, stale := int(p.Leader), int16(3), int32(p.LeaderEpoch), p.PartitionEpoch, -2
	s.d.MaybeScanArgs(s.t, "by", &by)
	s.d.MaybeScanArgs(s.t, "leader-epoch", &leaderEpoch)
	s.d.MaybeScanArgs(s.t, "partition-epoch", &partitionEpoch)
	s.d.MaybeScanArgs(s.t, "epoch-of-the-last", &stale)
	part := kmsg.AlterPartitionRequestTopicPartition{Partition: tp.Index, LeaderEpoch: leaderEpoch, PartitionEpoch: partitionEpoch}
	isr := s.set("isr")
	for i, b := range isr {
		m := kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(b), BrokerEpoch: s.epochs[b]}
		if i == len(isr)-1 && stale > -2 {
			m.BrokerEpoch = int64(stale)
		}
		part.NewEpochISR = append(part.NewEpochISR, m)
	}
	id := kafka.TopicID{}
	if t := img.Topics[tp.Topic]; t != nil {
		id = t.ID
	}
	req := &kmsg.AlterPartitionRequest{Version: version, BrokerID: int32(by), BrokerEpoch: s.epochs[kafka.BrokerID(by)],
		Topics: []kmsg.AlterPartitionRequestTopic{{TopicID: id, Partitions: []kmsg.AlterPartitionRequestTopicPartition{part}}}}
	s.d.MaybeScanArgs(s.t, "sender-epoch", &req.BrokerEpoch)
	return req
}

func (s *scenario) partition(text string) kafka.TopicPartition {
	at := strings.LastIndex(text, "-")
	index, err := strconv.Atoi(text[at+1:])
	if err != nil {
		s.t.Fatalf("%s: %q, expected topic-index", s.d.Pos, text)
	}
	return kafka.TopicPartition{Topic: text[:at], Index: int32(index)}
}
