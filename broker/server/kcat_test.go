package server

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestKcat lists, produces and consumes with kcat, and so with librdkafka, against one broker and against three.
func TestKcat(t *testing.T) {
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Fatal("kcat is missing, the client that this test is about: apt-get install kcat")
	}
	for name, brokers := range map[string]int{"one broker": 1, "three brokers": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, brokers)
			c.create("orders", 3, int16(brokers), "1")
			all := strings.Join(c.addresses(), ",")
			listed := kcat(t, "", "-b", all, "-L", "-t", "orders")
			for _, want := range []string{`topic "orders" with 3 partitions`, "(controller)", "partition 2, leader "} {
				if !strings.Contains(listed, want) {
					t.Errorf("the list lacks %q:\n%s", want, listed)
				}
			}
			kcat(t, "first\n", "-b", all, "-P", "-t", "orders", "-p", "0", "-X", "acks=all")
			sent := numbered("record", 200)
			kcat(t, strings.Join(sent, "\n")+"\n", "-b", all, "-P", "-t", "orders", "-X", "acks=all")
			compressed := numbered("compressed", 200)
			kcat(t, strings.Join(compressed, "\n")+"\n", "-b", all, "-P", "-t", "orders", "-X", "acks=all", "-z", "lz4")
			once := numbered("once", 200)
			kcat(t, strings.Join(once, "\n")+"\n", "-b", all, "-P", "-t", "orders", "-X", "enable.idempotence=true")
			got := strings.Fields(kcat(t, "", "-b", all, "-C", "-t", "orders", "-o", "beginning", "-e", "-q"))
			want := slices.Concat([]string{"first"}, sent, compressed, once)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("consumed %d records, sent %d:\n%q", len(got), len(want), got)
			}
			// The last record of a partition, by an offset that counts from its end.
			if last := strings.Fields(kcat(t, "", "-b", all, "-C", "-t", "orders", "-p", "0", "-o", "-1", "-e", "-q")); len(last) != 1 {
				t.Errorf("the last record of partition 0: %q", last)
			}
			if offset := kcat(t, "", "-b", all, "-Q", "-t", "orders:0:-2"); !strings.Contains(offset, "offset 0") {
				t.Errorf("the first offset of partition 0: %q", offset)
			}
		})
	}
}

func kcat(t *testing.T, input string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kcat", args...)
	cmd.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kcat %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// TestKcatNeedsNoTopic produces to topics that nobody created, each through another broker, so that the controller is asked over a link too,
// and from a broker that is no voter. It has num.partitions and default.replication.factor.
func TestKcatNeedsNoTopic(t *testing.T) {
	t.Parallel()
	c := startRoles(t, 1, 1, "num.partitions=3", "default.replication.factor=2")
	c.ready()
	for i, at := range c.addresses() {
		topic := []string{"orders", "payments"}[i]
		sent := numbered(topic, 50)
		kcat(t, strings.Join(sent, "\n")+"\n", "-b", at, "-P", "-t", topic)
		got := strings.Fields(kcat(t, "", "-b", at, "-C", "-t", topic, "-o", "beginning", "-e", "-q"))
		slices.Sort(got)
		if slices.Sort(sent); !slices.Equal(got, sent) {
			t.Errorf("consumed %d records of %s, sent %d:\n%q", len(got), topic, len(sent), got)
		}
		listed := kcat(t, "", "-b", at, "-L", "-t", topic)
		if !strings.Contains(listed, "with 3 partitions") || !strings.Contains(listed, "replicas: 1,2") {
			t.Errorf("%s has other than 3 partitions of 2 replicas:\n%s", topic, listed)
		}
	}
	client := c.client(kgo.AllowAutoTopicCreation())
	c.produce(client, "refunds", "a", "b")
	if got := c.consume("refunds", 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("consumed %q", got)
	}
}
