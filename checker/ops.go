package checker

import (
	"time"

	"tidemark/history"
)

// nth is a send's number among those of its partition, in order of invocation; -1 is none.
type nth int32

// write is what the passes over a partition ask of each of its sends. It is a copy, so that those of one partition lie one beside the other: in
// the history the operations of all partitions stand between, and each look at one would be a cache miss.
type write struct {
	value       string
	offset      history.Offset
	invokeIndex int64
	returnIndex int64
	invoke      time.Duration
	op          int32 // position in the history
	outcome     history.Outcome
	told        bool
}

func newWrite(op *history.Op, at int32) write {
	return write{value: op.Value, offset: op.Offset, invokeIndex: op.InvokeIndex, returnIndex: op.ReturnIndex, invoke: op.Invoke, op: at,
		outcome: op.Outcome, told: told(op)}
}

// told reports whether the log acknowledged a send.
func told(op *history.Op) bool { return op.Outcome == history.OK && op.Acks != 0 }

// readTo is the offset after the last that a read returned, its position if it returned none.
func readTo(position history.Offset, records []history.Record) history.Offset {
	to := position
	for i := range records {
		to = max(to, next(records[i].Offset))
	}
	return to
}
