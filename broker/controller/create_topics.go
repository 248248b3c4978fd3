package controller

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// maxNewPartitions bounds what one request may create, as Kafka does.
const maxNewPartitions = 10_000

// topicName is what Kafka allows as a topic's name (Topic.java), but for "." and "..".
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// ValidTopicName reports whether a topic may have that name.
func ValidTopicName(name string) bool {
	return topicName.MatchString(name) && name != "." && name != ".."
}

// topicConfigs are the configuration keys that a topic may set, each with what its value must be.
var topicConfigs = map[string]struct {
	expected string
	valid    func(string) bool
}{
	"min.insync.replicas": {"an integer from 1", func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 32)
		return err == nil && n >= 1
	}},
	"unclean.leader.election.enable": {"true or false", func(s string) bool { return s == "true" || s == "false" }},
}

// refusal is why one topic of a request is not created.
type refusal struct {
	code kafka.Code
	why  string
}

// createTopics answers CreateTopics (key 19, versions 2 to 7). Each topic succeeds or fails by itself.
func createTopics(v view, req *kmsg.CreateTopicsRequest, rnd *rand.Rand) decision {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	d := decision{answer: resp}
	spread := newSpread(v.img)
	created := 0
	for i, t := range req.Topics {
		named := func(o kmsg.CreateTopicsRequestTopic) bool { return o.Topic == t.Topic }
		if slices.ContainsFunc(req.Topics[:i], named) || slices.ContainsFunc(req.Topics[i+1:], named) {
			resp.Topics = append(resp.Topics, failedTopic(t.Topic, kafka.InvalidRequest, "the topic is named twice"))
			continue
		}
		assignment, no := planTopic(v, spread, t, maxNewPartitions-created)
		if no != nil {
			resp.Topics = append(resp.Topics, failedTopic(t.Topic, no.code, no.why))
			continue
		}
		created += len(assignment)
		id := v.drawTopicID(rnd)
		resp.Topics = append(resp.Topics, createdTopic(t, id, assignment, req.ValidateOnly))
		if !req.ValidateOnly {
			d.records = append(d.records, topicRecords(v, t, id, assignment)...)
		}
	}
	return d
}

// planTopic judges a topic and assigns its replicas.
func planTopic(v view, spread *spread, t kmsg.CreateTopicsRequestTopic, room int) ([][]kafka.BrokerID, *refusal) {
	if !ValidTopicName(t.Topic) {
		return nil, &refusal{kafka.InvalidTopic, fmt.Sprintf("topic name %q, expected 1 to 249 of a-z A-Z 0-9 . _ -", t.Topic)}
	}
	if v.img.Topics[t.Topic] != nil {
		return nil, &refusal{kafka.TopicAlreadyExists, fmt.Sprintf("topic %q already exists", t.Topic)}
	}
	if no := validTopicConfigs(t.Configs); no != nil {
		return nil, no
	}
	if len(t.ReplicaAssignment) > 0 {
		return manualAssignment(v, t, room)
	}
	partitions, factor := int(t.NumPartitions), int(t.ReplicationFactor)
	if partitions == -1 {
		partitions = v.cfg.NumPartitions
	}
	if factor == -1 {
		factor = v.cfg.DefaultReplicationFactor
	}
	switch {
	case partitions < 1 || partitions > room:
		return nil, &refusal{kafka.InvalidPartitions, fmt.Sprintf("%d partitions, expected 1 to %d", partitions, room)}
	case factor < 1 || factor > len(v.img.Brokers):
		return nil, &refusal{kafka.InvalidReplicationFactor, fmt.Sprintf("replication factor %d, expected 1 to the %d brokers registered", factor, len(v.img.Brokers))}
	}
	out := make([][]kafka.BrokerID, partitions)
	for i := range out {
		if out[i] = spread.place(v.img, factor); out[i] == nil {
			return nil, &refusal{kafka.InvalidReplicationFactor, "every broker is fenced or shutting down"}
		}
	}
	return out, nil
}

// manualAssignment checks the assignment that the request brings: partitions from 0 on, all of one size, known brokers.
func manualAssignment(v view, t kmsg.CreateTopicsRequestTopic, room int) ([][]kafka.BrokerID, *refusal) {
	bad := func(format string, args ...any) ([][]kafka.BrokerID, *refusal) {
		return nil, &refusal{kafka.InvalidReplicaAssignment, fmt.Sprintf(format, args...)}
	}
	if t.NumPartitions != -1 || t.ReplicationFactor != -1 {
		return nil, &refusal{kafka.InvalidRequest, "an assignment beside a number of partitions or a replication factor, expected -1 for both"}
	}
	n := len(t.ReplicaAssignment)
	if n > room {
		return nil, &refusal{kafka.InvalidPartitions, fmt.Sprintf("%d partitions, expected up to %d", n, room)}
	}
	out := make([][]kafka.BrokerID, n)
	for _, a := range t.ReplicaAssignment {
		if a.Partition < 0 || int(a.Partition) >= n || out[a.Partition] != nil {
			return bad("partition %d, expected each of 0 to %d once", a.Partition, n-1)
		}
		replicas := brokers(a.Replicas)
		if why := validAssignment(v.img, replicas); why != "" {
			return bad("partition %d: %s", a.Partition, why)
		}
		if len(replicas) != len(t.ReplicaAssignment[0].Replicas) {
			return bad("partition %d has %d replicas, another has %d", a.Partition, len(replicas), len(t.ReplicaAssignment[0].Replicas))
		}
		if !slices.ContainsFunc(replicas, func(b kafka.BrokerID) bool { return active(v.img, b) }) {
			return bad("partition %d: every broker of %v is fenced or shutting down", a.Partition, replicas)
		}
		out[a.Partition] = replicas
	}
	return out, nil
}

