package workloads

import (
	"errors"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/history"
)

// definite lists the error codes of a Produce answer that are given only before anything was appended. Every other code is
// indefinite: REQUEST_TIMED_OUT (7) and NOT_ENOUGH_REPLICAS_AFTER_APPEND (20) say that the record is in the leader's log, and
// NOT_LEADER_OR_FOLLOWER (6) is also what a leader answers that lost its leadership while the record was waiting for its
// replicas (KAFKA-13574); an unknown code says nothing.
var definite = []*kerr.Error{
	kerr.CorruptMessage,
	kerr.UnknownTopicOrPartition,
	kerr.MessageTooLarge,
	kerr.InvalidTopicException,
	kerr.RecordListTooLarge,
	kerr.NotEnoughReplicas,
	kerr.InvalidRequiredAcks,
	kerr.TopicAuthorizationFailed,
	kerr.InvalidTimestamp,
	kerr.UnsupportedVersion,
	kerr.UnsupportedCompressionType,
	kerr.InvalidRecord,
}

// sendOutcome is what a producer may conclude from a Produce answer's error code.
func sendOutcome(code int16) history.Outcome {
	if code == 0 {
		return history.OK
	}
	for _, e := range definite {
		if e.Code == code {
			return history.Fail
		}
	}
	return history.Info
}

// lostOutcome is what a producer may conclude when no answer came: a request that never left has definitely no effect.
func lostOutcome(err error) history.Outcome {
	var ce *callError
	if errors.As(err, &ce) && !ce.sent {
		return history.Fail
	}
	return history.Info
}

// codeName is Kafka's name of an error code, or the number of one that is not known.
func codeName(code int16) string {
	if code == kerr.NotLeaderForPartition.Code {
		return "NOT_LEADER_OR_FOLLOWER" // its name since Kafka 2.6
	}
	if e := kerr.TypedErrorForCode(code); e != nil && e.Code == code {
		return e.Message
	}
	return "error code " + strconv.Itoa(int(code))
}

// AcksNone is the error text of a send under acks=0: it left, and nobody will ever say what came of it.
const AcksNone = "acks=0"
