package linear

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/history"
)

var orders = history.Partition{Topic: "orders"}

// tale is a history of one partition, told operation by operation.
type tale struct{ h history.History }

func (s *tale) op(op history.Op) *tale {
	op.ID, op.Partition, op.Acks = int64(len(s.h.Ops)), orders, -1
	s.h.Ops = append(s.h.Ops, op)
	return s
}

func (s *tale) acked(value string, offset history.Offset, call, ret int64) *tale {
	return s.op(history.Op{Kind: history.Send, Outcome: history.OK, Value: value, Offset: offset, InvokeIndex: call, ReturnIndex: ret})
}

func (s *tale) unknown(value string, call int64) *tale {
	return s.op(history.Op{Kind: history.Send, Outcome: history.Info, Value: value, Offset: -1, InvokeIndex: call, ReturnIndex: call + 1})
}

func (s *tale) failed(value string, call int64) *tale {
	return s.op(history.Op{Kind: history.Send, Outcome: history.Fail, Value: value, Offset: -1, InvokeIndex: call, ReturnIndex: call + 1})
}

// answer is a poll from the first of the offsets that values, as "a@0 b@1", name.
func answer(values string) history.Op {
	op := history.Op{Kind: history.Poll, Outcome: history.OK, HW: -1, LogStart: -1}
	for i, v := range strings.Fields(values) {
		var r history.Record
		name, at, _ := strings.Cut(v, "@")
		if _, err := fmt.Sscan(at, &r.Offset); err != nil {
			panic(err)
		}
		r.Value = name
		op.Records = append(op.Records, r)
		if i == 0 {
			op.Position = r.Offset
		}
	}
	return op
}

func (s *tale) read(values string, call, ret int64) *tale {
	op := answer(values)
	op.InvokeIndex, op.ReturnIndex = call, ret
	return s.op(op)
}

// end is the final read of a log at rest, from offset 0 to its end.
func (s *tale) end(values string, call, ret int64) *tale {
	s.h.Marks = append(s.h.Marks, history.Mark{Index: call - 2, Name: "settle"}, history.Mark{Index: call - 1, Name: "final"})
	op := answer(values)
	op.InvokeIndex, op.ReturnIndex, op.Final, op.Position, op.HW = call, ret, true, 0, history.Offset(len(op.Records))
	return s.op(op)
}

