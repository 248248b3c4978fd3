package workloads

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// backoff is the pause between two attempts of anything that is tried again (Kafka's retry.backoff.ms).
const backoff = 100 * time.Millisecond

// route is where a partition's leader is believed to be.
type route struct {
	leader history.BrokerID
	epoch  history.Epoch
	fresh  bool // false: to be asked for again before it is used
}

// router is a client's metadata cache for one topic. Its requests are not operations.
type router struct {
	client *client
	topic  string
	routes []route // by partition
	rnd    *rand.Rand
}

func newRouter(c *client, topic string, parts int, rnd *rand.Rand) *router {
	r := &router{client: c, topic: topic, routes: make([]route, parts), rnd: rnd}
	for i := range r.routes {
		r.routes[i] = route{leader: history.NoBroker, epoch: -1}
	}
	return r
}

// find returns the route to a partition's leader, asking any broker for it while there is none, at most until the time comes.
func (r *router) find(part int32, until time.Duration) (route, bool) {
	env := r.client.env
	for {
		if rt := r.routes[part]; rt.fresh {
			return rt, true
		}
		left := until - env.Now()
		if left <= 0 {
			return route{}, false
		}
		if md, err := r.ask(); err == nil {
			r.learn(md)
			if rt := r.routes[part]; rt.fresh {
				return rt, true
			}
		}
		env.Sleep(min(backoff, left))
	}
}

// forget makes the next find ask again: the leader moved, or did not answer.
func (r *router) forget(part int32) { r.routes[part].fresh = false }

// ask asks one broker, drawn anew each time, for the topic's metadata.
func (r *router) ask() (*kmsg.MetadataResponse, error) {
	brokers := r.client.cluster.Brokers()
	return askMetadata(r.client, brokers[r.rnd.IntN(len(brokers))], r.topic)
}

// learn takes over what a broker said. As Kafka's clients do, it ignores a leader of an older epoch than the known one (KIP-320):
// a broker that is behind would send the client back and forth.
func (r *router) learn(md *kmsg.MetadataResponse) {
	for i := range md.Topics[0].Partitions {
		p := &md.Topics[0].Partitions[i]
		if p.Partition < 0 || int(p.Partition) >= len(r.routes) || p.Leader < 0 {
			continue
		}
		if rt := &r.routes[p.Partition]; history.Epoch(p.LeaderEpoch) >= rt.epoch {
			*rt = route{history.BrokerID(p.Leader), history.Epoch(p.LeaderEpoch), true}
		}
	}
}

// askMetadata asks a broker for one topic. The answer has exactly that topic.
func askMetadata(c *client, from history.BrokerID, topic string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = metadataVersion
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &topic
	req.Topics = []kmsg.MetadataRequestTopic{asked}
	resp := kmsg.NewPtrMetadataResponse()
	if err := c.call(from, req, resp); err != nil {
		return nil, fmt.Errorf("asking broker %d for metadata: %w", from, err)
	}
	if len(resp.Topics) != 1 || resp.Topics[0].Topic == nil || *resp.Topics[0].Topic != topic {
		return nil, fmt.Errorf("asking broker %d for metadata: %w: other topics than %s", from, errMalformed, topic)
	}
	if code := resp.Topics[0].ErrorCode; code != 0 {
		return nil, fmt.Errorf("asking broker %d for metadata of %s: %w", from, topic, kerr.ErrorForCode(code))
	}
	return resp, nil
}
