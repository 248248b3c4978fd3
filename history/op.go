package history

import "time"

// OpKind is what a client asked for.
type OpKind uint8

// The kinds of operation. A send appends one record; a poll reads from a position that the client keeps; a seek is a
// client's own decision to move its position (after OFFSET_OUT_OF_RANGE, to what ListOffsets told). ListOffsets asks the leader where
// the log begins or ends for consumers; DeleteRecords asks it to remove all records below an offset (KIP-107).
const (
	Send OpKind = iota
	Poll
	Seek
	ListOffsets
	DeleteRecords

	kinds // how many there are
)

// What a ListOffsets asks for in its Position, as Kafka's timestamps of these names: the offset at which the log ends for consumers, and
// the log start offset. A DeleteRecords asks by Latest for all that is below the high watermark.
const (
	Latest   Offset = -1
	Earliest Offset = -2
)

// Outcome is what the client knows of an operation's effect, as Jepsen's :ok, :fail and :info.
type Outcome uint8

// The outcomes, and the words that people read: Pending, no completion was recorded. OK: it took effect. Fail ("failed"): it definitely
// did not. Info ("unknown"): it may have (timeout, disconnect, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND,
// NOT_LEADER_OR_FOLLOWER).
const (
	Pending Outcome = iota
	OK
	Fail
	Info
)

// CorruptBatch is in the Error of a Poll whose answer held a batch that does not fit its CRC.
const CorruptBatch = "corrupt batch"

// Op is one operation with its invocation and its completion. Invoke and Return are nanoseconds since the run's start, on one
// monotonic clock.
//
// A process is a client as the history counts it, and does one thing at a time. After a send of unknown outcome, which may still take
// effect at any later time, the client goes on under a new process number, as in Jepsen: the next one that is as far from the last as
// there are clients. So five producers show not as p0 to p4 but, say, as p0, p25 and p157, and a value p25-3 names its process and
// how many sends its producer made before.
type Op struct {
	ID          int64         `json:"id"`      // dense from 0, in order of invocation
	Process     int32         `json:"process"` // who asked: one operation under way at a time
	Kind        OpKind        `json:"kind"`
	Outcome     Outcome       `json:"outcome"`
	Acks        int16         `json:"acks,omitempty"`  // of a send: 0, 1 or -1 (all)
	Final       bool          `json:"final,omitempty"` // a read after settling, from offset 0 to the log's end
	Marker      bool          `json:"marker,omitempty"`
	Broker      BrokerID      `json:"broker"` // who was asked
	Epoch       Epoch         `json:"epoch"`  // leader epoch that the client believed in, -1 if none
	Partition   Partition     `json:"partition"`
	Invoke      time.Duration `json:"invoke"` // nanoseconds since the run's start
	Return      time.Duration `json:"return"` // likewise; 0 while pending
	InvokeIndex int64         `json:"invokeIndex"`
	ReturnIndex int64         `json:"returnIndex"` // -1 while pending
	Value       string        `json:"value,omitempty"`
	Offset      Offset        `json:"offset"`   // of an acknowledged send: where, UnknownOffset where the ack carried none; of a ListOffsets: what was told
	Position    Offset        `json:"position"` // of a poll, seek or DeleteRecords: the offset asked for; of a ListOffsets: Latest or Earliest
	HW          Offset        `json:"hw"`       // of a poll: the high watermark that the answer carried, -1 if none
	LogStart    Offset        `json:"logStart"` // of a poll or DeleteRecords: the log start offset that the answer carried, -1 if none
	Records     []Record      `json:"records,omitempty"`
	Error       string        `json:"error,omitempty"` // Kafka's error name, or what happened to the connection
}

// Record is one record as a consumer saw it.
type Record struct {
	Offset Offset `json:"offset"`
	Value  string `json:"value"`
}