// TestTales tells what a log may do, and what not.
func TestTales(t *testing.T) {
	durable := Question{Durable: true, Dense: true}
	lossy := Question{Dense: true}
	begin := func() *tale { return new(tale).acked("a", 0, 1, 2) }
	for _, tt := range []struct {
		name    string
		q       Question
		tale    *tale
		objects bool
	}{
		{"a write is read", durable, begin().read("a@0", 3, 4), false},
		{"an old state is read", durable, begin().acked("b", 1, 3, 4).read("a@0", 5, 6), false},
		{"an offset is left out", durable, begin().acked("b", 2, 3, 4).read("a@0 b@2", 5, 6), false},
		{"it is read before its acknowledgement", durable, new(tale).acked("a", 0, 1, 4).read("a@0", 2, 3), false},
		{"it is read before it was sent", durable, new(tale).acked("a", 0, 3, 4).read("a@0", 1, 2), true},
		{"nobody sent it", durable, begin().read("x@0", 3, 4), true},
		{"a failed write is read", durable, begin().failed("b", 3).read("b@1", 5, 6), true},
		{"two that overlap change places", durable, new(tale).acked("b", 1, 1, 3).acked("a", 0, 2, 4), false},
		{"a later one stands first", durable, new(tale).acked("b", 1, 1, 2).acked("a", 0, 3, 4), true},
		{"two stand at one offset", durable, begin().acked("b", 0, 3, 4), true},
		{"an acknowledged one is missing at the end", durable, begin().acked("b", 1, 3, 4).end("a@0", 9, 10), true},
		{"it is missing in the middle", durable, begin().acked("b", 1, 3, 4).acked("c", 2, 5, 6).end("a@0 c@2", 9, 10), true},
		{"it may go", lossy, begin().acked("b", 1, 3, 4).end("a@0", 9, 10), false},
		{"it may go, but not when it was read", lossy, begin().acked("b", 1, 3, 4).read("b@1", 5, 6).end("a@0", 9, 10), true},
		{"it may go, and another may come", lossy, begin().acked("b", 1, 3, 4).acked("c", 1, 5, 6).end("a@0 c@1", 9, 10), false},
		{"it is elsewhere than acknowledged", lossy, begin().acked("b", 1, 3, 4).end("a@0 b@5", 9, 10), true},
		{"an unknown one is never seen", durable, begin().unknown("b", 3).end("a@0", 9, 10), false},
		{"an unknown one is seen late", durable, begin().unknown("b", 3).acked("c", 1, 5, 6).end("a@0 c@1 b@2", 9, 10), false},
		{"it stands before one that was acknowledged when it was sent", durable, begin().acked("c", 2, 3, 4).unknown("b", 5).end("a@0 b@1 c@2", 9, 10), true},
		{"it is seen and gone", durable, begin().unknown("b", 3).read("b@1", 5, 6).end("a@0", 9, 10), true},
		{"it stands twice", durable, begin().unknown("b", 3).end("a@0 b@1 b@2", 9, 10), true},
		{"it was sent twice", durable, begin().unknown("b", 3).unknown("b", 5).end("a@0 b@1 b@2", 9, 10), false},
		{"it was sent twice and stands three times", durable, begin().unknown("b", 3).unknown("b", 5).end("a@0 b@1 b@2 b@3", 9, 10), true},
		{"a retry repeats it", Question{Durable: true, Dense: true, Repeats: func(op *history.Op) bool { return op.Value == "b" }},
			begin().acked("b", 2, 3, 4).end("a@0 b@1 b@2 b@3", 9, 10), false},
		{"a retry repeats another", Question{Durable: true, Dense: true, Repeats: func(op *history.Op) bool { return op.Value == "b" }},
			begin().acked("b", 1, 3, 4).end("a@0 b@1 a@2", 9, 10), true},
		{"an acknowledgement names no offset", durable, begin().acked("b", -1, 3, 4).acked("c", 2, 5, 6).end("a@0 b@1 c@2", 9, 10), false},
		{"one without an offset stands behind a later one", durable, begin().acked("b", -1, 3, 4).acked("c", 1, 5, 6).end("a@0 c@1 b@2", 9, 10), true},
		{"an answer skips", durable, begin().acked("b", 1, 3, 4).acked("c", 2, 5, 6).read("a@0 c@2", 7, 8), true},
		{"an answer skips what brokers may have removed", Question{Durable: true}, begin().acked("b", 1, 3, 4).acked("c", 2, 5, 6).read("a@0 c@2", 7, 8), false},
		{"an answer goes back", durable, begin().acked("b", 1, 3, 4).read("b@1 a@0", 7, 8), true},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "-"), func(t *testing.T) {
			for least := range 3 { // however it is cut
				a := judge(&tt.tale.h, tt.q, Budget{Steps: 10_000}, sizes{least + 1, least + 2})
				if len(a.Objects) > 0 != tt.objects || a.Unjudged > 0 {
					t.Errorf("cut after %d operations: %+v, expected an objection: %v", least+1, a, tt.objects)
				}
			}
		})
	}
}

