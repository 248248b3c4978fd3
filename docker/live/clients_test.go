package live_test

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRealClients lets franz-go, and kcat where it is installed, list, produce and consume by way of a port that is published on
// 127.0.0.1.
func TestRealClients(t *testing.T) {
	c := start(t)
	seed := c.Published(1)
	if !strings.HasPrefix(seed, "127.0.0.1:") {
		t.Fatalf("broker 1 is published at %q, expected 127.0.0.1", seed)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(seed), kgo.DefaultProduceTopic("orders"), kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableIdempotentWrite())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var sent, got []string
	for i := range 50 {
		v := "value-" + strconv.Itoa(i)
		if err := client.ProduceSync(t.Context(), kgo.StringRecord(v)).FirstErr(); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, v)
	}
	c.eventually("everything consumed", func() bool {
		client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		return len(got) >= len(sent)
	})
	if !slices.Equal(got, sent) {
		t.Errorf("consumed %q, sent %q", got, sent)
	}
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Log("kcat is not installed")
		return
	}
	text, err := exec.Command("kcat", "-b", seed, "-C", "-t", "orders", "-o", "beginning", "-e", "-q").Output()
	if err != nil || strings.Join(strings.Fields(string(text)), " ") != strings.Join(sent, " ") {
		t.Errorf("kcat consumed %q, %v", text, err)
	}
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

func itoa(n int) string { return strconv.Itoa(n) }
