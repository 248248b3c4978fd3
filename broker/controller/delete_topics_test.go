package controller

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// TestDeleteTopics: a topic is deleted by its name or by its id, once; each of a request's topics succeeds or fails by itself, and what is
// deleted is gone from the image with its id.
func TestDeleteTopics(t *testing.T) {
	id := kafka.TopicID{9}
	img := metadata.New()
	if _, err := img.Apply(metadata.TopicRecord{Name: "orders", ID: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := img.Apply(metadata.PartitionRecord{TopicID: id, Replicas: []kafka.BrokerID{1}, ISR: []kafka.BrokerID{1}, Leader: 1}); err != nil {
		t.Fatal(err)
	}
	on, off := config.Default(), config.Default()
	off.DeleteTopics = false
	name, other := "orders", "payments"
	for _, c := range []struct {
		what    string
		cfg     *config.Config
		version int16
		names   []string
		topics  []kmsg.DeleteTopicsRequestTopic
		codes   []kafka.Code
		records int
	}{
		{"by name", &on, 1, []string{name, other}, nil, []kafka.Code{kafka.None, kafka.UnknownTopicOrPartition}, 1},
		{"by id", &on, 6, nil, []kmsg.DeleteTopicsRequestTopic{{TopicID: id}, {TopicID: kafka.TopicID{8}}}, []kafka.Code{kafka.None, kafka.UnknownTopicID}, 1},
		{"twice", &on, 6, nil, []kmsg.DeleteTopicsRequestTopic{{TopicID: id}, {Topic: &name}}, []kafka.Code{kafka.None, kafka.InvalidRequest}, 1},
		{"by both", &on, 6, nil, []kmsg.DeleteTopicsRequestTopic{{Topic: &name, TopicID: id}}, []kafka.Code{kafka.InvalidRequest}, 0},
		{"where it is off", &off, 3, []string{name}, nil, []kafka.Code{kafka.TopicDeletionDisabled}, 0},
		{"where it is off, to an old client", &off, 2, []string{name}, nil, []kafka.Code{kafka.InvalidRequest}, 0},
	} {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TopicNames, req.Topics = c.version, c.names, c.topics
		d := deleteTopics(view{img: img, cfg: c.cfg}, req)
		answer := d.answer.(*kmsg.DeleteTopicsResponse)
		if len(answer.Topics) != len(c.codes) || len(d.records) != c.records {
			t.Fatalf("%s: %d answers and %d records, expected %d and %d", c.what, len(answer.Topics), len(d.records), len(c.codes), c.records)
		}
		for i, want := range c.codes {
			if got := kafka.Code(answer.Topics[i].ErrorCode); got != want {
				t.Errorf("%s: topic %d: %v, expected %v", c.what, i, got, want)
			}
		}
		after := img.Clone()
		for _, rec := range d.records {
			if changed, err := after.Apply(rec); err != nil || len(changed) != 1 || after.Topics[name] != nil || after.Names[id] != "" {
				t.Errorf("%s: applied with %v, %d partitions changed, topic %v; expected one partition and no topic", c.what, err, len(changed), after.Topics[name])
			}
		}
	}
}