// TestWindowsLoseNothing compares a history that is cut wherever it can be with the same in one window. Clients overlap at random, appends take
// places near each other at random, and answers show what they like: where there is an order, and where there is none, both must say so.
func TestWindowsLoseNothing(t *testing.T) {
	orders, none := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := anything(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5)))
		q := Question{Durable: rapid.Bool().Draw(t, "durable"), Dense: rapid.Bool().Draw(t, "dense")}
		whole := judge(h, q, Budget{Steps: 1 << 20}, sizes{1 << 20, 1 << 20})
		cut := judge(h, q, Budget{Steps: 1 << 20}, sizes{rapid.IntRange(1, 3).Draw(t, "least"), rapid.IntRange(1, 5).Draw(t, "most")})
		if len(whole.Objects) != len(cut.Objects) || whole.Unjudged+cut.Unjudged > 0 {
			t.Fatalf("in one window %+v, in %d windows %+v: %+v", whole.Objects, cut.Windows, cut.Objects, h.Ops)
		}
		if len(whole.Objects) == 0 {
			orders++
		} else {
			none++
		}
	})
	if orders < 20 || none < 20 {
		t.Errorf("%d histories with an order and %d without: the draw has gone stale", orders, none)
	}
}

// anything is a history of a dozen operations by three clients that need not be right: appends to a log that mostly behaves, and answers of it.
func anything(rng *rand.Rand) *history.History {
	s := &tale{}
	var log []history.Record
	index := int64(0)
	type under struct {
		op   history.Op
		busy bool
	}
	var clients [3]under
	for range 30 {
		index++
		c := &clients[rng.IntN(len(clients))]
		switch {
		case !c.busy && rng.IntN(2) == 0:
			*c = under{history.Op{Kind: history.Send, Value: fmt.Sprint("v", index), InvokeIndex: index}, true}
		case !c.busy:
			*c = under{history.Op{Kind: history.Poll, InvokeIndex: index, HW: -1, LogStart: -1}, true}
		case c.op.Kind == history.Send:
			c.op.Offset = history.Offset(len(log) + rng.IntN(8)/7)
			if rng.IntN(20) == 0 {
				c.op.Offset = max(0, c.op.Offset-2)
			}
			if n := len(log); n == 0 || log[n-1].Offset < c.op.Offset {
				log = append(log, history.Record{Offset: c.op.Offset, Value: c.op.Value})
			}
			if c.op.Outcome = history.OK; rng.IntN(3) == 0 {
				c.op.Outcome, c.op.Offset = history.Info, -1
			}
			c.op.ReturnIndex, c.busy = index, false
			s.op(c.op)
		default:
			from := rng.IntN(len(log) + 1)
			for _, r := range log[from:] {
				if rng.IntN(25) > 0 {
					c.op.Records = append(c.op.Records, r)
				}
			}
			if from < len(log) {
				c.op.Position = log[from].Offset
			}
			if rng.IntN(3) == 0 { // says where the log ends, or may: others go on
				c.op.Final, c.op.HW = true, history.Offset(rng.IntN(len(log)+2))
			}
			c.op.Outcome, c.op.ReturnIndex, c.busy = history.OK, index, false
			s.op(c.op)
		}
	}
	s.h.Marks = []history.Mark{{Name: "settle"}, {Name: "final"}}
	return &s.h
}

// TestBusyForHours cuts a partition on which something is always under way, and finds two writes that are far apart in the wrong order.
func TestBusyForHours(t *testing.T) {
	const n = 5000
	for _, swapped := range []bool{false, true} {
		s := &tale{}
		for i := range int64(n) {
			s.acked(fmt.Sprint("v", i), history.Offset(i), 2*i, 2*i+5)
		}
		if swapped {
			s.h.Ops[5].Offset, s.h.Ops[n-5].Offset = s.h.Ops[n-5].Offset, s.h.Ops[5].Offset
		}
		a := Judge(&s.h, Question{Durable: true, Dense: true}, Budget{Steps: 1_000_000})
		if len(a.Objects) > 0 != swapped || a.Windows < n/usual.most || a.Unjudged > 0 {
			t.Errorf("swapped %v: %+v", swapped, a)
		}
	}
}