// validAssignment says what is wrong with a set of replicas, "" if nothing is.
func validAssignment(img *metadata.Image, replicas []kafka.BrokerID) string {
	if len(replicas) == 0 {
		return "no replicas, expected one at least"
	}
	for i, b := range replicas {
		if _, ok := img.Brokers[b]; !ok {
			return fmt.Sprintf("broker %d is not registered", b)
		}
		if kafka.Contains(replicas[:i], b) {
			return fmt.Sprintf("broker %d twice in %v", b, replicas)
		}
	}
	return ""
}

func validTopicConfigs(configs []kmsg.CreateTopicsRequestTopicConfig) *refusal {
	for i, c := range configs {
		known, ok := topicConfigs[c.Name]
		switch {
		case !ok:
			return &refusal{kafka.InvalidConfig, fmt.Sprintf("unknown topic config %q, expected one of %s", c.Name, topicConfigNames())}
		case c.Value == nil || !known.valid(*c.Value):
			value := "null"
			if c.Value != nil {
				value = strconv.Quote(*c.Value)
			}
			return &refusal{kafka.InvalidConfig, fmt.Sprintf("%s is %s, expected %s", c.Name, value, known.expected)}
		case slices.ContainsFunc(configs[:i], func(o kmsg.CreateTopicsRequestTopicConfig) bool { return o.Name == c.Name }):
			return &refusal{kafka.InvalidConfig, fmt.Sprintf("%s twice", c.Name)}
		}
	}
	return nil
}

func topicConfigNames() string {
	var names []string
	for name := range topicConfigs {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// drawTopicID draws an id that no topic has; Kafka reserves those that begin with 15 zeros.
func (v view) drawTopicID(rnd *rand.Rand) (id kafka.TopicID) {
	for [15]byte(id[:15]) == [15]byte{} || v.img.Names[id] != "" {
		for i := range id {
			id[i] = byte(rnd.Uint32())
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // a random UUID, RFC 9562
	}
	return id
}

func topicRecords(v view, t kmsg.CreateTopicsRequestTopic, id kafka.TopicID, assignment [][]kafka.BrokerID) []metadata.Record {
	out := []metadata.Record{metadata.TopicRecord{Name: t.Topic, ID: id}}
	for _, c := range t.Configs {
		out = append(out, metadata.ConfigRecord{Topic: t.Topic, Key: c.Name, Value: *c.Value})
	}
	for i, replicas := range assignment {
		var isr []kafka.BrokerID
		for _, b := range replicas {
			if active(v.img, b) {
				isr = append(isr, b)
			}
		}
		out = append(out, metadata.PartitionRecord{TopicID: id, Index: int32(i), Replicas: replicas, ISR: isr, Leader: isr[0],
			Cause: metadata.Cause{Kind: metadata.ByCreation, Broker: kafka.NoBroker}})
	}
	return out
}

func failedTopic(name string, code kafka.Code, why string) kmsg.CreateTopicsResponseTopic {
	return kmsg.CreateTopicsResponseTopic{Topic: name, ErrorCode: int16(code), ErrorMessage: text(why), NumPartitions: -1, ReplicationFactor: -1}
}

func createdTopic(t kmsg.CreateTopicsRequestTopic, id kafka.TopicID, assignment [][]kafka.BrokerID, dry bool) kmsg.CreateTopicsResponseTopic {
	out := kmsg.CreateTopicsResponseTopic{Topic: t.Topic, NumPartitions: int32(len(assignment)), ReplicationFactor: int16(len(assignment[0]))}
	if !dry {
		out.TopicID = id
	}
	for _, c := range t.Configs {
		out.Configs = append(out.Configs, kmsg.CreateTopicsResponseTopicConfig{Name: c.Name, Value: c.Value, Source: 1}) // a topic's own
	}
	return out
}

func brokers(ids []int32) []kafka.BrokerID {
	out := make([]kafka.BrokerID, len(ids))
	for i, id := range ids {
		out[i] = kafka.BrokerID(id)
	}
	return out
}
