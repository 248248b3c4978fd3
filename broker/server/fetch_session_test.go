package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFranzGoKeepsFetchSessions consumes six partitions of one broker, of which one is busy and the others are not, in a fetch session. The
// session goes on through quiet and busy times; after the broker is started again there is another, and it ends with the client.
func TestFranzGoKeepsFetchSessions(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	c.create("orders", 6, 1, "1")
	producer := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	consumer := c.client(kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond))
	next := 0
	roundTrip := func(partition int32) {
		t.Helper()
		want := fmt.Sprintf("record-%d", next)
		next++
		if err := producer.ProduceSync(c.within(), &kgo.Record{Topic: "orders", Partition: partition, Value: []byte(want)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for ctx := c.within(); len(got) == 0 && ctx.Err() == nil; {
			consumer.PollFetches(ctx).EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		}
		if !slices.Equal(got, []string{want}) {
			t.Fatalf("consumed %q from partition %d, expected %q", got, partition, want)
		}
	}
	remembered := func(partitions int) func() bool {
		return func() bool {
			state, err := c.servers[0].State()
			return err == nil && state.Sessions.Partitions == partitions && (partitions == 0) == (state.Sessions.Sessions == 0)
		}
	}
	for partition := range int32(6) {
		roundTrip(partition)
	}
	c.eventually("the broker remembers what the consumer fetches", remembered(6))
	for range 20 {
		roundTrip(2)
	}
	time.Sleep(300 * time.Millisecond) // several fetches in which nothing changes
	roundTrip(5)
	roundTrip(0)

	c.kill(0)
	c.restart(0)
	c.ready()
	for partition := range int32(6) {
		roundTrip(partition)
	}
	c.eventually("the broker remembers it again", remembered(6))

	consumer.Close()
	c.eventually("the session has ended with its client", remembered(0))
}

// TestClientsBeyondTheSlots lets more consumers in than there are fetch sessions: those without one are served all the same.
func TestClientsBeyondTheSlots(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "max.incremental.fetch.session.cache.slots=1")
	c.create("orders", 3, 1, "1")
	sent := numbered("record", 30)
	c.produce(c.client(), "orders", sent...)
	slices.Sort(sent)
	for range 3 { // each client stays until the end of the test
		got := c.consume("orders", len(sent))
		if slices.Sort(got); !slices.Equal(got, sent) {
			t.Fatalf("consumed %q, sent %q", got, sent)
		}
	}
	if state, err := c.servers[0].State(); err != nil || state.Sessions.Sessions > 1 {
		t.Errorf("%d sessions (%v), expected at most the one that max.incremental.fetch.session.cache.slots allows", state.Sessions.Sessions, err)
	}
}

// TestLibrdkafkaBesideSessions consumes with kcat: librdkafka asks for no session (session epoch -1) and must get none, while followers keep theirs.
func TestLibrdkafkaBesideSessions(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	c.create("orders", 6, 3, "2")
	sessions := func() (sum int) {
		for _, s := range c.servers {
			state, err := s.State()
			if err != nil {
				t.Fatal(err)
			}
			sum += state.Sessions.Partitions
		}
		return sum
	}
	c.eventually("each partition is remembered for both of its followers", func() bool { return sessions() == 6*2 })
	sent := numbered("record", 100)
	all := strings.Join(c.addresses(), ",")
	for i, v := range sent {
		sent[i] = v + "-" + strconv.Itoa(i%7)
	}
	kcat(t, strings.Join(sent, "\n")+"\n", "-b", all, "-P", "-t", "orders", "-X", "acks=all")
	got := strings.Fields(kcat(t, "", "-b", all, "-C", "-t", "orders", "-o", "beginning", "-e", "-q"))
	slices.Sort(got)
	if slices.Sort(sent); !slices.Equal(got, sent) {
		t.Errorf("consumed %d records, sent %d:\n%q", len(got), len(sent), got)
	}
	c.eventually("nothing else is remembered", func() bool { return sessions() == 6*2 })
}