// TestBudget checks that windows without an answer are counted and told, never passed.
func TestBudget(t *testing.T) {
	s := &tale{}
	for i := range int64(1000) {
		s.acked(fmt.Sprint("v", i), history.Offset(i), 2*i, 2*i+1)
	}
	a := Judge(&s.h, Question{Durable: true}, Budget{Steps: 1500})
	if a.Unjudged == 0 || a.Unjudged >= a.Windows || len(a.Objects) > 0 || len(a.Unknown) != 1 || a.Unknown[0].Offset < 100 {
		t.Errorf("%+v", a)
	}
	if a := Judge(&s.h, Question{Durable: true}, Budget{Steps: 1 << 40, Window: 1}); a.Unjudged == 0 || len(a.Objects) > 0 {
		t.Errorf("within a nanosecond: %+v", a)
	}
}

// TestManyUnknown judges two hundred unknown writes that stand in the log in the opposite order of their sending, as only the final read shows,
// and the same with one that is missing: no answer takes more than a few steps for each.
func TestManyUnknown(t *testing.T) {
	const n = 200
	for _, missing := range []bool{false, true} {
		s := &tale{}
		values := ""
		for i := range int64(n) {
			s.unknown(fmt.Sprint("v", i), 2*i)
			values += fmt.Sprintf("v%d@%d ", n-1-i, i)
		}
		if missing {
			s.acked("gone", n, 2*n, 2*n+1)
		}
		s.end(values, 3*n, 3*n+1)
		if a := Judge(&s.h, Question{Durable: true, Dense: true}, Budget{Steps: 200_000}); len(a.Objects) > 0 != missing || a.Unjudged > 0 {
			t.Errorf("missing %v: %+v", missing, a)
		}
	}
}

// TestPicture draws a window: the operations are told, with what went on, and no value is taken for the page's own.
func TestPicture(t *testing.T) {
	s := new(tale).acked("<img/>", 0, 1, 2).acked("b", 1, 4, 7).read("<img/>@0 c@1", 8, 9).acked(strings.Repeat("long", 100), 2, 10, 11)
	for phase, index := range map[history.FaultPhase]int64{history.FaultApplied: 3, history.FaultUndone: 5} {
		s.h.Faults = append(s.h.Faults, history.FaultEvent{Index: index, Phase: phase, Line: "at 2s kill broker 1"})
	}
	s.h.Steps = append(s.h.Steps, history.Step{Index: 6, Kind: history.StepElection, Broker: 2, Epoch: 7, Partition: orders})
	q := Question{Durable: true, Dense: true}
	a := Judge(&s.h, q, Budget{Steps: 1000})
	if len(a.Objects) != 1 {
		t.Fatalf("%+v", a)
	}
	var b strings.Builder
	if err := Draw(&b, &s.h, q, a.Objects[0]); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"append b at 1", "read from 0: ‹img/› at 0, c at 1", "at 2s kill broker 1", "broker 2 leads in epoch 7", "the log ends at 2"} {
		if !strings.Contains(page, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if strings.Contains(page, "<img/>") || strings.Contains(page, strings.Repeat("long", 10)) {
		t.Error("a value is in the page as it was")
	}
	a.Objects[0].Count = drawnOps + 1
	if err := Draw(&b, &s.h, q, a.Objects[0]); err == nil {
		t.Error("a window of hundreds of operations was drawn")
	}
}

// TestWhereItStops checks that an objection names the answer that no order explains, behind forty operations that have one.
func TestWhereItStops(t *testing.T) {
	s := new(tale)
	for i := range int64(40) {
		s.acked(fmt.Sprint("v", i), history.Offset(i), 2*i+1, 2*i+2)
	}
	s.read("v0@0 v2@2", 91, 92).read("v0@0 v1@1", 93, 94)
	got := Judge(&s.h, Question{Durable: true, Dense: true}, Budget{Steps: 100_000})
	if len(got.Objects) != 1 || len(got.Objects[0].Ops) == 0 || got.Objects[0].Ops[0] != 40 {
		t.Fatalf("%+v, expected an objection that begins with operation 40", got.Objects)
	}
}
