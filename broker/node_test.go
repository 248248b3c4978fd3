package broker

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/wire"
)

// TestScenarios tells what a single node answers on the wire, from its first start on.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &scenario{t: t, fs: disk.Mem()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.command(d)
		})
	})
}

// scenario is one node on a disk in memory, with a clock that the script moves.
type scenario struct {
	t       *testing.T
	fs      disk.FS
	node    *Node
	now     time.Duration
	conn    ConnID
	replies map[ConnID]Reply
	exited  bool
}

func (s *scenario) command(d *datadriven.TestData) string {
	switch d.Cmd {
	case "start":
		return s.start(d)
	case "open":
		return s.open(d)
	case "marker":
		data, err := disk.ReadFile(s.fs, log.CleanShutdownFile, 4096)
		if err != nil {
			return "none"
		}
		return string(data)
	case "crash":
		s.node.Close()
		s.node = nil
		return ""
	case "shutdown":
		s.node.Shutdown(s.now)
		s.settle(5 * time.Second)
		return fmt.Sprintf("exited: %v", s.exited)
	case "wait":
		var span string
		d.ScanArgs(s.t, "for", &span)
		length, err := time.ParseDuration(span)
		if err != nil {
			s.t.Fatal(err)
		}
		s.settle(length)
		return ""
	case "frame":
		frame, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(d.Input), " ", ""))
		if err != nil {
			s.t.Fatal(err)
		}
		return s.exchange(frame, 18, 0, config.Plaintext)
	case "metadata", "describe-cluster", "create-topic", "describe-configs", "produce", "fetch", "list-offsets", "api-versions", "init-producer-id", "elect", "register", "heartbeat":
		return s.request(d)
	default:
		return "unknown command " + d.Cmd
	}
}

func (s *scenario) start(d *datadriven.TestData) string {
	if problem := s.open(d); problem != "" {
		return problem
	}
	s.settle(5 * time.Second)
	return s.status()
}

// open starts a node and lets nothing happen yet; it returns what is wrong, if anything is.
func (s *scenario) open(d *datadriven.TestData) string {
	text := d.Input + "\n"
	for _, line := range []string{"node.id=1", "controller.quorum.voters=1@broker-1:9092", "advertised.listeners=PLAINTEXT://broker-1:9092",
		"broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms=500"} {
		if key, _, _ := strings.Cut(line, "="); !strings.Contains(d.Input, key) {
			text += line + "\n"
		}
	}
	cfg, err := config.Parse(text)
	if err != nil {
		return "error: " + err.Error()
	}
	s.exited = false
	s.replies = map[ConnID]Reply{}
	s.node, err = Open(cfg, s.fs, s.now, rand.New(rand.NewPCG(1, uint64(s.now))))
	if err != nil {
		return "error: " + err.Error()
	}
	return ""
}

// status tells what the node knows of the cluster.
func (s *scenario) status() string {
	id, term := s.node.ActiveController()
	return fmt.Sprintf("controller %d in term %d, registered: %v", id, term, s.node.BrokerEpoch() != kafka.NoBrokerEpoch)
}

// settle carries out what the node wants done and lets its timers fire for a while.
func (s *scenario) settle(length time.Duration) {
	end := s.now + length
	for range 100_000 {
		out := s.node.Ready()
		if out.Fatal != nil {
			s.t.Fatal(out.Fatal)
		}
		for _, r := range out.Replies {
			s.replies[r.Conn] = r
		}
		for _, f := range out.Flushes {
			var err error
			for _, step := range f.Steps {
				if err = disk.Run(s.fs, step); err != nil {
					break
				}
			}
			s.node.Flushed(s.now, f.ID, err)
		}
		if out.Exit {
			s.exited = true
			s.node.Close()
			return
		}
		if len(out.Flushes) > 0 {
			continue
		}
		next := s.node.Deadline()
		if next > end {
			s.now = end
			return
		}
		s.now = max(s.now, next)
		s.node.Tick(s.now)
	}
	s.t.Fatal("the node never comes to rest")
}

// exchange sends a frame on a connection of its own to a listener and shows the answer.
func (s *scenario) exchange(frame []byte, key, version int16, listener string) string {
	s.conn++
	s.node.RequestAt(s.now, listener, s.conn, frame)
	s.settle(2 * time.Second)
	r, ok := s.replies[s.conn]
	switch {
	case !ok:
		return "no answer"
	case r.Close:
		return "connection closed"
	case r.Frame == nil:
		return "done, no answer"
	}
	resp, err := wire.ParseResponse(r.Frame, key, version)
	if err != nil {
		return "error: " + err.Error()
	}
	return describe(resp)
}

