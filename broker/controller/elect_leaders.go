package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

const (
	electionTypePreferred = 0
	electionTypeUnclean   = 1
)

// electLeaders answers ElectLeaders (key 43, versions 0 to 2; KIP-183, KIP-460): lead by the first replica, or by any that is
// alive where nobody leads. Without topics it is about all partitions, and names only those that it is needed for.
func electLeaders(v view, req *kmsg.ElectLeadersRequest) decision {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	d := decision{answer: resp}
	kind := req.ElectionType
	if req.Version == 0 {
		kind = electionTypePreferred
	}
	if kind != electionTypePreferred && kind != electionTypeUnclean {
		return decision{answer: refuse(req, kafka.InvalidRequest)}
	}
	topics, all := req.Topics, req.Topics == nil
	if all {
		topics = allPartitions(v.img)
	}
	seen := map[kafka.TopicPartition]bool{}
	for _, t := range topics {
		out := kmsg.ElectLeadersResponseTopic{Topic: t.Topic}
		for _, i := range t.Partitions {
			code, rec := electLeader(v, v.img.Topics[t.Topic], i, kind)
			if tp := (kafka.TopicPartition{Topic: t.Topic, Index: i}); seen[tp] {
				code, rec = kafka.InvalidRequest, nil
			} else {
				seen[tp] = true
			}
			if rec != nil {
				d.records = append(d.records, rec)
			}
			if !all || code != kafka.ElectionNotNeeded {
				out.Partitions = append(out.Partitions, kmsg.ElectLeadersResponseTopicPartition{Partition: i, ErrorCode: int16(code)})
			}
		}
		if !all || len(out.Partitions) > 0 {
			resp.Topics = append(resp.Topics, out)
		}
	}
	return d
}

func electLeader(v view, t *metadata.Topic, index int32, kind int8) (kafka.Code, metadata.Record) {
	if t == nil || index < 0 || int(index) >= len(t.Partitions) {
		return kafka.UnknownTopicOrPartition, nil
	}
	p := t.Partitions[index]
	want := asIs(p)
	want.election = electPreferred
	if kind == electionTypeUnclean {
		want.election = electUnclean
	}
	switch {
	case kind == electionTypePreferred && p.Leader == p.Replicas[0], kind == electionTypeUnclean && p.Leader != kafka.NoBroker:
		return kafka.ElectionNotNeeded, nil
	}
	r, ok := change(p, want, v.circumstances(t, kafka.NoBroker, kafka.NoBroker))
	switch {
	case ok && r.Sets&metadata.SetLeader != 0 && (kind == electionTypeUnclean || r.Leader == p.Replicas[0]):
		return kafka.None, record(t, int(index), r, metadata.Cause{Kind: metadata.ByElectLeaders, Broker: kafka.NoBroker})
	case kind == electionTypePreferred:
		return kafka.PreferredLeaderNotAvailable, nil
	default:
		return kafka.EligibleLeadersNotAvailable, nil
	}
}

func allPartitions(img *metadata.Image) []kmsg.ElectLeadersRequestTopic {
	var out []kmsg.ElectLeadersRequestTopic
	for _, name := range img.TopicNames() {
		t := kmsg.ElectLeadersRequestTopic{Topic: name}
		for i := range img.Topics[name].Partitions {
			t.Partitions = append(t.Partitions, int32(i))
		}
		out = append(out, t)
	}
	return out
}

// rebalance gives partitions back to their preferred leaders, where these may lead (auto.leader.rebalance.enable); at most a
// thousand at a time, as in Kafka.
func rebalance(v view) []metadata.Record {
	var out []metadata.Record
	v.eachPartition(func(t *metadata.Topic, i int, p metadata.Partition) {
		if len(out) >= 1000 || p.Leader == kafka.NoBroker || p.Leader == p.Replicas[0] {
			return
		}
		want := asIs(p)
		want.election = electPreferred
		c := v.circumstances(t, kafka.NoBroker, kafka.NoBroker)
		if r, ok := change(p, want, c); ok && r.Sets&metadata.SetLeader != 0 && r.Leader == p.Replicas[0] {
			out = append(out, record(t, i, r, metadata.Cause{Kind: metadata.ByRebalance, Broker: kafka.NoBroker}))
		}
	})
	return out
}
