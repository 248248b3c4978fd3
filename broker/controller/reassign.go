package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// reassignPartitions answers AlterPartitionReassignments (key 45, KIP-455): other replicas for a partition, or null to give up a
// reassignment under way. The same replicas in another order are reordered at once. New ones are added to the old; when all
// that are to stay are in the ISR, the rest leave.
func reassignPartitions(v view, req *kmsg.AlterPartitionAssignmentsRequest) decision {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	d := decision{answer: resp}
	seen := map[kafka.TopicPartition]bool{}
	for _, t := range req.Topics {
		out := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			rec, no := reassign(v, v.img.Topics[t.Topic], p, req.Version == 0 || req.AllowReplicationFactorChange)
			if tp := (kafka.TopicPartition{Topic: t.Topic, Index: p.Partition}); seen[tp] {
				rec, no = nil, refusal{kafka.InvalidRequest, "the partition is named twice"}
			} else {
				seen[tp] = true
			}
			if rec != nil {
				d.records = append(d.records, rec)
			}
			out.Partitions = append(out.Partitions, kmsg.AlterPartitionAssignmentsResponseTopicPartition{
				Partition: p.Partition, ErrorCode: int16(no.code), ErrorMessage: text(no.why)})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return d
}

func reassign(v view, t *metadata.Topic, req kmsg.AlterPartitionAssignmentsRequestTopicPartition, resize bool) (metadata.Record, refusal) {
	if t == nil || req.Partition < 0 || int(req.Partition) >= len(t.Partitions) {
		return nil, refusal{kafka.UnknownTopicOrPartition, "no such partition"}
	}
	p := t.Partitions[req.Partition]
	c := v.circumstances(t, kafka.NoBroker, kafka.NoBroker)
	var want target
	var no refusal
	if req.Replicas == nil {
		want, no = giveUp(p, c.unclean)
	} else {
		want, no = moveTo(v, p, brokers(req.Replicas), resize)
	}
	if no.code != kafka.None {
		return nil, no
	}
	r, ok := change(p, want, c)
	if !ok {
		return nil, refusal{}
	}
	return record(t, int(req.Partition), r, metadata.Cause{Kind: metadata.ByReassignment, Broker: kafka.NoBroker}), refusal{}
}

// moveTo is the target of a reassignment: the new replicas in their order, after them those that are to leave, all that there are, also those
// that an unfinished reassignment was adding: one of these may by now be all that is in sync. A difference that is empty leaves
// what was being added or removed before as it was. (Kafka's ReplicationControlManager.changePartitionReassignment.)
func moveTo(v view, p metadata.Partition, to []kafka.BrokerID, resize bool) (target, refusal) {
	want := asIs(p)
	if why := validAssignment(v.img, to); why != "" {
		return want, refusal{kafka.InvalidReplicaAssignment, why}
	}
	if !resize && len(to) != len(without(p.Replicas, p.Removing...)) {
		return want, refusal{kafka.InvalidReplicationFactor, "the replication factor may not change"}
	}
	adding, removing := without(to, p.Replicas...), without(p.Replicas, to...)
	slices.Sort(adding)
	slices.Sort(removing)
	want.replicas = slices.Concat(to, removing)
	if len(adding) > 0 {
		want.adding = adding
	}
	if len(removing) > 0 {
		want.removing = removing
	}
	return want, refusal{}
}

// giveUp is the target that takes back a reassignment under way: whoever was being added leaves. Where nobody else is in the ISR the first
// of the others takes its place, if unclean elections are allowed. (Kafka's PartitionReassignmentRevert.)
func giveUp(p metadata.Partition, unclean bool) (target, refusal) {
	want := asIs(p)
	if len(p.Adding)+len(p.Removing) == 0 {
		return want, refusal{kafka.NoReassignmentInProgress, "no reassignment is in progress"}
	}
	want.replicas, want.isr = without(p.Replicas, p.Adding...), without(p.ISR, p.Adding...)
	want.adding, want.removing = nil, nil
	switch {
	case len(want.replicas) == 0:
		return want, refusal{kafka.InvalidReplicaAssignment, "every replica was being added"}
	case len(want.isr) > 0:
	case unclean:
		want.isr, want.election = want.replicas[:1], electUnclean
	default:
		return want, refusal{kafka.InvalidReplicaAssignment, "no replica that would remain is in the ISR, and unclean leader election is disabled"}
	}
	return want, refusal{}
}

// listReassignments answers ListPartitionReassignments (key 46, KIP-455).
func listReassignments(v view, req *kmsg.ListPartitionReassignmentsRequest) decision {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	asked := map[kafka.TopicPartition]bool{}
	for _, t := range req.Topics {
		for _, i := range t.Partitions {
			asked[kafka.TopicPartition{Topic: t.Topic, Index: i}] = true
		}
	}
	v.eachPartition(func(t *metadata.Topic, i int, p metadata.Partition) {
		tp := kafka.TopicPartition{Topic: t.Name, Index: int32(i)}
		if len(p.Adding)+len(p.Removing) == 0 || (req.Topics != nil && !asked[tp]) {
			return
		}
		if n := len(resp.Topics); n == 0 || resp.Topics[n-1].Topic != t.Name {
			resp.Topics = append(resp.Topics, kmsg.ListPartitionReassignmentsResponseTopic{Topic: t.Name})
		}
		last := &resp.Topics[len(resp.Topics)-1]
		last.Partitions = append(last.Partitions, kmsg.ListPartitionReassignmentsResponseTopicPartition{Partition: tp.Index,
			Replicas: ints(p.Replicas), AddingReplicas: ints(p.Adding), RemovingReplicas: ints(p.Removing)})
	})
	return decision{answer: resp}
}