func (s *scenario) request(d *datadriven.TestData) string {
	var version int
	d.ScanArgs(s.t, "v", &version)
	topic := "orders"
	d.MaybeScanArgs(s.t, "topic", &topic)
	listener := config.Plaintext
	d.MaybeScanArgs(s.t, "at", &listener)
	req := s.build(d, topic)
	req.SetVersion(int16(version))
	return s.exchange(wire.AppendRequest(nil, 7, "a client", req), req.Key(), int16(version), listener)
}

func (s *scenario) build(d *datadriven.TestData, topic string) kmsg.Request {
	switch d.Cmd {
	case "metadata":
		req := kmsg.NewPtrMetadataRequest()
		if d.HasArg("topic") {
			asked := kmsg.NewMetadataRequestTopic()
			asked.Topic = &topic
			req.Topics = append(req.Topics, asked)
		}
		req.AllowAutoTopicCreation = d.HasArg("create")
		return req
	case "describe-cluster":
		return kmsg.NewPtrDescribeClusterRequest()
	case "create-topic":
		return s.createTopic(d, topic)
	case "register": // another broker; each line of the input is an endpoint: listener, host, port
		req := kmsg.NewPtrBrokerRegistrationRequest()
		d.ScanArgs(s.t, "broker", &req.BrokerID)
		for line := range strings.Lines(d.Input) {
			l := kmsg.NewBrokerRegistrationRequestListener()
			if _, err := fmt.Sscan(line, &l.Name, &l.Host, &l.Port); err != nil {
				s.t.Fatal(err)
			}
			req.Listeners = append(req.Listeners, l)
		}
		return req
	case "heartbeat":
		req := kmsg.NewPtrBrokerHeartbeatRequest()
		req.CurrentMetadataOffset = 1 << 40
		d.ScanArgs(s.t, "broker", &req.BrokerID)
		d.ScanArgs(s.t, "epoch", &req.BrokerEpoch)
		return req
	case "describe-configs":
		req := kmsg.NewPtrDescribeConfigsRequest()
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
		if !d.HasArg("topic") {
			r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
			r.ConfigNames = []string{"min.insync.replicas", "broker.session.timeout.ms"}
		}
		req.Resources = append(req.Resources, r)
		return req
	case "produce":
		acks := -1
		d.MaybeScanArgs(s.t, "acks", &acks)
		req := produce(topic, d.Input, int16(acks))
		if d.HasArg("producer") {
			var id int64
			var sequence int32
			d.ScanArgs(s.t, "producer", &id)
			d.ScanArgs(s.t, "sequence", &sequence)
			log.Sequence(req.Topics[0].Partitions[0].Records, id, 0, sequence)
		}
		return req
	case "init-producer-id":
		req := kmsg.NewPtrInitProducerIDRequest()
		for _, arg := range d.CmdArgs {
			if arg.Key == "transactional-id" {
				id := strings.Join(arg.Vals, ",")
				req.TransactionalID = &id
			}
		}
		return req
	case "fetch":
		req := kmsg.NewPtrFetchRequest()
		req.MaxBytes, req.MaxWaitMillis, req.MinBytes = 1<<20, 100, 1
		t, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
		t.Topic, p.PartitionMaxBytes = topic, 1<<20
		d.ScanArgs(s.t, "from", &p.FetchOffset)
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		return req
	case "list-offsets":
		req := kmsg.NewPtrListOffsetsRequest()
		t, p := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
		t.Topic, p.Timestamp = topic, -1
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		return req
	case "elect":
		req := kmsg.NewPtrElectLeadersRequest()
		t := kmsg.NewElectLeadersRequestTopic()
		t.Topic, t.Partitions = topic, []int32{0}
		req.Topics = append(req.Topics, t)
		return req
	default:
		return kmsg.NewPtrApiVersionsRequest()
	}
}

func (s *scenario) createTopic(d *datadriven.TestData, topic string) kmsg.Request {
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, 1, 1
	d.MaybeScanArgs(s.t, "replicas", &t.ReplicationFactor)
	d.MaybeScanArgs(s.t, "partitions", &t.NumPartitions)
	for line := range strings.Lines(d.Input) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		c.Name, c.Value = name, &value
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	return req
}

