package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// deleteTopics answers DeleteTopics (key 20, versions 1 to 6; by id too from 6 on, KIP-516). Each topic succeeds or fails by itself. What
// brokers hold of a deleted topic they remove when they hear of it, or, if they are down, when they are back (Kafka's
// ReplicationControlManager.deleteTopic and LogManager's stray logs).
func deleteTopics(v view, req *kmsg.DeleteTopicsRequest) decision {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	d := decision{answer: resp}
	seen := map[kafka.TopicID]bool{}
	for _, asked := range askedTopics(req) {
		t, code := findTopic(v.img, asked)
		switch {
		case code != kafka.None:
		case !v.cfg.DeleteTopics:
			code = kafka.TopicDeletionDisabled
			if req.Version < 3 {
				code = kafka.InvalidRequest
			}
		case seen[t.ID]:
			code = kafka.InvalidRequest
		default:
			seen[t.ID] = true
			d.records = append(d.records, metadata.RemoveTopicRecord{ID: t.ID})
		}
		out := kmsg.DeleteTopicsResponseTopic{Topic: asked.Topic, TopicID: asked.TopicID, ErrorCode: int16(code)}
		if t != nil {
			out.Topic, out.TopicID = &t.Name, t.ID
		}
		resp.Topics = append(resp.Topics, out)
	}
	return d
}

// askedTopics are the topics of a request; before version 6 it has names alone.
func askedTopics(req *kmsg.DeleteTopicsRequest) []kmsg.DeleteTopicsRequestTopic {
	if req.Version >= 6 {
		return req.Topics
	}
	out := make([]kmsg.DeleteTopicsRequestTopic, len(req.TopicNames))
	for i := range req.TopicNames {
		out[i].Topic = &req.TopicNames[i]
	}
	return out
}

// findTopic finds a topic by its name, or by its id if it has none; not both.
func findTopic(img *metadata.Image, asked kmsg.DeleteTopicsRequestTopic) (*metadata.Topic, kafka.Code) {
	switch {
	case asked.Topic == nil:
		if t := img.Topics[img.Names[asked.TopicID]]; t != nil {
			return t, kafka.None
		}
		return nil, kafka.UnknownTopicID
	case asked.TopicID != kafka.TopicID{}:
		return nil, kafka.InvalidRequest
	default:
		if t := img.Topics[*asked.Topic]; t != nil {
			return t, kafka.None
		}
		return nil, kafka.UnknownTopicOrPartition
	}
}
