package workloads

import (
	"errors"
	"fmt"
	"testing"

	"tidemark/history"
	"tidemark/world"
)

// TestOutcomes is the table of what a producer may conclude.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		code int16
		name string
		want history.Outcome
	}{
		{19, "NOT_ENOUGH_REPLICAS", history.Fail},
		{2, "CORRUPT_MESSAGE", history.Fail},
		{3, "UNKNOWN_TOPIC_OR_PARTITION", history.Fail},
		{10, "MESSAGE_TOO_LARGE", history.Fail},
		{21, "INVALID_REQUIRED_ACKS", history.Fail},
		{35, "UNSUPPORTED_VERSION", history.Fail},
		{87, "INVALID_RECORD", history.Fail},
		{6, "NOT_LEADER_OR_FOLLOWER", history.Info},
		{7, "REQUEST_TIMED_OUT", history.Info},
		{20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", history.Info},
		{-1, "UNKNOWN_SERVER_ERROR", history.Info},
		{56, "KAFKA_STORAGE_ERROR", history.Info},
		{999, "error code 999", history.Info},
	} {
		if got := sendOutcome(c.code); got != c.want {
			t.Errorf("code %d (%s) is outcome %d, expected %d", c.code, c.name, got, c.want)
		}
		if got := codeName(c.code); got != c.name {
			t.Errorf("code %d is named %s, expected %s", c.code, got, c.name)
		}
	}
	if got := sendOutcome(0); got != history.OK {
		t.Errorf("no error is outcome %d, expected OK", got)
	}
	for _, c := range []struct {
		err  error
		want history.Outcome
	}{
		{&callError{world.ErrRefused, false}, history.Fail},
		{&callError{world.ErrTimeout, false}, history.Fail}, // while dialling
		{fmt.Errorf("wrapped: %w", &callError{world.ErrTimeout, false}), history.Fail},
		{&callError{world.ErrTimeout, true}, history.Info},
		{&callError{world.ErrClosed, true}, history.Info},
		{errors.New("anything else"), history.Info},
	} {
		if got := lostOutcome(c.err); got != c.want {
			t.Errorf("%v is outcome %d, expected %d", c.err, got, c.want)
		}
	}
}
