package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/log"
	"tidemark/broker/wire"
)

// forward is a port on loopback whose connections go to another one, as a container's published port does.
type forward struct {
	port    int
	carried atomic.Int64 // connections
}

// publish opens a port that leads to another until the test ends.
func publish(t *testing.T, to int) *forward {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forward{port: l.Addr().(*net.TCPAddr).Port}
	var carriers sync.WaitGroup
	carriers.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			f.carried.Add(1)
			carriers.Go(func() { carry(client, to) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); carriers.Wait() })
	return f
}

// carry copies both ways until either side ends.
func carry(client net.Conn, to int) {
	defer func() { _ = client.Close() }()
	broker, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", to))
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, broker)
		_ = client.Close()
	})
	_, _ = io.Copy(broker, client)
	_ = broker.Close()
	back.Wait()
}

// startApart starts brokers whose listeners are apart: BROKER between them, CONTROLLER for the quorum, and EXTERNAL, which is advertised
// at a port that leads to it. The first of them are the quorum's voters; the others are brokers only.
func startApart(t *testing.T, voting, others int) (c *cluster, published []*forward) {
	t.Helper()
	n := voting + others
	c = &cluster{t: t, servers: make([]*Server, n)}
	dir := t.TempDir() // first, so that it is removed last
	t.Cleanup(func() {
		for i := range c.servers {
			c.kill(i)
		}
	})
	ports := freePorts(t, 3*n)
	var voters []string
	for i := range voting {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, ports[3*i+1]))
	}
	for i := range n {
		between, controller, external := ports[3*i], ports[3*i+1], ports[3*i+2]
		f := publish(t, external)
		published = append(published, f)
		roles, told := "broker,controller", ""
		if i >= voting {
			roles, told = "broker", fmt.Sprintf(",CONTROLLER://127.0.0.1:%d", controller)
		}
		cfg, err := config.Parse(fmt.Sprintf(`node.id=%d
process.roles=%s
controller.quorum.voters=%s
listeners=BROKER://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d,EXTERNAL://:%d
advertised.listeners=BROKER://127.0.0.1:%d,EXTERNAL://127.0.0.1:%d%s
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
log.dirs=%s
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=300
controller.quorum.election.timeout.ms=500
replica.fetch.backoff.ms=100
replica.fetch.wait.max.ms=200
`, i+1, roles, strings.Join(voters, ","), between, controller, external, between, f.port, told, filepath.Join(dir, strconv.Itoa(i+1))))
		if err != nil {
			t.Fatal(err)
		}
		c.configs = append(c.configs, cfg)
		c.restart(i)
	}
	return c, published
}

// TestClientsInsideAndOutside has kcat and franz-go at work through the brokers' own listener and through published ports at the same
// time. Each is told the addresses that hold where it is, and finds what the other wrote.
func TestClientsInsideAndOutside(t *testing.T) {
	t.Parallel()
	c, published := startApart(t, 3, 0)
	inside := c.addresses()
	var outside []string
	for _, f := range published {
		outside = append(outside, fmt.Sprintf("127.0.0.1:%d", f.port))
	}
	c.create("orders", 3, 3, "2")

	for _, view := range [][2][]string{{inside, outside}, {outside, inside}} {
		mine, others := view[0], view[1]
		listed := kcat(t, "", "-b", mine[0], "-L", "-t", "orders")
		for i := range mine {
			if !strings.Contains(listed, " at "+mine[i]) || strings.Contains(listed, others[i]) {
				t.Errorf("asked at %s: broker %d is to be at %s, not %s:\n%s", mine[0], i+1, mine[i], others[i], listed)
			}
		}
		brokers, err := kadm.NewClient(c.client(kgo.SeedBrokers(mine[0]))).ListBrokers(c.within()) // DescribeCluster or Metadata
		if err != nil || len(brokers) != 3 {
			t.Fatalf("asked at %s for brokers: %v, %v", mine[0], brokers, err)
		}
		for i, b := range brokers {
			if got := address(b.Host, b.Port); got != mine[i] {
				t.Errorf("asked at %s: broker %d is at %s, expected %s", mine[0], b.NodeID, got, mine[i])
			}
		}
	}

	sent := map[string][]string{}
	var writers sync.WaitGroup
	for name, seeds := range map[string][]string{"inside": inside, "outside": outside} {
		franz, cat := numbered("franz-"+name, 50), numbered("kcat-"+name, 50)
		sent[name] = append(franz, cat...)
		client := c.client(kgo.SeedBrokers(seeds...), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		writers.Go(func() { c.produce(client, "orders", franz...) })
		writers.Go(func() {
			kcat(t, strings.Join(cat, "\n")+"\n", "-b", strings.Join(seeds, ","), "-P", "-t", "orders", "-X", "acks=all")
		})
	}
	writers.Wait()
	want := append(slices.Clone(sent["inside"]), sent["outside"]...)
	slices.Sort(want)
	for _, seeds := range [][]string{inside, outside} {
		got := strings.Fields(kcat(t, "", "-b", seeds[0], "-C", "-t", "orders", "-o", "beginning", "-e", "-q"))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("consumed %d records at %s, sent %d:\n%q", len(got), seeds[0], len(want), got)
		}
	}
	for i, f := range published {
		if f.carried.Load() == 0 {
			t.Errorf("nothing went through the published port of broker %d", i+1)
		}
	}
	c.shutDown(2)
	for _, l := range c.configs[2].Listeners {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", l.Port)); err == nil {
			_ = conn.Close()
			t.Errorf("broker 3 has stopped, yet %v still takes connections", l)
		}
	}
}

