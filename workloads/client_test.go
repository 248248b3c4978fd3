package workloads

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
)

// cannedCluster is one broker that answers every frame with the same bytes behind the right correlation id.
type cannedCluster struct {
	world.Cluster
	body   []byte
	shift  int32 // added to the correlation id
	last   int32
	frames [][]byte // sent, if kept
	keep   bool
	dials  int
	closes int
	send   error
	dial   error
}

func (c *cannedCluster) Brokers() []history.BrokerID { return []history.BrokerID{1} }

func (c *cannedCluster) Dial(string, history.BrokerID, time.Duration) (world.Conn, error) {
	c.dials++
	return c, c.dial
}

func (c *cannedCluster) Send(frame []byte) error {
	c.last = int32(binary.BigEndian.Uint32(frame[4:]))
	if c.keep {
		c.frames = append(c.frames, frame)
	}
	return c.send
}

func (c *cannedCluster) Receive(time.Duration) ([]byte, error) {
	if c.body == nil {
		return nil, world.ErrTimeout
	}
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(c.body)), uint32(c.last+c.shift)), c.body...), nil
}

func (c *cannedCluster) Close() { c.closes++ }

var orders = history.Partition{Topic: "orders"}

// produced is the answer to a Produce request for orders/0, behind the correlation id.
func produced(code int16, offset int64) []byte {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = produceVersion
	part := kmsg.NewProduceResponseTopicPartition()
	part.ErrorCode, part.BaseOffset = code, offset
	resp.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", Partitions: []kmsg.ProduceResponseTopicPartition{part}}}
	return resp.AppendTo([]byte{0})
}

// fetched is the answer to a Fetch request for orders/0.
func fetched(code int16, hw int64, batches []byte) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = fetchVersion
	part := kmsg.NewFetchResponseTopicPartition()
	part.ErrorCode, part.HighWatermark, part.LogStartOffset, part.RecordBatches = code, hw, 0, batches
	resp.Topics = []kmsg.FetchResponseTopic{{Topic: "orders", Partitions: []kmsg.FetchResponseTopicPartition{part}}}
	return resp.AppendTo([]byte{0})
}

// TestOneRequestPerOperation: exactly one frame leaves, whatever comes back, and an answer that cannot be trusted closes the connection.
func TestOneRequestPerOperation(t *testing.T) {
	other := kmsg.NewPtrProduceResponse()
	other.Version = produceVersion
	for _, c := range []struct {
		name    string
		cluster cannedCluster
		outcome history.Outcome
		text    string
		frames  int
		closes  int
	}{
		{"acknowledged", cannedCluster{body: produced(0, 41)}, history.OK, "", 1, 0},
		{"acknowledged without offset", cannedCluster{body: produced(0, -1)}, history.OK, "", 1, 0},
		{"refused", cannedCluster{body: produced(19, -1)}, history.Fail, "NOT_ENOUGH_REPLICAS", 1, 0},
		{"silent", cannedCluster{}, history.Info, "timed out", 1, 1},
		{"another correlation id", cannedCluster{body: produced(0, 41), shift: 1}, history.Info, "correlation id 2, expected 1", 1, 1},
		{"cut answer", cannedCluster{body: produced(0, 41)[:9]}, history.Info, "malformed answer: Produce version 9", 1, 1},
		{"no answer at all", cannedCluster{body: []byte{}}, history.Info, "malformed answer: bad count of header tags", 1, 1},
		{"other partitions", cannedCluster{body: other.AppendTo([]byte{0})}, history.Info, "Produce for other partitions than orders/0", 1, 0},
		{"too long", cannedCluster{body: make([]byte, responseBytesMax)}, history.Info, "expected 4 to", 1, 1},
		{"nothing listens", cannedCluster{dial: world.ErrRefused}, history.Fail, "nothing sent: connection refused", 0, 0},
		{"dial times out", cannedCluster{dial: world.ErrTimeout}, history.Fail, "nothing sent: timed out", 0, 0},
		{"refused at the send", cannedCluster{send: world.ErrRefused}, history.Fail, "nothing sent: connection refused", 1, 1},
		{"closed at the send", cannedCluster{send: world.ErrClosed}, history.Info, "connection closed", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cluster.keep = true
			cl := newClient(fakeEnv{time.Now()}, &c.cluster, "producer-0", time.Second)
			op := history.Op{Partition: orders, Value: "p0-0", Broker: 1}
			newProducing("orders", time.Second).send(cl, -1, &op)
			if op.Outcome != c.outcome || !strings.Contains(op.Error, c.text) || (op.Error == "") != (op.Outcome == history.OK) {
				t.Errorf("outcome %d (%s), expected %d (%s)", op.Outcome, op.Error, c.outcome, c.text)
			}
			if len(c.cluster.frames) != c.frames || c.cluster.closes != c.closes {
				t.Errorf("%d requests, %d closes, expected %d and %d", len(c.cluster.frames), c.cluster.closes, c.frames, c.closes)
			}
		})
	}
}

