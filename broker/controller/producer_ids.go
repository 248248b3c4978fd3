package controller

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// allocateProducerIDs answers AllocateProducerIds (key 67, KIP-730): a broker gets a block of ids to give to its clients, which nobody was
// given before and nobody will be (Kafka's ProducerIdControlManager). The answer leaves once the block is committed: a successor that did
// not know of it would give it away again (KAFKA-15552).
func allocateProducerIDs(v view, req *kmsg.AllocateProducerIDsRequest) decision {
	b, epoch := kafka.BrokerID(req.BrokerID), kafka.BrokerEpoch(req.BrokerEpoch)
	if !currentIncarnation(v.img, b, epoch) {
		return decision{answer: refuse(req, kafka.StaleBrokerEpoch)}
	}
	first, size := v.img.NextProducerID, v.cfg.ProducerIDBlockSize
	if first > math.MaxInt64-size {
		return decision{answer: refuse(req, kafka.UnknownServerError)}
	}
	resp := req.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	resp.ProducerIDStart, resp.ProducerIDLen = first, int32(size)
	return decision{answer: resp, records: []metadata.Record{metadata.ProducerIDsRecord{Broker: b, Epoch: epoch, Next: first + size}}}
}
