package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/broker/config"
)

// cluster is brokers on loopback ports, with directories of their own, in the test's process.
type cluster struct {
	t       testing.TB
	configs []config.Config
	servers []*Server // nil while down
}

// patience bounds every wait of a test for something that must come.
const patience = 20 * time.Second

// start starts n brokers, all of them voters; settings are lines of their configuration.
func start(t testing.TB, n int, settings ...string) *cluster {
	t.Helper()
	return startRoles(t, n, 0, settings...)
}

// startRoles starts brokers of which the first are voters of the quorum too.
func startRoles(t testing.TB, voting, others int, settings ...string) *cluster {
	t.Helper()
	n := voting + others
	c := &cluster{t: t, servers: make([]*Server, n)}
	ports := freePorts(t, n)
	var voters []string
	for i, port := range ports[:voting] {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, port))
	}
	for i, port := range ports {
		roles := "broker,controller"
		if i >= voting {
			roles = "broker"
		}
		text := fmt.Sprintf(`node.id=%d
process.roles=%s
controller.quorum.voters=%s
advertised.listeners=PLAINTEXT://127.0.0.1:%d
log.dirs=%s
tidemark.debug.listener=127.0.0.1:%d
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=300
controller.quorum.election.timeout.ms=500
replica.fetch.backoff.ms=100
replica.fetch.wait.max.ms=200
replica.lag.time.max.ms=3000
`, i+1, roles, strings.Join(voters, ","), port, t.TempDir(), freePorts(t, 1)[0])
		cfg, err := config.Parse(text + strings.Join(settings, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		c.configs = append(c.configs, cfg)
		c.restart(i)
	}
	t.Cleanup(func() {
		for i := range c.servers {
			c.kill(i)
		}
	})
	return c
}

// Ports are taken one after another, so that none is given out twice in this process before it is bound, from a place of this process's
// own. They lie below the range that the system gives to connections.
var (
	portCount atomic.Uint32
	portFirst = rand.IntN(20_000)
)

func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range 1000 {
		port := 12_000 + (portFirst+int(portCount.Add(1)))%20_000
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if ports = append(ports, port); len(ports) == n {
				return ports
			}
		}
	}
	t.Fatal("no free ports")
	return nil
}

// restart starts broker i on what its directory holds.
func (c *cluster) restart(i int) {
	c.t.Helper()
	var log *slog.Logger
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(c.t.Output(), nil))
	}
	s, err := Start(c.configs[i], log)
	if err != nil {
		c.t.Fatal(err)
	}
	c.servers[i] = s
}

// kill ends broker i as a crash of its process does.
func (c *cluster) kill(i int) {
	if s := c.servers[i]; s != nil {
		s.Close()
		c.servers[i] = nil
		if err := s.Err(); err != nil && !errors.Is(err, ErrClosed) {
			c.t.Errorf("broker %d ended by itself: %v", i+1, err)
		}
	}
}

// shutDown ends broker i in good order.
func (c *cluster) shutDown(i int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.servers[i].Shutdown(ctx); err != nil {
		c.t.Fatal(err)
	}
	c.servers[i] = nil
}

func (c *cluster) addresses() (out []string) {
	for _, cfg := range c.configs {
		out = append(out, cfg.AdvertisedListeners[0].Address())
	}
	return out
}

// client is a franz-go client of the whole cluster. It is idempotent, as they are unless told otherwise.
func (c *cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(c.addresses()...), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	}, opts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	return client
}

// within is a context for one thing that must come.
func (c *cluster) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// eventually waits until a condition holds.
func (c *cluster) eventually(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// ready waits until every broker is registered and unfenced in everyone's eyes.
func (c *cluster) ready() {
	c.t.Helper()
	c.eventually("every broker sees every other one registered", func() bool {
		for _, s := range c.servers {
			state, err := s.State()
			if err != nil || len(state.Brokers) < len(c.servers) {
				return false
			}
			for _, b := range state.Brokers {
				if b.Fenced {
					return false
				}
			}
		}
		return true
	})
}

// create creates a topic and waits until all of its replicas are in sync.
func (c *cluster) create(topic string, partitions int32, factor int16, minISR string) {
	c.t.Helper()
	c.ready()
	admin := kadm.NewClient(c.client())
	resp, err := admin.CreateTopic(c.within(), partitions, factor, map[string]*string{"min.insync.replicas": &minISR}, topic)
	if err != nil || resp.Err != nil {
		c.t.Fatalf("create topic %s: %v, %v", topic, err, resp.Err)
	}
	c.inSync(topic, int(factor))
}

// inSync waits until every partition of a topic has so many members in its ISR, and a leader that says so.
func (c *cluster) inSync(topic string, members int) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%s has %d replicas in sync", topic, members), func() bool {
		led := map[int32]bool{}
		partitions := 0
		for _, s := range c.servers {
			if s == nil {
				continue
			}
			state, err := s.State()
			if err != nil {
				return false
			}
			partitions = 0
			for _, p := range state.Partitions {
				if p.Topic == topic {
					partitions++
				}
			}
			for _, r := range state.Replicas {
				if r.Topic == topic && r.Role == "leader" && len(r.ISR) == members {
					led[r.Partition] = true
				}
			}
		}
		return partitions > 0 && len(led) == partitions
	})
}

// leader is the index of the broker that leads a topic's partition 0.
func (c *cluster) leader(topic string) int {
	c.t.Helper()
	found := -1
	c.eventually("there is a leader of "+topic, func() bool {
		for i, s := range c.servers {
			if s == nil {
				continue
			}
			if state, err := s.State(); err == nil {
				for _, r := range state.Replicas {
					if r.Topic == topic && r.Partition == 0 && r.Role == "leader" {
						found = i
						return true
					}
				}
			}
		}
		return false
	})
	return found
}

// produce sends records and waits for each acknowledgement.
func (c *cluster) produce(client *kgo.Client, topic string, values ...string) {
	c.t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Value: []byte(v)})
	}
	if err := client.ProduceSync(c.within(), records...).FirstErr(); err != nil {
		c.t.Fatalf("produce to %s: %v", topic, err)
	}
}

// consume reads so many records of a topic from its beginning.
func (c *cluster) consume(topic string, n int) (values []string) {
	c.t.Helper()
	client := c.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond))
	ctx := c.within()
	for len(values) < n {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			c.t.Fatalf("consumed %d of %d records of %s: %v, %v", len(values), n, topic, fetches.Err(), values)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

// end is the sum of a topic's end offsets: how many records consumers find.
func (c *cluster) end(topic string) (sum int) {
	c.t.Helper()
	offsets, err := kadm.NewClient(c.client()).ListEndOffsets(c.within(), topic)
	if err != nil || offsets.Error() != nil {
		c.t.Fatal(err, offsets.Error())
	}
	offsets.Each(func(o kadm.ListedOffset) { sum += int(o.Offset) })
	return sum
}

// numbered is n values that tell themselves apart.
func numbered(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%d", prefix, i))
	}
	return out
}