func produce(topic, values string, acks int16) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 1000
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	t.Topic = topic
	p.Records = log.BuildBatch(0, 0, 0, byteFields(values)...)
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// describe shows what a reader needs of a response.
func describe(resp kmsg.Response) string {
	var out strings.Builder
	switch r := resp.(type) {
	case *kmsg.MetadataResponse:
		fmt.Fprintf(&out, "controller %d\n", r.ControllerID)
		for _, b := range r.Brokers {
			fmt.Fprintf(&out, "broker %d at %s:%d\n", b.NodeID, b.Host, b.Port)
		}
		for _, t := range r.Topics {
			fmt.Fprintf(&out, "topic %s: %v\n", *t.Topic, kafka.Code(t.ErrorCode))
			for _, p := range t.Partitions {
				fmt.Fprintf(&out, "  partition %d: %v, leader %d in epoch %d, replicas %v, isr %v\n", p.Partition, kafka.Code(p.ErrorCode), p.Leader, p.LeaderEpoch, p.Replicas, p.ISR)
				if len(p.OfflineReplicas) > 0 {
					fmt.Fprintf(&out, "    offline %v\n", p.OfflineReplicas)
				}
			}
		}
	case *kmsg.DescribeClusterResponse:
		fmt.Fprintf(&out, "cluster %s, controller %d\n", r.ClusterID, r.ControllerID)
		for _, b := range r.Brokers {
			fmt.Fprintf(&out, "broker %d at %s:%d\n", b.NodeID, b.Host, b.Port)
		}
	case *kmsg.BrokerRegistrationResponse:
		fmt.Fprintf(&out, "%v, broker epoch %d\n", kafka.Code(r.ErrorCode), r.BrokerEpoch)
	case *kmsg.BrokerHeartbeatResponse:
		fmt.Fprintf(&out, "%v, fenced: %v\n", kafka.Code(r.ErrorCode), r.IsFenced)
	case *kmsg.CreateTopicsResponse:
		for _, t := range r.Topics {
			fmt.Fprintf(&out, "topic %s: %v\n", t.Topic, kafka.Code(t.ErrorCode))
		}
	case *kmsg.DescribeConfigsResponse:
		for _, res := range r.Resources {
			fmt.Fprintf(&out, "%s: %v\n", res.ResourceName, kafka.Code(res.ErrorCode))
			for _, c := range res.Configs {
				fmt.Fprintf(&out, "  %s=%s (source %d)\n", c.Name, *c.Value, c.Source)
			}
		}
	case *kmsg.ProduceResponse:
		p := r.Topics[0].Partitions[0]
		fmt.Fprintf(&out, "%v, base offset %d\n", kafka.Code(p.ErrorCode), p.BaseOffset)
	case *kmsg.InitProducerIDResponse:
		fmt.Fprintf(&out, "%v, producer id %d epoch %d\n", kafka.Code(r.ErrorCode), r.ProducerID, r.ProducerEpoch)
	case *kmsg.FetchResponse:
		p := r.Topics[0].Partitions[0]
		fmt.Fprintf(&out, "%v, high watermark %d, %d bytes\n", kafka.Code(p.ErrorCode), p.HighWatermark, len(p.RecordBatches))
	case *kmsg.ListOffsetsResponse:
		p := r.Topics[0].Partitions[0]
		fmt.Fprintf(&out, "%v, offset %d in epoch %d\n", kafka.Code(p.ErrorCode), p.Offset, p.LeaderEpoch)
	case *kmsg.ElectLeadersResponse:
		for _, t := range r.Topics {
			fmt.Fprintf(&out, "%s/%d: %v\n", t.Topic, t.Partitions[0].Partition, kafka.Code(t.Partitions[0].ErrorCode))
		}
	case *kmsg.ApiVersionsResponse:
		fmt.Fprintf(&out, "%v\n", kafka.Code(r.ErrorCode))
		for _, k := range r.ApiKeys {
			fmt.Fprintf(&out, "  %s %d to %d\n", kmsg.NameForKey(k.ApiKey), k.MinVersion, k.MaxVersion)
		}
	}
	return out.String()
}

func byteFields(text string) (out [][]byte) {
	for _, word := range strings.Fields(text) {
		out = append(out, []byte(word))
	}
	return out
}