// TestFramesAreNotReused: a world may keep the frame that it was handed.
func TestFramesAreNotReused(t *testing.T) {
	cluster := &cannedCluster{body: produced(0, 0), keep: true}
	cl := newClient(fakeEnv{time.Now()}, cluster, "producer-0", time.Second)
	p := newProducing("orders", time.Second)
	for _, value := range []string{"p0-0", "p0-1"} {
		p.send(cl, -1, &history.Op{Partition: orders, Value: value, Broker: 1})
	}
	for i, value := range []string{"p0-0", "p0-1"} {
		if !strings.Contains(string(cluster.frames[i]), value) {
			t.Errorf("frame %d no longer holds %s", i, value)
		}
	}
	if cluster.dials != 1 {
		t.Errorf("%d connections, expected 1", cluster.dials)
	}
}

// FuzzReadResponse: whatever a broker answers, it is an answer or an error.
func FuzzReadResponse(f *testing.F) {
	correlated := func(b []byte) []byte { return append([]byte{0, 0, 0, 1}, b...) }
	f.Add(correlated(produced(0, 41)))
	f.Add(correlated(fetched(0, 1, appendBatch(nil, "p0-0"))))
	md := kmsg.NewPtrMetadataResponse()
	md.Version = metadataVersion
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr("orders")
	topic.Partitions = []kmsg.MetadataResponseTopicPartition{kmsg.NewMetadataResponseTopicPartition()}
	md.Topics = []kmsg.MetadataResponseTopic{topic}
	f.Add(correlated(md.AppendTo([]byte{0})))
	f.Add(correlated([]byte{2, 0, 1, 7, 9, 2, 1, 1})) // tagged fields in the header
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, resp := range []kmsg.Response{&kmsg.ProduceResponse{Version: produceVersion}, &kmsg.FetchResponse{Version: fetchVersion},
			&kmsg.MetadataResponse{Version: metadataVersion}, &kmsg.ListOffsetsResponse{Version: listOffsetsVersion},
			&kmsg.DeleteRecordsResponse{Version: deleteRecordsVersion}, &kmsg.CreateTopicsResponse{Version: createVersion}, &kmsg.ElectLeadersResponse{Version: electVersion},
			&kmsg.AlterPartitionAssignmentsResponse{Version: reassignVersion}} {
			if err := readResponse(frame, 1, resp); err != nil && !errors.Is(err, errMalformed) {
				t.Errorf("%v, expected %v", err, errMalformed)
			}
		}
		if len(frame) > 4 {
			cl := newClient(fakeEnv{time.Now()}, &cannedCluster{body: frame[4:]}, "consumer-0", time.Second)
			op := history.Op{Partition: orders, Broker: 1}
			if next, _ := newFetching("orders", time.Second, 1<<10).poll(cl, &op); next < op.Position {
				t.Errorf("position %d after a poll from %d", next, op.Position)
			}
			r := newRouter(cl, "orders", 1, fakeEnv{}.Rand("", 0))
			if md, err := r.ask(); err == nil {
				r.learn(md)
			}
		}
	})
}

func BenchmarkSend(b *testing.B) {
	b.ReportAllocs()
	cl := newClient(fakeEnv{time.Now()}, &cannedCluster{body: produced(0, 41)}, "producer-0", time.Second)
	p := newProducing("orders", time.Second)
	for b.Loop() {
		p.send(cl, -1, &history.Op{Partition: orders, Value: "p0-118", Broker: 1})
	}
}

func BenchmarkPoll(b *testing.B) {
	b.ReportAllocs()
	var batches []byte
	for i := range 5 {
		batch := appendBatch(nil, "p0-118")
		binary.BigEndian.PutUint64(batch, uint64(i))
		batches = append(batches, batch...)
	}
	cl := newClient(fakeEnv{time.Now()}, &cannedCluster{body: fetched(0, 5, batches)}, "consumer-0", time.Second)
	f := newFetching("orders", time.Second, pollBytes)
	for b.Loop() {
		op := history.Op{Partition: orders, Broker: 1}
		if f.poll(cl, &op); len(op.Records) != 5 {
			b.Fatal(op.Error)
		}
	}
}
