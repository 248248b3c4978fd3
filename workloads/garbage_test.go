package workloads

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/internal/garbage"
)

// answerBound: kmsg makes room for as many elements as an array claims, if there are so many bytes left.
var answerBound = garbage.Bound{Bytes: 64 << 10, Times: 128, Says: []string{"expected", "enough data", "header"}}

// answers are valid answers of every kind that a client reads.
func answers() map[string]kmsg.Response {
	produce, fetch, meta := kmsg.NewPtrProduceResponse(), kmsg.NewPtrFetchResponse(), kmsg.NewPtrMetadataResponse()
	produce.Version, fetch.Version, meta.Version = produceVersion, fetchVersion, metadataVersion
	produce.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", Partitions: []kmsg.ProduceResponseTopicPartition{kmsg.NewProduceResponseTopicPartition()}}}
	part := kmsg.NewFetchResponseTopicPartition()
	part.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 1, FirstOffset: 2}}
	part.RecordBatches = seal(appendBatch(nil, "p0-0"), 7)
	fetch.Topics = []kmsg.FetchResponseTopic{{Topic: "orders", Partitions: []kmsg.FetchResponseTopicPartition{part}}}
	meta.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "b1", Port: 9092}}
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr("orders")
	topic.Partitions = []kmsg.MetadataResponseTopicPartition{{Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1}, OfflineReplicas: []int32{2}}}
	meta.Topics = []kmsg.MetadataResponseTopic{topic}
	offsets, create, reassign, elect := kmsg.NewPtrListOffsetsResponse(), kmsg.NewPtrCreateTopicsResponse(), kmsg.NewPtrAlterPartitionAssignmentsResponse(), kmsg.NewPtrElectLeadersResponse()
	offsets.Version, create.Version, reassign.Version, elect.Version = listOffsetsVersion, createVersion, reassignVersion, electVersion
	offsets.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: "orders", Partitions: []kmsg.ListOffsetsResponseTopicPartition{kmsg.NewListOffsetsResponseTopicPartition()}}}
	create.Topics = []kmsg.CreateTopicsResponseTopic{{Topic: "orders", Configs: []kmsg.CreateTopicsResponseTopicConfig{{Name: "a"}}}}
	reassign.Topics = []kmsg.AlterPartitionAssignmentsResponseTopic{{Topic: "orders", Partitions: []kmsg.AlterPartitionAssignmentsResponseTopicPartition{{}}}}
	elect.Topics = []kmsg.ElectLeadersResponseTopic{{Topic: "orders", Partitions: []kmsg.ElectLeadersResponseTopicPartition{{}}}}
	deleted := kmsg.NewPtrDeleteRecordsResponse()
	deleted.Version = deleteRecordsVersion
	deleted.Topics = []kmsg.DeleteRecordsResponseTopic{{Topic: "orders", Partitions: []kmsg.DeleteRecordsResponseTopicPartition{{}}}}
	return map[string]kmsg.Response{"deleted": deleted, "produce": produce, "fetch": fetch, "metadata": meta, "offsets": offsets, "create": create, "reassign": reassign, "elect": elect}
}

// TestGarbageAnswers spoils an answer of each kind, up to the largest that a client reads and beyond.
func TestGarbageAnswers(t *testing.T) {
	for name, resp := range answers() {
		valid := resp.AppendTo(append(binary.BigEndian.AppendUint32(nil, 7), 0))
		inputs := append(garbage.Of(valid, 1), garbage.Claims(valid, responseBytesMax, 1)...)
		for _, size := range []int{responseBytesMax, responseBytesMax + 1} {
			inputs = append(inputs, garbage.Input{Name: "as large as may be", Kind: garbage.Long, Data: append(valid[:len(valid):len(valid)], make([]byte, size-len(valid))...)})
		}
		accepted, refused := answerBound.Hold(t, inputs, func(in garbage.Input) error {
			got := kmsg.ResponseForKey(resp.Key())
			got.SetVersion(resp.GetVersion())
			err := readResponse(in.Data, 7, got)
			if err == nil && (in.Kind == garbage.Cut || len(in.Data) > responseBytesMax) {
				t.Errorf("%s: %s: read as %+v", name, in.Name, got)
			}
			return err
		})
		if accepted == 0 || refused < 100 {
			t.Errorf("%s: %d accepted, %d refused, expected some and at least 100", name, accepted, refused)
		}
	}
}

// TestGarbageIsNoAcknowledgement: a producer that is answered with garbage is never told more than what can be read in it, and a
// consumer neither moves back nor reads what no batch holds.
func TestGarbageIsNoAcknowledgement(t *testing.T) {
	bound := garbage.Bound{Bytes: 1 << 20, Times: 128}
	bound.Hold(t, garbage.Of(produced(0, 41), 2), func(in garbage.Input) error {
		cl := newClient(fakeEnv{time.Now()}, &cannedCluster{body: in.Data}, "producer-0", time.Second)
		op := history.Op{Partition: orders, Value: "p0-0", Broker: 1}
		newProducing("orders", time.Second).send(cl, -1, &op)
		if op.Outcome == history.Pending || (op.Error == "") != (op.Outcome == history.OK) || len(op.Error) > 1024 || in.Kind == garbage.Cut && op.Outcome != history.Info {
			t.Errorf("%s: outcome %d, %.200s", in.Name, op.Outcome, op.Error)
		}
		return nil
	})
	batches := append(seal(appendBatch(nil, "p0-0"), 7), seal(appendBatch(nil, "p0-1"), 8)...)
	bound.Hold(t, garbage.Of(fetched(0, 9, batches), 3), func(in garbage.Input) error {
		cl := newClient(fakeEnv{time.Now()}, &cannedCluster{body: in.Data}, "consumer-0", time.Second)
		op := history.Op{Kind: history.Poll, Partition: orders, Position: 7, Broker: 1}
		next, _ := newFetching("orders", time.Second, 1<<16).poll(cl, &op)
		if next < 7 || len(op.Error) > 1024 || op.Outcome == history.Pending || op.Outcome == history.OK && in.Kind == garbage.Cut {
			t.Errorf("%s: outcome %d, %.200s, next position %d", in.Name, op.Outcome, op.Error, next)
		}
		for _, r := range op.Records {
			if !strings.HasPrefix(r.Value, "p0-") {
				t.Errorf("%s: read %q at %d, which no producer wrote", in.Name, r.Value, r.Offset)
			}
		}
		return nil
	})
}

// TestGarbageBatches spoils the batches of a Fetch answer. A cut ends the records, anything else is an error or a whole batch.
func TestGarbageBatches(t *testing.T) {
	valid := seal(appendBatch(nil, "first"), 6)
	valid = append(valid, seal(appendBatch(nil, "second"), 7)...)
	bound := garbage.Bound{Bytes: 64 << 10, Times: 64, Says: []string{"expected", "malformed"}}
	accepted, refused := bound.Hold(t, garbage.Of(valid, 4), func(in garbage.Input) error {
		var reader batchReader
		records, next, err := reader.read(6, in.Data)
		if next < 6 || err != nil && (records != nil || next != 6) || in.Kind == garbage.Cut && (err != nil || len(records) > 1) {
			t.Errorf("%s: %d records, next %d, %v", in.Name, len(records), next, err)
		}
		return err
	})
	if accepted < 40 || refused < 50 {
		t.Errorf("%d accepted, %d refused, expected many of both", accepted, refused)
	}
}
