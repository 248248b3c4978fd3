package controller

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// view is what a decision is made on: the metadata as it will be once all that is proposed is committed.
type view struct {
	img   *metadata.Image
	cfg   *config.Config
	index int64 // of the entry that the decision's records will be
	now   time.Duration
}

// decision is what is to be done about a request. The records become one entry: all of them, or none.
type decision struct {
	records []metadata.Record
	answer  kmsg.Response
	then    func(index int64) // after the proposal: what the sessions are to remember
}

// circumstances are those of a topic's elections, with one broker taken out (NoBroker for none) and one put in.
func (v view) circumstances(t *metadata.Topic, out, in kafka.BrokerID) circumstances {
	return circumstances{
		eligibleLeaders: v.cfg.EligibleLeaderReplicas,
		unclean:         uncleanElection(t, v.cfg),
		minISR:          minISR(t, v.cfg),
		bug:             v.cfg.Bug,
		refused:         v.cfg.Refused,
		active: func(b kafka.BrokerID) bool {
			return b != out && b != kafka.NoBroker && (b == in || active(v.img, b))
		},
	}
}

// minISR is the topic's min.insync.replicas, else the cluster's.
func minISR(t *metadata.Topic, cfg *config.Config) int {
	if n, err := strconv.Atoi(t.Configs["min.insync.replicas"]); err == nil {
		return n
	}
	return cfg.MinInsyncReplicas
}

// uncleanElection is the topic's unclean.leader.election.enable, else the cluster's.
func uncleanElection(t *metadata.Topic, cfg *config.Config) bool {
	if on, err := strconv.ParseBool(t.Configs["unclean.leader.election.enable"]); err == nil {
		return on
	}
	return cfg.UncleanLeaderElection
}

// record completes a change of a partition.
func record(t *metadata.Topic, index int, r metadata.PartitionChange, cause metadata.Cause) metadata.Record {
	r.TopicID, r.Index, r.Cause = t.ID, int32(index), cause
	return r
}

// eachPartition visits all partitions in order.
func (v view) eachPartition(fn func(t *metadata.Topic, index int, p metadata.Partition)) {
	for _, name := range v.img.TopicNames() {
		t := v.img.Topics[name]
		for i, p := range t.Partitions {
			fn(t, i, p)
		}
	}
}

// refuse answers a request as a whole with an error.
func refuse(req kmsg.Request, code kafka.Code) kmsg.Response {
	resp := req.ResponseKind()
	switch r := resp.(type) {
	case *kmsg.BrokerRegistrationResponse:
		r.Default()
		r.ErrorCode = int16(code)
	case *kmsg.BrokerHeartbeatResponse:
		r.Default()
		r.ErrorCode = int16(code)
	case *kmsg.AllocateProducerIDsResponse:
		r.ErrorCode = int16(code)
	case *kmsg.AlterPartitionResponse:
		r.ErrorCode = int16(code)
	case *kmsg.AlterPartitionAssignmentsResponse:
		r.Default()
		r.ErrorCode = int16(code)
	case *kmsg.ListPartitionReassignmentsResponse:
		r.ErrorCode = int16(code)
	case *kmsg.AddRaftVoterResponse:
		r.ErrorCode = int16(code)
	case *kmsg.RemoveRaftVoterResponse:
		r.ErrorCode = int16(code)
	case *kmsg.CreateTopicsResponse:
		for _, t := range req.(*kmsg.CreateTopicsRequest).Topics {
			r.Topics = append(r.Topics, failedTopic(t.Topic, code, ""))
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range askedTopics(req.(*kmsg.DeleteTopicsRequest)) {
			r.Topics = append(r.Topics, kmsg.DeleteTopicsResponseTopic{Topic: t.Topic, TopicID: t.TopicID, ErrorCode: int16(code)})
		}
	case *kmsg.ElectLeadersResponse:
		r.ErrorCode = int16(code)
		for _, t := range req.(*kmsg.ElectLeadersRequest).Topics {
			out := kmsg.ElectLeadersResponseTopic{Topic: t.Topic}
			for _, i := range t.Partitions {
				out.Partitions = append(out.Partitions, kmsg.ElectLeadersResponseTopicPartition{Partition: i, ErrorCode: int16(code)})
			}
			r.Topics = append(r.Topics, out)
		}
	}
	return resp
}

// text is a message for people, absent if empty.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
