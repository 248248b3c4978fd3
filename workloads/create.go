package workloads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// hopeless lists the errors of CreateTopics that no waiting mends.
var hopeless = []*kerr.Error{kerr.InvalidTopicException, kerr.InvalidConfig, kerr.InvalidPartitions, kerr.PolicyViolation,
	kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.InvalidRequest, kerr.UnsupportedVersion}

// Create creates the topic and waits until every partition has a leader and a full ISR, at most for within.
func (a *Append) Create(within time.Duration) error {
	deadline := a.Env.Now() + within
	c := newClient(a.Env, a.Cluster, "creator", a.Timeout)
	defer c.close()
	brokers := a.Env.Rand("creator", 0).Perm(len(a.Cluster.Brokers()))
	if err := a.awaitBrokers(c, brokers, deadline); err != nil {
		return err
	}
	if err := a.createTopic(c, brokers, deadline); err != nil {
		return err
	}
	for try := 0; ; try++ {
		missing := a.incomplete(c, a.Cluster.Brokers()[brokers[try%len(brokers)]])
		if missing == nil {
			return nil
		}
		if a.Env.Now()+backoff >= deadline {
			return fmt.Errorf("topic %s is not ready after %s: %w", a.Topic, within, missing)
		}
		a.Env.Sleep(backoff)
	}
}

// awaitBrokers waits until one broker knows every other as registered and alive: replicas and leaders are spread over those alone.
func (a *Append) awaitBrokers(c *client, order []int, deadline time.Duration) error {
	all := a.Cluster.Brokers()
	for try := 0; ; try++ {
		b := all[order[try%len(order)]]
		req, resp := kmsg.NewPtrMetadataRequest(), kmsg.NewPtrMetadataResponse()
		req.Version, req.Topics = metadataVersion, []kmsg.MetadataRequestTopic{} // no topic, as against nil: every one
		err := c.call(b, req, resp)
		switch {
		case err == nil && len(resp.Brokers) == len(all):
			return nil
		case err == nil:
			err = fmt.Errorf("broker %d knows %d brokers, expected %d", b, len(resp.Brokers), len(all))
		}
		if a.Env.Now()+backoff >= deadline {
			return fmt.Errorf("not every broker has come up in time: %w", err)
		}
		a.Env.Sleep(backoff)
	}
}

// createTopic asks one broker after the other until one of them created the topic. A topic that was there before the first request
// left is an error: somebody else's cluster answers.
func (a *Append) createTopic(c *client, order []int, deadline time.Duration) error {
	mayExist := false // an earlier request of ours had an unknown outcome
	for try := 0; ; try++ {
		b := a.Cluster.Brokers()[order[try%len(order)]]
		err := a.createAt(c, b)
		switch {
		case err == nil, mayExist && errors.Is(err, kerr.TopicAlreadyExists):
			return nil
		case errors.Is(err, kerr.TopicAlreadyExists), slices.ContainsFunc(hopeless, func(e *kerr.Error) bool { return errors.Is(err, e) }):
			return err
		case a.Env.Now()+backoff >= deadline:
			return fmt.Errorf("no broker created it in time; the last answer: %w", err)
		}
		var unanswered *callError
		mayExist = mayExist || errors.As(err, &unanswered) && unanswered.sent || errors.Is(err, kerr.RequestTimedOut)
		a.Env.Sleep(backoff)
	}
}

// createAt sends one CreateTopics request.
func (a *Append) createAt(c *client, b history.BrokerID) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = createVersion
	req.TimeoutMillis = millis(a.Timeout)
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = a.Topic, int32(a.Parts), int16(a.Factor)
	if a.Placed {
		topic.NumPartitions, topic.ReplicationFactor = -1, -1 // as the assignment has it
		for i, replicas := range Placement(a.Cluster.Brokers(), a.Parts, a.Factor) {
			at := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			at.Partition = int32(i)
			for _, r := range replicas {
				at.Replicas = append(at.Replicas, int32(r))
			}
			topic.ReplicaAssignment = append(topic.ReplicaAssignment, at)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.Configs)) {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, kmsg.StringPtr(a.Configs[key])
		topic.Configs = append(topic.Configs, config)
	}
	req.Topics = append(req.Topics, topic)
	resp := kmsg.NewPtrCreateTopicsResponse()
	if err := c.call(b, req, resp); err != nil {
		return fmt.Errorf("creating topic %s at broker %d: %w", a.Topic, b, err)
	}
	if len(resp.Topics) != 1 || resp.Topics[0].Topic != a.Topic {
		return fmt.Errorf("creating topic %s at broker %d: %w: %d topics", a.Topic, b, errMalformed, len(resp.Topics))
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		detail := ""
		if m := resp.Topics[0].ErrorMessage; m != nil {
			detail = " (" + *m + ")"
		}
		return fmt.Errorf("creating topic %s at broker %d: %w%s", a.Topic, b, err, detail)
	}
	return nil
}

// incomplete says what a broker still misses of the topic, nil if nothing.
func (a *Append) incomplete(c *client, b history.BrokerID) error {
	md, err := askMetadata(c, b, a.Topic)
	if err != nil {
		return err
	}
	parts := md.Topics[0].Partitions
	if len(parts) != a.Parts {
		return fmt.Errorf("broker %d knows %d partitions, expected %d", b, len(parts), a.Parts)
	}
	for _, p := range parts {
		if p.Leader < 0 || len(p.ISR) != a.Factor {
			return fmt.Errorf("broker %d has partition %d with leader %d and ISR %v, expected a leader and %d in-sync replicas",
				b, p.Partition, p.Leader, p.ISR, a.Factor)
		}
	}
	return nil
}
