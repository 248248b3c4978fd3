package workloads

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
)

// catalog is three brokers of one topic that goes and comes, each of which leads what it takes for the topic. One that is behind tells of an
// incarnation that is gone, and answers for it.
type catalog struct {
	world.Cluster
	present [16]byte // zero: there is none
	made    byte     // incarnations so far
	behind  map[history.BrokerID][16]byte
	patient int // so many more metadata answers until those that are behind are so no more; negative: never
	refuse  int // so many more CreateTopics find no controller
}

func (c *catalog) Brokers() []history.BrokerID { return []history.BrokerID{1, 2, 3} }

func (c *catalog) Dial(_ string, to history.BrokerID, _ time.Duration) (world.Conn, error) {
	return &catalogConn{c: c, to: to}, nil
}

func (c *catalog) Observe() history.ClusterState {
	return history.ClusterState{Partitions: []history.PartitionState{{Partition: history.Partition{Topic: history.Incarnation("again", c.present)}, Leader: 1,
		ISR: []history.BrokerID{1}, Replicas: []history.ReplicaState{{Broker: 1, Up: true, LEO: 1, HW: 1}}}}}
}

func (c *catalog) make() [16]byte {
	c.made++
	c.present = [16]byte{c.made}
	return c.present
}

// lag lets brokers be behind.
func (c *catalog) lag(patient int, id [16]byte, brokers ...history.BrokerID) {
	c.patient, c.behind = patient, map[history.BrokerID][16]byte{}
	for _, b := range brokers {
		c.behind[b] = id
	}
}

// known is what a broker takes for the topic.
func (c *catalog) known(b history.BrokerID) [16]byte {
	if id, ok := c.behind[b]; ok && c.patient != 0 {
		return id
	}
	return c.present
}

type catalogConn struct {
	c      *catalog
	to     history.BrokerID
	answer []byte
}

func (n *catalogConn) Close()                                {}
func (n *catalogConn) Receive(time.Duration) ([]byte, error) { return n.answer, nil }
func (n *catalogConn) Send(frame []byte) error {
	n.answer = answering(frame, n.c.serve(n.to, readRequest(frame)))
	return nil
}

func (c *catalog) serve(to history.BrokerID, req kmsg.Request) kmsg.Response {
	resp := req.ResponseKind()
	unknown := func(id [16]byte) int16 {
		if id != c.known(to) {
			return kerr.UnknownTopicID.Code
		}
		return 0
	}
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		md := resp.(*kmsg.MetadataResponse)
		md.Brokers = make([]kmsg.MetadataResponseBroker, 3)
		for range r.Topics {
			topic := kmsg.MetadataResponseTopic{Topic: kmsg.StringPtr("again"), TopicID: c.known(to)}
			if topic.TopicID == [16]byte{} {
				topic.ErrorCode = kerr.UnknownTopicOrPartition.Code
			} else {
				topic.Partitions = []kmsg.MetadataResponseTopicPartition{{Leader: int32(to), ISR: []int32{1}}}
			}
			md.Topics = append(md.Topics, topic)
			if c.patient > 0 {
				c.patient--
			}
		}
	case *kmsg.DeleteTopicsRequest: // the controller's answer, as CreateTopics'
		topic := kmsg.DeleteTopicsResponseTopic{TopicID: r.Topics[0].TopicID}
		if topic.TopicID != c.present {
			topic.ErrorCode = kerr.UnknownTopicID.Code
		} else {
			c.present = [16]byte{}
		}
		resp.(*kmsg.DeleteTopicsResponse).Topics = []kmsg.DeleteTopicsResponseTopic{topic}
	case *kmsg.CreateTopicsRequest:
		topic := kmsg.CreateTopicsResponseTopic{Topic: r.Topics[0].Topic}
		switch {
		case c.refuse > 0:
			c.refuse--
			topic.ErrorCode = kerr.NotController.Code
		case c.present != [16]byte{}:
			topic.ErrorCode = kerr.TopicAlreadyExists.Code
		default:
			topic.TopicID = c.make()
		}
		resp.(*kmsg.CreateTopicsResponse).Topics = []kmsg.CreateTopicsResponseTopic{topic}
	case *kmsg.ProduceRequest:
		part := kmsg.ProduceResponseTopicPartition{ErrorCode: unknown(r.Topics[0].TopicID)}
		resp.(*kmsg.ProduceResponse).Topics = []kmsg.ProduceResponseTopic{{TopicID: r.Topics[0].TopicID, Partitions: []kmsg.ProduceResponseTopicPartition{part}}}
	case *kmsg.FetchRequest:
		part := kmsg.FetchResponseTopicPartition{ErrorCode: unknown(r.Topics[0].TopicID)}
		resp.(*kmsg.FetchResponse).Topics = []kmsg.FetchResponseTopic{{TopicID: r.Topics[0].TopicID, Partitions: []kmsg.FetchResponseTopicPartition{part}}}
	case *kmsg.ListOffsetsRequest:
		part := kmsg.ListOffsetsResponseTopicPartition{}
		resp.(*kmsg.ListOffsetsResponse).Topics = []kmsg.ListOffsetsResponseTopic{{Topic: "again", Partitions: []kmsg.ListOffsetsResponseTopicPartition{part}}}
	}
	return resp
}

// TestRecreateWithBrokersBehind recreates a topic of which one broker, whichever is asked first, still tells what it was before, or that there was none.
// What is returned must be made by this very call, and be there.
func TestRecreateWithBrokersBehind(t *testing.T) {
	for _, gone := range [][16]byte{{1}, {}} {
		for _, b := range []history.BrokerID{1, 2, 3} {
			for refuse := range 6 {
				synctest.Test(t, func(t *testing.T) {
					c := &catalog{refuse: refuse}
					c.make()
					before := c.make()
					c.lag(-1, gone, b)
					name, err := Recreate(fakeEnv{time.Now()}, c, "recreate", "again", 1, 10*time.Second)
					if err != nil || c.present == before || name != history.Incarnation("again", c.present) {
						t.Errorf("broker %d behind at %x, %d refusals: got %s, %v; expected the topic to be there anew, and is %x", b, gone, refuse, name, err, c.present)
					}
				})
			}
		}
	}
}

// TestVisitorWithBrokersBehind settles and reads a topic that was recreated while every broker still tells of, and answers for, what it was before: what
// is settled and read at the end must be the present one.
func TestVisitorWithBrokersBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, c := fakeEnv{time.Now()}, &catalog{}
		record := history.NewRecorder(env.Now, nil)
		v := &Visitor{Append: &Append{Env: env, Cluster: c, Record: record, Topic: "orders", Parts: 1, Factor: 1, Acks: -1, Timeout: time.Second}, Topic: "again"}
		if err := v.Create(10 * time.Second); err != nil {
			t.Fatal(err)
		}
		gone := c.present
		c.make()
		c.lag(3, gone, 1, 2, 3)
		if err := v.Settle(30 * time.Second); err != nil {
			t.Fatal(err)
		}
		c.lag(3, gone, 1, 2, 3)
		v.to.leader = history.NoBroker // it must ask again
		if err := v.Final(30 * time.Second); err != nil {
			t.Fatal(err)
		}
		for _, op := range record.History().Ops {
			if present := history.Incarnation("again", c.present); op.Final && op.Partition.Topic != present {
				t.Errorf("the final read was of %s, expected %s", op.Partition.Topic, present)
			}
		}
	})
}
