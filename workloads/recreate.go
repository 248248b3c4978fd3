package workloads

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
)

// Recreate deletes a topic and creates it again with as many partitions and replicas, as an administrator does: DeleteTopics by the topic's id,
// CreateTopics by its name, each sent again until it is answered. It returns the new incarnation's name in the history, or after timeout what
// went wrong last; the topic may then be gone, and another call creates it. factor is for a topic that is not there.
func Recreate(env world.Env, c world.Cluster, client, topic string, factor int, timeout time.Duration) (string, error) {
	r := &recreating{client: newClient(env, c, client, timeout), topic: topic, factor: factor, parts: 1}
	defer r.client.close()
	var name string
	err := r.client.insist("recreate "+client, timeout, nil, func(via history.BrokerID) (err error) {
		name, err = r.step(via)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("recreating %s: %w", topic, err)
	}
	return name, nil
}

// recreating is a topic that is deleted and created again.
type recreating struct {
	client *client
	topic  string
	factor int
	parts  int
}

// step deletes the incarnation that a broker tells of, if it tells of one, and creates the next. A broker that is behind tells of one that is long
// gone, or of none while there is one: only the answer to CreateTopics says which is the new one. One whose answer was lost goes too.
func (r *recreating) step(via history.BrokerID) (string, error) {
	switch md, err := askMetadata(r.client, via, r.topic); {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
	case err != nil:
		return "", err
	default:
		t := &md.Topics[0]
		r.parts = max(1, len(t.Partitions))
		if err := r.remove(via, t.TopicID); err != nil {
			return "", err
		}
	}
	return r.create(via)
}

func (r *recreating) remove(via history.BrokerID, id [16]byte) error {
	req, resp := kmsg.NewPtrDeleteTopicsRequest(), kmsg.NewPtrDeleteTopicsResponse()
	req.Version, req.TimeoutMillis = deleteVersion, millis(r.client.timeout)
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: id}}
	if err := r.client.call(via, req, resp); err != nil {
		return fmt.Errorf("DeleteTopics at broker %d: %w", via, err)
	}
	if len(resp.Topics) != 1 {
		return fmt.Errorf("DeleteTopics at broker %d: %w: %d topics", via, errMalformed, len(resp.Topics))
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicID) { // gone already
		return fmt.Errorf("DeleteTopics at broker %d: %w", via, err)
	}
	return nil
}

func (r *recreating) create(via history.BrokerID) (string, error) {
	req, resp := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrCreateTopicsResponse()
	req.Version, req.TimeoutMillis = createVersion, millis(r.client.timeout)
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = r.topic, int32(r.parts), int16(r.factor)
	req.Topics = append(req.Topics, topic)
	if err := r.client.call(via, req, resp); err != nil {
		return "", fmt.Errorf("CreateTopics at broker %d: %w", via, err)
	}
	if len(resp.Topics) != 1 {
		return "", fmt.Errorf("CreateTopics at broker %d: %w: %d topics", via, errMalformed, len(resp.Topics))
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return "", fmt.Errorf("CreateTopics at broker %d: %w", via, err)
	}
	return history.Incarnation(r.topic, resp.Topics[0].TopicID), nil
}
