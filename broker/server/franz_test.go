package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFranzGoOnThreeBrokers creates a topic, produces and consumes, as a user of franz-go does; then each broker is restarted in turn, in
// good order and by a crash, and the data stays.
func TestFranzGoOnThreeBrokers(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	c.create("orders", 4, 3, "2")
	admin := kadm.NewClient(c.client())
	topics, err := admin.ListTopics(c.within())
	if err != nil || len(topics["orders"].Partitions) != 4 {
		t.Fatalf("listing: %v, %v", topics, err)
	}
	client := c.client(kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	sent := numbered("before", 100)
	c.produce(client, "orders", sent...)
	for i := range 3 {
		if i == 1 {
			c.kill(i)
		} else {
			c.shutDown(i)
		}
		more := numbered("without "+string(rune('1'+i)), 20)
		c.produce(client, "orders", more...)
		sent = append(sent, more...)
		c.restart(i)
		c.inSync("orders", 3)
	}
	got := c.consume("orders", len(sent))
	slices.Sort(got)
	slices.Sort(sent)
	if !slices.Equal(got, sent) {
		t.Errorf("consumed %d records, sent %d:\n%q\n%q", len(got), len(sent), got, sent)
	}
	if end := c.end("orders"); end != len(sent) {
		t.Errorf("end offsets sum to %d, expected the %d records, each once", end, len(sent))
	}
}

// TestFailoverKeepsWhatWasAcknowledged kills the leader twice while a producer is at work.
func TestFailoverKeepsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	c.create("payments", 1, 3, "2")
	client := c.client(kgo.ProducerLinger(0))
	stop := make(chan struct{})
	acked := make(chan []string)
	go func() {
		var values []string
		for i := 0; ; i++ {
			select {
			case <-stop:
				acked <- values
				return
			default:
			}
			v := fmt.Sprintf("payment-%d", i)
			if err := client.ProduceSync(c.within(), &kgo.Record{Topic: "payments", Value: []byte(v)}).FirstErr(); err == nil {
				values = append(values, v)
			}
		}
	}()
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		leader := c.leader("payments")
		c.kill(leader)
		c.eventually("another broker leads", func() bool { return c.leader("payments") != leader })
		time.Sleep(300 * time.Millisecond)
		c.restart(leader)
		c.inSync("payments", 3)
	}
	close(stop)
	values := <-acked
	if len(values) < 20 {
		t.Errorf("only %d records were acknowledged", len(values))
	}
	c.produce(client, "payments", "last")
	got := map[string]bool{}
	for _, v := range c.consume("payments", c.end("payments")) {
		got[v] = true
	}
	for _, v := range values {
		if !got[v] {
			t.Errorf("%s was acknowledged and is lost", v)
		}
	}
}
