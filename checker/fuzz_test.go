package checker

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"tidemark/history"
)

// garbage reads values from bytes; with none left everything is zero.
type garbage struct{ data []byte }

func (g *garbage) byte() byte {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return b
}

// number is small as a rule, and now and then hostile.
func (g *garbage) number() int64 {
	switch b := g.byte(); {
	case b < 200:
		return int64(b % 40)
	case b < 210:
		return -int64(b)
	case b < 220:
		return math.MaxInt64 - int64(b%3)
	case b < 230:
		return math.MinInt64 + int64(b%3)
	case b < 240:
		return 1 << 62
	default:
		return int64(g.byte()) << 20
	}
}

func (g *garbage) value() string { return string([]byte{'v', 'a' + g.byte()%16}) }

func (g *garbage) partition() history.Partition {
	b := g.byte()
	return history.Partition{Topic: string([]byte{'t', 'a' + b%2}), Index: int32(b%5) - 1}
}

func (g *garbage) brokers() []history.BrokerID {
	ids := make([]history.BrokerID, g.byte()%4)
	for i := range ids {
		ids[i] = history.BrokerID(g.number())
	}
	return ids
}

// history decodes bytes as a history with anything anywhere.
func (g *garbage) history() *history.History {
	h := &history.History{}
	for len(g.data) > 0 {
		switch g.byte() % 8 {
		case 0, 1, 2:
			op := history.Op{ID: g.number(), Process: int32(g.number()), Kind: history.OpKind(g.byte() % 4), Outcome: history.Outcome(g.byte() % 5),
				Acks: int16(g.byte()%4) - 1, Final: g.byte()%4 == 0, Broker: history.BrokerID(g.number()), Epoch: history.Epoch(g.number()),
				Partition: g.partition(), Invoke: time.Duration(g.number()), Return: time.Duration(g.number()), InvokeIndex: g.number(),
				ReturnIndex: g.number(), Value: g.value(), Offset: history.Offset(g.number()), Position: history.Offset(g.number()),
				HW: history.Offset(g.number()), LogStart: history.Offset(g.number())}
			for range g.byte() % 6 {
				op.Records = append(op.Records, history.Record{Offset: history.Offset(g.number()), Value: g.value()})
			}
			h.Ops = append(h.Ops, op)
		case 3:
			kinds := []history.StepKind{history.StepElection, history.StepFollow, history.StepISR, history.StepHW, history.StepAppend,
				history.StepTruncate, history.StepStart, history.StepDown, history.StepRecovery, "?"}
			h.Steps = append(h.Steps, history.Step{Index: g.number(), Time: time.Duration(g.number()), Kind: kinds[int(g.byte())%len(kinds)],
				Broker: history.BrokerID(g.number()), Partition: g.partition(), Epoch: history.Epoch(g.number()), Peer: history.BrokerID(g.number()),
				From: history.Offset(g.number()), To: history.Offset(g.number()), ISR: g.brokers()})
		case 4:
			d := history.Dump{Broker: history.BrokerID(g.number()), Partition: g.partition(), LEO: history.Offset(g.number()),
				HW: history.Offset(g.number()), Start: history.Offset(g.number())}
			for range g.byte() % 8 {
				d.Records = append(d.Records, history.DumpRecord{Offset: history.Offset(g.number()), Value: g.value()})
			}
			if g.byte()%5 == 0 {
				d.Err = "unreadable"
			}
			h.Dumps = append(h.Dumps, d)
		case 5:
			h.Marks = append(h.Marks, history.Mark{Name: []string{"settle", "final", "?"}[g.byte()%3], Failed: g.byte()%2 == 0})
		case 6:
			phases := []history.FaultPhase{history.FaultRequested, history.FaultApplied, history.FaultObserved, "?"}
			h.Faults = append(h.Faults, history.FaultEvent{Index: g.number(), Fault: int(g.number()), Phase: phases[g.byte()%4], Kind: g.value()})
		default:
			h.States = append(h.States, history.ClusterState{Index: g.number(), Partitions: []history.PartitionState{
				{Partition: g.partition(), Leader: history.BrokerID(g.number()), ISR: g.brokers()}}})
		}
	}
	return h
}

// FuzzCheck checks that no history, however absurd, makes the checker panic, hang or take memory by the size of its offsets, and that the
// verdict repeats.
func FuzzCheck(f *testing.F) {
	f.Add([]byte{}, byte(0))
	f.Add([]byte("a line of text is as good as any other history, and long enough to have a few operations of every kind"), byte(3))
	for seed := range byte(8) {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte((i + 3) * (i + int(seed)*7 + 1) * 2654435 >> 5)
		}
		f.Add(data, seed)
	}
	f.Fuzz(checkGarbage)
}

// TestGarbageHistories checks a few hundred long histories of garbage.
func TestGarbageHistories(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		data := make([]byte, 10+20*n)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		checkGarbage(t, data, byte(n))
	}
}

func checkGarbage(t *testing.T, data []byte, options byte) {
	run := testRun(1)
	run.Beyond, run.Unclean = options&1 != 0, options&2 != 0
	if options&4 != 0 {
		run.Config = map[string]string{"retention.ms": "1000"}
	}
	run.Acks = int16(options>>3%3) - 1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h := (&garbage{data}).history()
	v := Check(run, h, Options{PorcupineSteps: 10_000})
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<20+uint64(len(data))*4096 {
		t.Fatalf("%d bytes of memory for %d bytes of history", spent, len(data))
	}
	if err := v.Credible(run); err != nil {
		t.Fatalf("%v: expected a verdict that is believed, %+v", err, v)
	}
	again := Check(run, (&garbage{data}).history(), Options{PorcupineSteps: 10_000})
	if again.Status != v.Status || again.Reason != v.Reason || len(again.Findings) != len(v.Findings) {
		t.Fatalf("%s (%s), then %s (%s)", v.Status, v.Reason, again.Status, again.Reason)
	}
	for i := range v.Findings {
		if v.Findings[i].Text == "" || v.Findings[i].Text != again.Findings[i].Text || v.Findings[i].Count < 1 {
			t.Fatalf("finding %d, %+v: %q, then %q", i, v.Findings[i], v.Findings[i].Text, again.Findings[i].Text)
		}
	}
}
