package history

import "time"

// OpKind is what a client asked for.
type OpKind uint8

// The kinds of operation. A send appends one record; a poll reads from a position that the client keeps; a seek is a
// client's own decision to move its position (after OFFSET_OUT_OF_RANGE where the contract allows loss).
const (
	Send OpKind = iota
	Poll
	Seek
)

// Outcome is what the client knows of an operation's effect, as Jepsen's :ok, :fail and :info.
type Outcome uint8

// The outcomes. Pending: no completion was recorded. OK: it took effect. Fail: it definitely did not. Info: it may have
// (timeout, disconnect, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND, NOT_LEADER_OR_FOLLOWER).
const (
	Pending Outcome = iota
	OK
	Fail
	Info
)

// Op is one operation with its invocation and its completion. Times are since the run's start, on one monotonic clock.
type Op struct {
	ID          int64         `json:"id"`      // dense from 0, in order of invocation
	Process     int32         `json:"process"` // one operation under way at a time
	Kind        OpKind        `json:"kind"`
	Outcome     Outcome       `json:"outcome"`
	Acks        int16         `json:"acks,omitempty"`  // of a send: 0, 1 or -1 (all)
	Final       bool          `json:"final,omitempty"` // a read after settling, from offset 0 to the log's end
	Marker      bool          `json:"marker,omitempty"`
	Broker      BrokerID      `json:"broker"` // who was asked
	Epoch       Epoch         `json:"epoch"`  // leader epoch that the client believed in, -1 if none
	Partition   Partition     `json:"partition"`
	Invoke      time.Duration `json:"invoke"`
	Return      time.Duration `json:"return"`
	InvokeIndex int64         `json:"invokeIndex"`
	ReturnIndex int64         `json:"returnIndex"` // -1 while pending
	Value       string        `json:"value,omitempty"`
	Offset      Offset        `json:"offset"`   // of an acknowledged send: where; UnknownOffset where the ack carried none
	Position    Offset        `json:"position"` // of a poll or seek: the offset asked for
	HW          Offset        `json:"hw"`       // of a poll: the high watermark that the answer carried, -1 if none
	LogStart    Offset        `json:"logStart"` // of a poll: the log start offset that the answer carried, -1 if none
	Records     []Record      `json:"records,omitempty"`
	Error       string        `json:"error,omitempty"` // Kafka's error name, or what happened to the connection
}

// Record is one record as a consumer saw it.
type Record struct {
	Offset Offset `json:"offset"`
	Value  string `json:"value"`
}
