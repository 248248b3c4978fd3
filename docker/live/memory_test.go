package live_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/broker/server/load"
	"tidemark/history"
)

// What TestClientsInLittleMemory does to brokers of how much memory.
const (
	littleMemory = 256 << 20
	greedy       = 50       // connections
	largeRequest = 24 << 20 // bytes; fifty of them are more than four times the memory
	greedyFor    = 5 * time.Second
)

// TestClientsInLittleMemory gives each broker's container 256 MiB. Fifty connections send large Produce requests at once, again and
// again; then fifty fetch all that there is and read none of it; then both at once. No broker is killed for its memory, others are served
// meanwhile, and afterwards the brokers take what they took before.
func TestClientsInLittleMemory(t *testing.T) {
	c := startAs(t, func(r *history.Run) { r.Config = map[string]string{"log.segment.bytes": "1073741824"} })
	for _, b := range c.Brokers() {
		c.limit(b, littleMemory)
	}
	c.inSync()
	c.fill(64 << 20)
	s := c.served()
	leader := c.Observe().Partitions[0].Leader
	before, life := c.measured(leader), c.life(leader)
	if before.limit > littleMemory {
		t.Fatalf("broker %d holds itself below %s, expected less than its container's %s", leader, mebi(before.limit), mebi(littleMemory))
	}
	produce, fetch := load.ProduceNoise(c.run.Topic, largeRequest), load.FetchAll(c.run.Topic, int32(c.run.Parts))
	for _, attack := range []struct {
		name     string
		requests [][]byte
	}{
		{"large requests", [][]byte{produce}}, {"answers that are not read", [][]byte{fetch}}, {"both", [][]byte{produce, fetch}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), greedyFor)
		var attackers sync.WaitGroup
		for _, r := range attack.requests {
			attackers.Go(func() { load.Deaf(ctx, c.Address(leader), r, greedy) })
		}
		var most meters
		exchanged := 0
		for ctx.Err() == nil {
			c.exchange(s)
			exchanged++
			if m, err := c.measure(leader); err == nil {
				most.resident, most.requestBytes = max(most.resident, m.resident), max(most.requestBytes, m.requestBytes)
				most.responseBytes, most.conns = max(most.responseBytes, m.responseBytes), max(most.conns, m.conns)
			}
		}
		cancel()
		attackers.Wait()
		t.Logf("%s: %d exchanges; at most %d connections, %s of requests, %s of answers, resident %s", attack.name, exchanged, most.conns,
			mebi(most.requestBytes), mebi(most.responseBytes), mebi(most.resident))
		if now := c.life(leader); now != life {
			t.Fatalf("broker %d was %s before, and is %s", leader, life, now)
		}
	}
	c.settles(leader, before)
	c.exchange(s)
	c.whole(s)
}

// limit bounds the memory of a broker's container, and starts the broker anew in it.
func (c *cluster) limit(b history.BrokerID, bytes int64) {
	c.t.Helper()
	c.do(c.Kill(b))
	size := fmt.Sprint(bytes)
	if text, err := exec.Command("docker", "update", "--memory", size, "--memory-swap", size, fmt.Sprintf("%s-%d", c.Name(), b)).CombinedOutput(); err != nil {
		c.t.Fatalf("docker update: %v: %s", err, text)
	}
	c.do(c.Start(b))
	c.inSync()
}

// fill writes so many bytes to the topic.
func (c *cluster) fill(bytes int) {
	c.t.Helper()
	client, err := load.Client(c.seeds(), kgo.DefaultProduceTopic(c.run.Topic))
	c.do(err)
	defer client.Close()
	value := strings.Repeat("x", 500_000)
	for range bytes / len(value) {
		client.Produce(c.t.Context(), kgo.StringRecord(value), func(_ *kgo.Record, err error) {
			if err != nil {
				c.t.Error(err)
			}
		})
	}
	c.do(client.Flush(c.t.Context()))
}

// life tells a broker's incarnation, and whether the kernel killed it for its memory, as the engine has it.
func (c *cluster) life(b history.BrokerID) string {
	c.t.Helper()
	text, err := exec.Command("docker", "inspect", "--format", "{{.State.StartedAt}} oom={{.State.OOMKilled}}", fmt.Sprintf("%s-%d", c.Name(), b)).Output()
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
