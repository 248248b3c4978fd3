package broker

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/controller"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// clusterID is the cluster's name, the same for every cluster: a run has one.
const clusterID = "tidemark"

// metadata answers key 3 from the committed metadata that this node has applied: it may be behind the controller's, as in Kafka. What
// a client is told of brokers holds at the listener on which it asks. As in Kafka (KRaftMetadataCache.scala) a broker that has no
// endpoint there is left out, its replicas are offline, and what it leads has no leader but an error: LISTENER_NOT_FOUND, before
// version 6 LEADER_NOT_AVAILABLE.
func (n *Node) metadata(listener string, req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	img := n.ctl.Image()
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = req.Version
	resp.ClusterID = kmsg.StringPtr(clusterID)
	resp.ControllerID = int32(n.ctl.Active())
	for _, id := range img.BrokerIDs() {
		b := img.Brokers[id]
		if at, ok := b.Endpoint(listener); ok && !b.Fenced {
			broker := kmsg.NewMetadataResponseBroker()
			broker.NodeID, broker.Host, broker.Port, broker.Rack = int32(id), at.Host, at.Port, rack(&b)
			resp.Brokers = append(resp.Brokers, broker)
		}
	}
	if req.Topics == nil || (req.Version == 0 && len(req.Topics) == 0) {
		for _, name := range img.TopicNames() {
			resp.Topics = append(resp.Topics, describeTopic(img, img.Topics[name], listener, req.Version))
		}
		return resp
	}
	for _, asked := range req.Topics {
		resp.Topics = append(resp.Topics, findTopic(img, asked, listener, req.Version))
	}
	return resp
}

// rack is a broker's rack as it is told, nil if it has none.
func rack(b *metadata.Broker) *string {
	if b.Rack == "" {
		return nil
	}
	return &b.Rack
}

// findTopic describes the topic that a client asked for by name, or by id (KIP-516).
func findTopic(img *metadata.Image, asked kmsg.MetadataRequestTopic, listener string, version int16) kmsg.MetadataResponseTopic {
	var name string
	missing := kafka.UnknownTopicOrPartition
	if asked.Topic == nil {
		name, missing = img.Names[kafka.TopicID(asked.TopicID)], kafka.UnknownTopicID
	} else if name = *asked.Topic; !controller.ValidTopicName(name) {
		missing = kafka.InvalidTopic
	}
	if t := img.Topics[name]; t != nil {
		return describeTopic(img, t, listener, version)
	}
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.ErrorCode = asked.Topic, asked.TopicID, int16(missing)
	return out
}

func describeTopic(img *metadata.Image, t *metadata.Topic, listener string, version int16) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID = kmsg.StringPtr(t.Name), t.ID
	for i := range t.Partitions {
		p := &t.Partitions[i]
		part := kmsg.NewMetadataResponseTopicPartition()
		part.Partition, part.Leader, part.LeaderEpoch = int32(i), int32(p.Leader), int32(p.LeaderEpoch)
		if p.Leader == kafka.NoBroker {
			part.ErrorCode = int16(kafka.LeaderNotAvailable)
		} else if !reachable(img, p.Leader, listener) {
			part.Leader, part.ErrorCode = int32(kafka.NoBroker), int16(kafka.ListenerNotFound)
			if version < 6 {
				part.ErrorCode = int16(kafka.LeaderNotAvailable)
			}
		}
		part.Replicas, part.ISR = int32s(p.Replicas), int32s(p.ISR)
		for _, r := range p.Replicas {
			if b := img.Brokers[r]; b.Fenced || !reachable(img, r, listener) {
				part.OfflineReplicas = append(part.OfflineReplicas, int32(r))
			}
		}
		out.Partitions = append(out.Partitions, part)
	}
	return out
}

// reachable reports whether a broker is registered with an endpoint at a listener.
func reachable(img *metadata.Image, id kafka.BrokerID, listener string) bool {
	b := img.Brokers[id]
	_, ok := b.Endpoint(listener)
	return ok
}

func int32s(ids []kafka.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

// describeCluster answers key 60 with the brokers that have an endpoint at the listener on which it was asked.
func (n *Node) describeCluster(listener string, req *kmsg.DescribeClusterRequest) *kmsg.DescribeClusterResponse {
	img := n.ctl.Image()
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.Version = req.Version
	resp.ClusterID, resp.ControllerID = clusterID, int32(n.ctl.Active())
	resp.EndpointType = 1
	for _, id := range img.BrokerIDs() {
		b := img.Brokers[id]
		if at, ok := b.Endpoint(listener); ok && !b.Fenced {
			broker := kmsg.NewDescribeClusterResponseBroker()
			broker.NodeID, broker.Host, broker.Port, broker.Rack = int32(id), at.Host, at.Port, rack(&b)
			resp.Brokers = append(resp.Brokers, broker)
		}
	}
	return resp
}

// Where a configuration value comes from, as DescribeConfigs tells it (Kafka's DescribeConfigsResponse.ConfigSource).
const (
	sourceTopic  kmsg.ConfigSource = 1
	sourceBroker kmsg.ConfigSource = 4
	sourceStock  kmsg.ConfigSource = 5
)

// describeConfigs answers key 32 for this broker and for topics.
func (n *Node) describeConfigs(req *kmsg.DescribeConfigsRequest) *kmsg.DescribeConfigsResponse {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	resp.Version = req.Version
	stock := config.Default()
	plain := stock.Pairs()
	for _, asked := range req.Resources {
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = asked.ResourceType, asked.ResourceName
		cfg, own, code, problem := n.resource(asked)
		if code != kafka.None {
			out.ErrorCode, out.ErrorMessage = int16(code), kmsg.StringPtr(problem)
			resp.Resources = append(resp.Resources, out)
			continue
		}
		for i, pair := range cfg.Pairs() {
			if asked.ConfigNames != nil && !slices.Contains(asked.ConfigNames, pair.Key) {
				continue
			}
			if own != nil && !config.PerTopic(pair.Key) {
				continue
			}
			source := sourceBroker
			if _, set := own[pair.Key]; set {
				source = sourceTopic
			} else if pair == plain[i] {
				source = sourceStock
			}
			c := kmsg.NewDescribeConfigsResponseResourceConfig()
			c.Name, c.Value, c.ReadOnly = pair.Key, kmsg.StringPtr(pair.Value), true
			c.Source, c.IsDefault = source, source == sourceStock
			out.Configs = append(out.Configs, c)
		}
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// resource finds what DescribeConfigs asks for: the configuration that holds, and a topic's own keys (nil for a broker).
func (n *Node) resource(asked kmsg.DescribeConfigsRequestResource) (config.Config, map[string]string, kafka.Code, string) {
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeBroker:
		if own := strconv.Itoa(int(n.cfg.NodeID)); asked.ResourceName != own && asked.ResourceName != "" {
			return n.cfg, nil, kafka.InvalidRequest, fmt.Sprintf("broker %q was asked of broker %s", asked.ResourceName, own)
		}
		return n.cfg, nil, kafka.None, ""
	case kmsg.ConfigResourceTypeTopic:
		t := n.ctl.Image().Topics[asked.ResourceName]
		if t == nil {
			return n.cfg, nil, kafka.UnknownTopicOrPartition, "no such topic"
		}
		own := t.Configs
		if own == nil {
			own = map[string]string{}
		}
		return n.cfg.ForTopic(own), own, kafka.None, ""
	default:
		return n.cfg, nil, kafka.InvalidRequest, fmt.Sprintf("resource type %d, expected a topic (2) or a broker (4)", asked.ResourceType)
	}
}
