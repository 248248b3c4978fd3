package metadata

import (
	"fmt"
	"maps"
	"slices"

	"tidemark/broker/kafka"
)

// Apply changes the image by one record and lists, in order, the partitions that may look different after it: the one that the
// record is about, or all that the broker replicates. A record that does not fit the image is an error and changes nothing.
//
// Sets of replicas are replaced, never changed in place: whoever read one before keeps a true copy.
func (img *Image) Apply(rec Record) ([]kafka.TopicPartition, error) {
	switch r := rec.(type) {
	case RegisterBroker:
		img.Brokers[r.ID] = Broker(r)
		return img.replicatedBy(r.ID), nil
	case BrokerChange:
		b, ok := img.Brokers[r.ID]
		if !ok || b.Epoch != r.Epoch {
			return nil, fmt.Errorf("metadata: change of broker %d in epoch %d, expected a registration in that epoch, found %d",
				r.ID, r.Epoch, b.Epoch)
		}
		b.Fenced, b.Stopping = r.Fenced, r.Stopping
		img.Brokers[r.ID] = b
		return img.replicatedBy(r.ID), nil
	case TopicRecord:
		if img.Topics[r.Name] != nil || img.Names[r.ID] != "" || r.Name == "" {
			return nil, fmt.Errorf("metadata: topic %q with id %x, expected a new name and a new id", r.Name, r.ID)
		}
		img.Topics[r.Name] = &Topic{Name: r.Name, ID: r.ID, Configs: map[string]string{}}
		img.Names[r.ID] = r.Name
		return nil, nil
	case RemoveTopicRecord:
		return img.removeTopic(r)
	case ProducerIDsRecord:
		if r.Next < img.NextProducerID {
			return nil, fmt.Errorf("metadata: producer ids up to %d for broker %d, expected no end before %d", r.Next, r.Broker, img.NextProducerID)
		}
		img.NextProducerID = r.Next
		return nil, nil
	case ConfigRecord:
		t := img.Topics[r.Topic]
		if t == nil {
			return nil, fmt.Errorf("metadata: configuration %q of topic %q, which is not there", r.Key, r.Topic)
		}
		t.Configs[r.Key] = r.Value
		return t.all(), nil
	case PartitionRecord:
		return img.createPartition(r)
	case PartitionChange:
		return img.changePartition(r)
	default:
		return nil, fmt.Errorf("metadata: record %T, expected one of this package's", rec)
	}
}

func (img *Image) removeTopic(r RemoveTopicRecord) ([]kafka.TopicPartition, error) {
	t := img.Topics[img.Names[r.ID]]
	if t == nil {
		return nil, fmt.Errorf("metadata: removal of topic %x, which is not there", r.ID)
	}
	delete(img.Topics, t.Name)
	delete(img.Names, r.ID)
	return t.all(), nil
}

func (img *Image) createPartition(r PartitionRecord) ([]kafka.TopicPartition, error) {
	t := img.Topics[img.Names[r.TopicID]]
	if t == nil || int(r.Index) != len(t.Partitions) || len(r.Replicas) == 0 {
		return nil, fmt.Errorf("metadata: partition %d of topic %x with replicas %v, expected the next partition of a known topic, with replicas",
			r.Index, r.TopicID, r.Replicas)
	}
	t.Partitions = append(t.Partitions, Partition{Replicas: r.Replicas, ISR: r.ISR, Leader: r.Leader})
	return []kafka.TopicPartition{{Topic: t.Name, Index: r.Index}}, nil
}

func (img *Image) changePartition(r PartitionChange) ([]kafka.TopicPartition, error) {
	t := img.Topics[img.Names[r.TopicID]]
	if t == nil || r.Index < 0 || int(r.Index) >= len(t.Partitions) {
		return nil, fmt.Errorf("metadata: change of partition %d of topic %x, which is not there", r.Index, r.TopicID)
	}
	if r.Sets&SetReplicas != 0 && len(r.Replicas) == 0 {
		return nil, fmt.Errorf("metadata: change of partition %d of topic %q to no replicas, expected one at least", r.Index, t.Name)
	}
	t.Partitions[r.Index] = t.Partitions[r.Index].With(r)
	return []kafka.TopicPartition{{Topic: t.Name, Index: r.Index}}, nil
}

// With is the partition after a change.
func (p Partition) With(r PartitionChange) Partition {
	if r.Sets&SetLeader != 0 {
		p.Leader = r.Leader
		p.LeaderEpoch++
	}
	for _, f := range []struct {
		field    Fields
		from, to *[]kafka.BrokerID
	}{
		{SetISR, &r.ISR, &p.ISR}, {SetReplicas, &r.Replicas, &p.Replicas}, {SetAdding, &r.Adding, &p.Adding},
		{SetRemoving, &r.Removing, &p.Removing}, {SetELR, &r.ELR, &p.ELR}, {SetLastKnownELR, &r.LastKnownELR, &p.LastKnownELR},
	} {
		if r.Sets&f.field != 0 {
			*f.to = *f.from
		}
	}
	p.PartitionEpoch++
	return p
}

// Clone copies the image so that changes of either do not show in the other.
func (img *Image) Clone() *Image {
	out := &Image{Index: img.Index, NextProducerID: img.NextProducerID, Brokers: maps.Clone(img.Brokers), Topics: make(map[string]*Topic, len(img.Topics)),
		Names: maps.Clone(img.Names)}
	for name, t := range img.Topics {
		out.Topics[name] = &Topic{Name: t.Name, ID: t.ID, Configs: maps.Clone(t.Configs), Partitions: slices.Clone(t.Partitions)}
	}
	return out
}

// replicatedBy lists the partitions that have b among their replicas, in order.
func (img *Image) replicatedBy(b kafka.BrokerID) []kafka.TopicPartition {
	var out []kafka.TopicPartition
	for _, name := range img.TopicNames() {
		for i, p := range img.Topics[name].Partitions {
			if kafka.Contains(p.Replicas, b) {
				out = append(out, kafka.TopicPartition{Topic: name, Index: int32(i)})
			}
		}
	}
	return out
}

func (t *Topic) all() []kafka.TopicPartition {
	out := make([]kafka.TopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		out[i] = kafka.TopicPartition{Topic: t.Name, Index: int32(i)}
	}
	return out
}