// TestEachListenerServesItsOwn sends requests to listeners that are not for them: the connection is closed. Where they belong, they are
// taken.
func TestEachListenerServesItsOwn(t *testing.T) {
	t.Parallel()
	c, _ := startApart(t, 1, 0)
	c.create("orders", 1, 1, "1")

	produce := kmsg.NewPtrProduceRequest()
	produce.Version, produce.Acks, produce.TimeoutMillis = 9, -1, 1000
	topic, partition := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	topic.Topic, partition.Records = "orders", log.BuildBatch(0, 0, 0, []byte("x"))
	topic.Partitions = append(topic.Partitions, partition)
	produce.Topics = append(produce.Topics, topic)
	versions := kmsg.NewPtrApiVersionsRequest()
	heartbeat := kmsg.NewPtrBrokerHeartbeatRequest()
	heartbeat.BrokerID = 9

	for _, tc := range []struct {
		name   string
		frame  []byte
		served []string
	}{
		{"Produce", wire.AppendRequest(nil, 7, "a client", produce), []string{"BROKER", "EXTERNAL"}},
		{"ApiVersions", wire.AppendRequest(nil, 7, "a client", versions), []string{"BROKER", "CONTROLLER", "EXTERNAL"}},
		{"BrokerHeartbeat", wire.AppendRequest(nil, 7, "a broker", heartbeat), []string{"CONTROLLER"}},
	} {
		for _, l := range c.configs[0].Listeners {
			conn := dial(t, fmt.Sprintf("127.0.0.1:%d", l.Port))
			err := ask(conn, append(binary.BigEndian.AppendUint32(nil, uint32(len(tc.frame))), tc.frame...))
			if want := slices.Contains(tc.served, l.Name); want != (err == nil) || !want && !hungUp(err) {
				t.Errorf("%s at %s: %v, expected an answer: %v", tc.name, l.Name, err, want)
			}
		}
	}
}

// hungUp reports whether an error says that the other side closed the connection, not that it was silent.
func hungUp(err error) bool { return err != nil && !errors.Is(err, os.ErrDeadlineExceeded) }

// TestAPortInUseReleasesTheOthers starts a broker whose last listener cannot be bound: the error names the address, and the ports of the
// others are free again.
func TestAPortInUseReleasesTheOthers(t *testing.T) {
	t.Parallel()
	c, _ := startApart(t, 1, 0)
	cfg := c.configs[0]
	free := freePorts(t, 2)
	taken := cfg.Listeners[2]
	cfg.Listeners = []config.Listener{{Name: "BROKER", Host: "127.0.0.1", Port: int32(free[0])}, {Name: "CONTROLLER", Host: "127.0.0.1", Port: int32(free[1])}, taken}
	cfg.Shell.LogDir = t.TempDir()
	s, err := Start(cfg, nil)
	if err == nil {
		s.Close()
		t.Fatalf("it started, though %v is in use", taken)
	}
	if want := fmt.Sprintf("listen tcp :%d", taken.Port); !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, expected %q in it", err, want)
	}
	for _, port := range free {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatalf("a port of the broker that did not start: %v", err)
		}
		_ = l.Close()
	}
}
