package franz

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/history"
	"tidemark/workloads"
)

// polled is what a consumer of one partition takes down of what kgo gives it.
func polled(t *testing.T, fetches ...kgo.FetchPartition) []history.Op {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	record := history.NewRecorder(func() time.Duration { return 0 }, nil)
	seat := &workloads.Seat{Append: &workloads.Append{Record: record, Topic: "orders", Parts: 1}}
	k := &consumer{seat: seat, client: client, processes: []int32{7}, positions: make([]history.Offset, 1), pending: []int64{-1}}
	for i := range fetches {
		k.take(0, &fetches[i])
	}
	return record.History().Ops
}

func fetch(hw int64, err error, offsets ...int64) kgo.FetchPartition {
	f := kgo.FetchPartition{HighWatermark: hw, Err: err}
	for _, o := range offsets {
		f.Records = append(f.Records, &kgo.Record{Offset: o, Value: fmt.Appendf(nil, "v%d", o)})
	}
	return f
}

// tell writes operations as a person would.
func tell(ops []history.Op) string {
	var lines []string
	for _, op := range ops {
		line := fmt.Sprintf("%s from %d", [...]string{"send", "poll", "seek"}[op.Kind], op.Position)
		line += [...]string{" pending", "", " failed", " unknown"}[op.Outcome]
		for _, r := range op.Records {
			line += fmt.Sprintf(" %d=%s", r.Offset, r.Value)
		}
		if op.Error != "" {
			line += " (" + op.Error + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestAConsumerFollowsItsClient: the position goes on from record to record; where kgo goes back by itself that is a seek, and what it leaves
// out shows against the position.
func TestAConsumerFollowsItsClient(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fetches []kgo.FetchPartition
		want    string
	}{
		{"on and on", []kgo.FetchPartition{fetch(2, nil, 0, 1), fetch(2, nil), fetch(4, nil, 2, 3)},
			"poll from 0 0=v0 1=v1\npoll from 2\npoll from 2 2=v2 3=v3"},
		{"going back", []kgo.FetchPartition{fetch(3, nil, 0, 1, 2), fetch(2, nil, 1, 2)},
			"poll from 0 0=v0 1=v1 2=v2\npoll from 3\nseek from 1\npoll from 1 1=v1 2=v2"},
		{"leaving out", []kgo.FetchPartition{fetch(9, nil, 0), fetch(9, nil, 4)},
			"poll from 0 0=v0\npoll from 1 4=v4"},
		{"an error", []kgo.FetchPartition{fetch(9, nil, 0), fetch(-1, errors.New("lost records")), fetch(9, nil, 1)},
			"poll from 0 0=v0\npoll from 1 failed (lost records)\npoll from 1 1=v1"},
		{"an error behind records", []kgo.FetchPartition{fetch(9, errors.New("bad batch"), 0), fetch(9, nil, 1)},
			"poll from 0 0=v0 (bad batch)\npoll from 1 1=v1"},
	} {
		if got := tell(polled(t, tt.fetches...)); got != tt.want {
			t.Errorf("%s:\n%s\nexpected:\n%s", tt.name, got, tt.want)
		}
	}
}
