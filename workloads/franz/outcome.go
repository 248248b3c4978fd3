package franz

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/history"
	"tidemark/workloads"
)

// never lists the errors that a record ends with only if none of its sendings was appended: it was never handed to a connection, or what it
// is refused for holds of every sending alike.
//
// The list is short, as kgo tells the last attempt's error alone. NOT_ENOUGH_REPLICAS appended nothing, but what was tried before it may
// stand; a record that timed out (ErrRecordTimeout) or was left at the close (ErrClientClosed) may be under way; and an error fails every
// record that waits for the same partition.
var never = []error{
	kgo.ErrMaxBuffered,
	kerr.MessageTooLarge,
	kerr.RecordListTooLarge,
	kerr.InvalidTopicException,
	kerr.InvalidRequiredAcks,
	kerr.UnsupportedCompressionType,
}

// outcome is what a producer may conclude from how kgo ended a record.
func outcome(err error) history.Outcome {
	if err == nil {
		return history.OK
	}
	for _, e := range never {
		if errors.Is(err, e) {
			return history.Fail
		}
	}
	return history.Info
}

// conclude completes a send with what kgo said of its record.
func conclude(op *history.Op, r *kgo.Record, err error) {
	op.Outcome, op.Offset = outcome(err), history.UnknownOffset
	switch {
	case err != nil:
		op.Error = errorText(err)
	case op.Acks == 0: // kgo says that it left; what came of it nobody will ever say
		op.Outcome, op.Error = history.Info, workloads.AcksNone
	default:
		op.Offset = max(history.Offset(r.Offset), history.UnknownOffset)
	}
}

// errorText is Kafka's name of an error where it is one of Kafka's alone, else what kgo says.
func errorText(err error) string {
	if e, ok := err.(*kerr.Error); ok { //nolint:errorlint // one that is wrapped says more
		return e.Message
	}
	return err.Error()
}
