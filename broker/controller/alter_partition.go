package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// alterPartitions answers AlterPartition (key 56, versions 2 and 3; KIP-497, KIP-903): a leader asks for another ISR.
func alterPartitions(v view, req *kmsg.AlterPartitionRequest) decision {
	sender := kafka.BrokerID(req.BrokerID)
	if !currentIncarnation(v.img, sender, kafka.BrokerEpoch(req.BrokerEpoch)) {
		return decision{answer: refuse(req, kafka.StaleBrokerEpoch)}
	}
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	d := decision{answer: resp}
	seen := map[kafka.TopicPartition]bool{}
	for _, t := range req.Topics {
		out := kmsg.AlterPartitionResponseTopic{Topic: t.Topic, TopidID: t.TopicID}
		name := v.img.Names[t.TopicID]
		for _, p := range t.Partitions {
			tp := kafka.TopicPartition{Topic: name, Index: p.Partition}
			answer, rec := kmsg.AlterPartitionResponseTopicPartition{Partition: p.Partition}, metadata.Record(nil)
			switch {
			case name == "":
				answer.ErrorCode = int16(kafka.UnknownTopicID)
			case seen[tp]: // what it says of the first would not hold any more
				answer.ErrorCode = int16(kafka.InvalidRequest)
			default:
				answer, rec = alterPartition(v, req.Version, sender, v.img.Topics[name], p)
			}
			seen[tp] = true
			if rec != nil {
				d.records = append(d.records, rec)
			}
			out.Partitions = append(out.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return d
}

func alterPartition(v view, version int16, sender kafka.BrokerID, t *metadata.Topic, req kmsg.AlterPartitionRequestTopicPartition,
) (kmsg.AlterPartitionResponseTopicPartition, metadata.Record) {
	answer := kmsg.AlterPartitionResponseTopicPartition{Partition: req.Partition}
	if t == nil || req.Partition < 0 || int(req.Partition) >= len(t.Partitions) {
		answer.ErrorCode = int16(kafka.UnknownTopicOrPartition)
		return answer, nil
	}
	p := t.Partitions[req.Partition]
	isr := members(v.img, version, req)
	v.refuseAlter(t, p, sender, req, isr)
	if code := judgeAlterPartition(v, p, sender, req, isr); code != kafka.None {
		answer.ErrorCode = int16(code)
		return answer, nil
	}
	want := asIs(p)
	want.isr = nil
	for _, m := range isr {
		want.isr = append(want.isr, m.id)
	}
	// Also where the ISR stays the same, the partition epoch moves: a leader asks for that to be sure that no copy of an earlier
	// request of its own can be accepted any more. (Kafka takes such a request for one that it has carried out before.)
	r, _ := change(p, want, v.circumstances(t, kafka.NoBroker, kafka.NoBroker))
	rec := record(t, int(req.Partition), r, metadata.Cause{Kind: metadata.ByAlterPartition, Broker: sender})
	p = p.With(r)
	if p.Leader != sender { // the ISR completed a reassignment that the sender is no part of
		answer.ErrorCode = int16(kafka.NewLeaderElected)
		return answer, rec
	}
	answer.LeaderID, answer.LeaderEpoch = int32(p.Leader), int32(p.LeaderEpoch)
	answer.ISR, answer.PartitionEpoch = ints(p.ISR), p.PartitionEpoch
	return answer, rec
}

// judgeAlterPartition applies the rules in Kafka's order: each answer tells the leader something only if those before it did
// not apply.
func judgeAlterPartition(v view, p metadata.Partition, sender kafka.BrokerID, req kmsg.AlterPartitionRequestTopicPartition,
	isr []member) kafka.Code {
	switch {
	case senderAhead(p, kafka.Epoch(req.LeaderEpoch), req.PartitionEpoch):
		return kafka.NotController
	case leaderFenced(p, kafka.Epoch(req.LeaderEpoch)):
		return kafka.FencedLeaderEpoch
	case sender != p.Leader:
		return kafka.InvalidRequest
	case updateStale(p, req.PartitionEpoch) && !v.cfg.Bug.Bites(bug.NoPartitionEpochCheck, true):
		return kafka.InvalidUpdateVersion
	case !validISR(p, isr):
		return kafka.InvalidRequest
	}
	for _, m := range isr {
		right := eligible(v.img, p, m)
		if v.cfg.Bug.Bites(bug.IneligibleJoins, !right && m.epoch == v.img.Brokers[m.id].Epoch) ||
			v.cfg.Bug.Bites(bug.StaleBrokerEpoch, !right && active(v.img, m.id)) {
			continue
		}
		if !right {
			return kafka.IneligibleReplica
		}
	}
	return kafka.None
}

// members reads the ISR asked for. Version 2 has no broker epochs: there the leader is believed, as in Kafka before 3.5.
func members(img *metadata.Image, version int16, req kmsg.AlterPartitionRequestTopicPartition) []member {
	var out []member
	if version < 3 {
		for _, id := range req.NewISR {
			out = append(out, member{kafka.BrokerID(id), img.Brokers[kafka.BrokerID(id)].Epoch})
		}
		return out
	}
	for _, m := range req.NewEpochISR {
		out = append(out, member{kafka.BrokerID(m.BrokerID), kafka.BrokerEpoch(m.BrokerEpoch)})
	}
	return out
}

func ints(set []kafka.BrokerID) []int32 {
	out := make([]int32, len(set))
	for i, b := range set {
		out[i] = int32(b)
	}
	return out
}
