package server

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestDeleteRecords has franz-go delete the first records of a partition on three brokers: it and kcat then read the others alone, from the log
// start offset on, also after each broker was killed.
func TestDeleteRecords(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	c.create("orders", 1, 3, "2")
	client := c.client(kgo.ProducerBatchMaxBytes(1 << 10))
	sent := numbered("record", 100)
	c.produce(client, "orders", sent...)
	admin := kadm.NewClient(c.client())
	asked := kadm.Offsets{}
	asked.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 42})
	answer, err := admin.DeleteRecords(c.within(), asked)
	if err != nil {
		t.Fatal(err)
	}
	if r := answer["orders"][0]; r.Err != nil || r.LowWatermark != 42 {
		t.Fatalf("answered with low watermark %d and error %v, expected 42 and none", r.LowWatermark, r.Err)
	}
	asked = kadm.Offsets{}
	asked.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 101})
	if answer, err = admin.DeleteRecords(c.within(), asked); err != nil {
		t.Fatal(err)
	}
	if r := answer["orders"][0]; r.Err == nil || !strings.Contains(r.Err.Error(), "OFFSET_OUT_OF_RANGE") {
		t.Fatalf("beyond the high watermark: %v, expected OFFSET_OUT_OF_RANGE", r.Err)
	}
	for i := range 3 {
		c.kill(i)
		c.restart(i)
		c.inSync("orders", 3)
	}
	starts, err := admin.ListStartOffsets(c.within(), "orders")
	if err != nil || starts["orders"][0].Offset != 42 {
		t.Errorf("the log starts at %d (%v), expected 42", starts["orders"][0].Offset, err)
	}
	if got := c.consume("orders", 58); len(got) != 58 || got[0] != sent[42] {
		t.Errorf("franz-go reads %d records from %q on, expected 58 from %q", len(got), got[:min(1, len(got))], sent[42])
	}
	all := strings.Join(c.addresses(), ",")
	if got := strings.Fields(kcat(t, "", "-b", all, "-C", "-t", "orders", "-o", "beginning", "-e", "-q")); len(got) != 58 || got[0] != sent[42] {
		t.Errorf("kcat reads %d records from %q on, expected 58 from %q", len(got), got[:min(1, len(got))], sent[42])
	}
	// A position that was deleted: librdkafka goes to where it is told to begin then.
	if got := strings.Fields(kcat(t, "", "-b", all, "-C", "-t", "orders", "-p", "0", "-o", "5", "-e", "-q", "-X", "auto.offset.reset=earliest")); len(got) != 58 {
		t.Errorf("from a deleted offset kcat reads %d records, expected 58", len(got))
	}
}
