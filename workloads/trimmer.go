package workloads

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// trimmer is a client that now and then asks for a partition's oldest records to be removed, as those who run a log do (DeleteRecords,
// KIP-107). It has the process numbers of the client that settles, which begins when all others are done.
type trimmer struct {
	a       *Append
	process int32
	client  *client
	router  *router
	rnd     *rand.Rand
}

// runTrimmer is its life.
func (a *Append) runTrimmer(process int32, until time.Duration) {
	t := &trimmer{a: a, process: process, rnd: a.Env.Rand("trimmer", 0)}
	t.client = newClient(a.Env, a.Cluster, "trimmer", a.Timeout)
	defer t.client.close()
	t.router = newRouter(t.client, a.Topic, a.Parts, a.Env.Rand("trimmer metadata", 0))
	due := newPace(a.Env, a.Env.Rand("trimmer pace", 0), a.Trim)
	for due.wait(until) {
		part := int32(t.rnd.IntN(a.Parts))
		if to, ok := t.router.find(part, min(until, a.Env.Now()+a.Timeout)); ok && !t.trim(a.partition(int(part)), to) {
			t.router.forget(part)
		}
	}
}

// trim asks where a partition begins and ends, and removes some of what lies between, one time in four all of it.
func (t *trimmer) trim(p history.Partition, to route) bool {
	start, err := t.a.list(t.client, t.process, p, to, history.Earliest)
	if err != nil {
		return false
	}
	end, err := t.a.list(t.client, t.process, p, to, history.Latest)
	if err != nil {
		return false
	}
	if end <= start {
		return true
	}
	upTo := end
	if t.rnd.IntN(4) > 0 {
		upTo = start + 1 + history.Offset(t.rnd.Int64N(int64(end-start)))
	}
	op := history.Op{Process: t.process, Kind: history.DeleteRecords, Broker: to.leader, Epoch: to.epoch, Partition: p, Position: upTo}
	id := t.a.Record.Invoke(op)
	deleteRecords(t.client, &op)
	t.a.Record.Complete(id, op)
	if op.Outcome == history.Info {
		t.process = t.a.process(t.a.settler()) // it may still be under way
	}
	return op.Outcome == history.OK
}

// list asks a partition's leader where the log begins or ends: one operation.
func (a *Append) list(c *client, process int32, p history.Partition, to route, place history.Offset) (history.Offset, error) {
	op := history.Op{Process: process, Kind: history.ListOffsets, Broker: to.leader, Epoch: to.epoch, Partition: p, Position: place}
	id := a.Record.Invoke(op)
	offset, err := listOffset(c, p, to, int64(place))
	op.Outcome, op.Offset, op.HW, op.LogStart = history.OK, offset, history.UnknownOffset, history.UnknownOffset
	if err != nil {
		op.Outcome, op.Offset, op.Error = history.Fail, history.UnknownOffset, listError(err)
	}
	a.Record.Complete(id, op)
	return offset, err
}

// listError is what came instead of an offset, without whom it came from, which the operation says.
func listError(err error) string {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err.Error()
}

// undeleted lists the error codes of a DeleteRecords answer that are given only before anything was removed. Every other code is
// indefinite: REQUEST_TIMED_OUT says that the leader's log begins later already, and NOT_LEADER_OR_FOLLOWER is also what a leader answers
// that lost its leadership while it waited for its replicas.
var undeleted = []*kerr.Error{
	kerr.OffsetOutOfRange,
	kerr.UnknownTopicOrPartition,
	kerr.TopicAuthorizationFailed,
	kerr.PolicyViolation,
	kerr.UnsupportedVersion,
}

// deleteRecords sends a DeleteRecords and completes op with what came of it.
func deleteRecords(c *client, op *history.Op) {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = deleteRecordsVersion, millis(c.timeout*3/4)
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Partition, part.Offset = op.Partition.Index, int64(op.Position)
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic, topic.Partitions = op.Partition.Topic, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	resp := kmsg.NewPtrDeleteRecordsResponse()
	op.Offset, op.HW, op.LogStart = history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
	if err := c.call(op.Broker, req, resp); err != nil {
		op.Outcome, op.Error = lostOutcome(err), err.Error()
		return
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != op.Partition.Index {
		op.Outcome, op.Error = history.Info, fmt.Sprintf("%v: DeleteRecords for other partitions than %s", errMalformed, op.Partition)
		return
	}
	answer := &resp.Topics[0].Partitions[0]
	if answer.ErrorCode == 0 {
		op.Outcome, op.LogStart = history.OK, max(history.Offset(answer.LowWatermark), history.UnknownOffset)
		return
	}
	op.Outcome, op.Error = history.Info, codeName(answer.ErrorCode)
	for _, e := range undeleted {
		if e.Code == answer.ErrorCode {
			op.Outcome = history.Fail
		}
	}
}
