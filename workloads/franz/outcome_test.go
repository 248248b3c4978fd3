package franz

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/history"
	"tidemark/workloads"
)

// TestOnlyWhatIsCertainFailed goes through every error that a record may end with: all but the few that no sending can have survived leave
// the outcome unknown.
func TestOnlyWhatIsCertainFailed(t *testing.T) {
	certain := map[string]bool{"MESSAGE_TOO_LARGE": true, "RECORD_LIST_TOO_LARGE": true, "INVALID_TOPIC_EXCEPTION": true,
		"INVALID_REQUIRED_ACKS": true, "UNSUPPORTED_COMPRESSION_TYPE": true}
	known := 0
	for code := int16(1); code < 200; code++ {
		e := kerr.TypedErrorForCode(code)
		if e == nil || e.Code != code {
			continue
		}
		known++
		want := history.Info
		if certain[e.Message] {
			want = history.Fail
		}
		op := history.Op{Kind: history.Send, Acks: -1}
		if conclude(&op, &kgo.Record{Offset: 7}, e); op.Outcome != want || op.Error != e.Message || op.Offset != history.UnknownOffset {
			t.Errorf("%s: outcome %d, expected %d; %q, offset %d", e.Message, op.Outcome, want, op.Error, op.Offset)
		}
		if got := outcome(fmt.Errorf("%w (uncompressed_bytes=9)", e)); got != want {
			t.Errorf("%s, wrapped: outcome %d, expected %d", e.Message, got, want)
		}
	}
	if known < 100 {
		t.Errorf("%d errors of Kafka's are known, expected 100 or more", known)
	}
	for _, tt := range []struct {
		err  error
		want history.Outcome
	}{
		{kgo.ErrMaxBuffered, history.Fail},
		{kgo.ErrRecordTimeout, history.Info},
		{kgo.ErrRecordRetries, history.Info},
		{kgo.ErrClientClosed, history.Info},
		{kgo.ErrAborting, history.Info},
		{context.DeadlineExceeded, history.Info},
		{context.Canceled, history.Info},
		{errors.New("read: connection reset by peer"), history.Info},
	} {
		op := history.Op{Kind: history.Send, Acks: 1}
		if conclude(&op, &kgo.Record{}, tt.err); op.Outcome != tt.want || op.Error != tt.err.Error() || op.Offset != history.UnknownOffset {
			t.Errorf("%v: outcome %d, expected %d; %q, offset %d", tt.err, op.Outcome, tt.want, op.Error, op.Offset)
		}
	}
}

// TestAcknowledgements tells apart what an acknowledgement names and what acks=0 cannot know.
func TestAcknowledgements(t *testing.T) {
	for _, tt := range []struct {
		acks, outcome int16
		told          int64
		offset        history.Offset
		text          string
	}{
		{-1, int16(history.OK), 41, 41, ""},
		{1, int16(history.OK), 0, 0, ""},
		{1, int16(history.OK), -1, history.UnknownOffset, ""},
		{0, int16(history.Info), 0, history.UnknownOffset, workloads.AcksNone},
	} {
		op := history.Op{Kind: history.Send, Acks: tt.acks}
		conclude(&op, &kgo.Record{Offset: tt.told}, nil)
		if op.Outcome != history.Outcome(tt.outcome) || op.Offset != tt.offset || op.Error != tt.text {
			t.Errorf("acks=%d at offset %d: %+v", tt.acks, tt.told, op)
		}
	}
}
