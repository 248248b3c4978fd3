package live_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/docker"
	"tidemark/docker/kafkadisk/kafkadisktest"
	"tidemark/harness"
	"tidemark/history"
)

// theirs is what brokers' own files and Kafka's own tools tell at a run's end, while its containers still run.
type theirs struct {
	logs      map[history.BrokerID]map[history.Partition][]history.DumpRecord // by DumpLogSegments
	hw        map[history.BrokerID]map[history.Partition]history.Offset       // as replication-offset-checkpoint has it
	described string                                                          // by kafka-topics
	latest    string                                                          // by kafka-get-offsets
	earliest  string
}

// watched returns what a run is told to do, and what its brokers say for themselves once it has read their logs.
func watched(t *testing.T, e *docker.Engine, r history.Run) (harness.Look, *theirs) {
	t.Helper()
	told := &theirs{logs: map[history.BrokerID]map[history.Partition][]history.DumpRecord{}, hw: map[history.BrokerID]map[history.Partition]history.Offset{}}
	look := harness.Look{Binary: tool(t), Say: func(line string) { t.Log(line) }}
	look.Progress = func(p harness.Progress) {
		if p.Phase == harness.PhaseRemove {
			told.listen(t, e, r)
		}
	}
	return look, told
}

// listen asks every broker's container.
func (o *theirs) listen(t *testing.T, e *docker.Engine, r history.Run) {
	t.Helper()
	own, err := e.Own(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	for _, b := range harness.BrokerIDs(r) {
		i := slices.IndexFunc(own, func(what string) bool {
			return strings.HasPrefix(what, "container ") && strings.HasSuffix(what, fmt.Sprintf("-%d", b))
		})
		if i < 0 {
			t.Errorf("of broker %d there is no container among %q", b, own)
			return
		}
		container := strings.TrimPrefix(own[i], "container ")
		files := fmt.Sprintf("$(ls /data/%s-*/*.log | tr '\\n' ',')", r.Topic)
		if o.logs[b], err = kafkadisktest.Parse(kafkaTool(t, container, "kafka.tools.DumpLogSegments --print-data-log --files "+files)); err != nil {
			t.Error(err)
			return
		}
		// It is written once a second, and nothing changes any more.
		for deadline := time.Now().Add(15 * time.Second); !o.checkpointed(t, container, b); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("broker %d: the checkpoint of high watermarks is not at the logs' ends after 15s: %v", b, o.hw[b])
				return
			}
		}
		if o.described != "" {
			continue
		}
		ask := func(class, more string) string {
			return kafkaTool(t, container, fmt.Sprintf("org.apache.kafka.tools.%s --bootstrap-server localhost:9092 --topic %s %s", class, r.Topic, more))
		}
		o.described, o.latest, o.earliest = ask("TopicCommand", "--describe"), ask("GetOffsetShell", "--time latest"), ask("GetOffsetShell", "--time earliest")
	}
}

// checkpointed reads a broker's checkpoint, and reports whether it has every log's end, as the tool told them.
func (o *theirs) checkpointed(t *testing.T, container string, b history.BrokerID) bool {
	t.Helper()
	o.hw[b] = map[history.Partition]history.Offset{}
	for line := range strings.Lines(dockerSays(t, "exec", container, "cat", "/data/replication-offset-checkpoint")) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // the version, and how many lines follow
		}
		index, err := strconv.Atoi(words[1])
		hw, err2 := strconv.ParseInt(words[2], 10, 64)
		if err != nil || err2 != nil {
			t.Errorf("a line of the checkpoint is %q, expected a partition and an offset", line)
		}
		o.hw[b][history.Partition{Topic: words[0], Index: int32(index)}] = history.Offset(hw)
	}
	for p, records := range o.logs[b] {
		if o.hw[b][p] != records[len(records)-1].Offset+1 {
			return false
		}
	}
	return true
}

// agree compares what the observer held last, and what the dumps have, of every partition and replica with what the brokers say for themselves.
func (o *theirs) agree(t *testing.T, r history.Run, h *history.History) {
	t.Helper()
	if len(h.States) == 0 || len(o.logs) != r.Brokers || o.described == "" {
		t.Fatalf("%d looks, logs of %d brokers, description %q: expected some, all, and one", len(h.States), len(o.logs), o.described)
	}
	seen := slices.MaxFunc(h.States, func(a, b history.ClusterState) int { return cmp.Compare(a.Time, b.Time) })
	compared := 0
	for i := range seen.Partitions {
		p := &seen.Partitions[i]
		line := regexp.MustCompile(fmt.Sprintf(`Partition: %d\s+Leader: (\d+)\s+Replicas: (\S+)\s+Isr: (\S+)`, p.Partition.Index)).FindStringSubmatch(o.described)
		if line == nil || line[1] != strconv.Itoa(int(p.Leader)) || sorted(line[2]) != sortedIDs(replicaIDs(p)) || sorted(line[3]) != sortedIDs(p.ISR) {
			t.Errorf("%v: observed leader %d, replicas %v, ISR %v, and kafka-topics says %q of:\n%s", p.Partition, p.Leader, replicaIDs(p), p.ISR, line, o.described)
		}
		leader := replicaOf(seen, p.Partition, p.Leader)
		for what, want := range map[string]struct {
			offset history.Offset
			told   string
		}{"latest": {leader.HW, o.latest}, "earliest": {leader.Start, o.earliest}} {
			if line := fmt.Sprintf("%s:%d:%d\n", p.Partition.Topic, p.Partition.Index, want.offset); !strings.Contains(want.told, line) {
				t.Errorf("%v: observed the %s offset %d, and kafka-get-offsets says:\n%s", p.Partition, what, want.offset, want.told)
			}
		}
		for _, s := range p.Replicas {
			compared++
			records := o.logs[s.Broker][p.Partition]
			if len(records) == 0 {
				t.Errorf("broker %d, %v: no record, expected at least the marker of the end", s.Broker, p.Partition)
				continue
			}
			end := records[len(records)-1]
			if !s.Up || s.LEO != end.Offset+1 || s.HW != o.hw[s.Broker][p.Partition] || s.Leads != (s.Broker == p.Leader) {
				t.Errorf("broker %d, %v: observed %+v of the leader %d; its log ends behind %d, its checkpoint says %d", s.Broker, p.Partition, s, p.Leader, end.Offset, o.hw[s.Broker][p.Partition])
			}
			if s.Epoch != end.Epoch || p.Epoch != end.Epoch {
				t.Errorf("broker %d, %v: observed in epoch %d, of the partition's %d; its last record is of epoch %d", s.Broker, p.Partition, s.Epoch, p.Epoch, end.Epoch)
			}
			d := slices.IndexFunc(h.Dumps, func(d history.Dump) bool { return d.Broker == s.Broker && d.Partition == p.Partition })
			switch {
			case d < 0 || h.Dumps[d].Err != "":
				t.Errorf("broker %d, %v: no dump", s.Broker, p.Partition)
			case !slices.Equal(h.Dumps[d].Records, records) || h.Dumps[d].LEO != s.LEO || h.Dumps[d].Start != s.Start:
				t.Errorf("broker %d, %v: the dump has %d records from %d to %d, DumpLogSegments %d, the observer %+v", s.Broker, p.Partition, len(h.Dumps[d].Records), h.Dumps[d].Start, h.Dumps[d].LEO, len(records), s)
			}
		}
	}
	if compared != r.Parts*r.Factor {
		t.Errorf("compared %d replicas, expected %d", compared, r.Parts*r.Factor)
	}
}
