package history

import (
	"sync"
	"testing"
	"time"
)

func TestRecorderNumbersEntriesAndOperations(t *testing.T) {
	var clock time.Duration
	r := NewRecorder(func() time.Duration { clock += time.Millisecond; return clock }, nil)
	heard := 0
	r.OnEntry(func() { heard++; r.Counts() }) // a listener may ask the recorder

	orders := Partition{Topic: "orders"}
	a := r.Invoke(Op{Process: 0, Kind: Send, Value: "a", Partition: orders, Outcome: OK, Error: "left over"})
	b := r.Invoke(Op{Process: 1, Kind: Poll, Partition: orders})
	r.Step(Step{Kind: StepISR, Partition: orders})
	r.Complete(b, Op{Outcome: OK, HW: 1, LogStart: 0, Offset: UnknownOffset, Broker: 2, Records: []Record{{0, "a"}}})
	r.Complete(a, Op{Outcome: OK, Offset: 0, HW: -1, LogStart: -1, Broker: 1})
	c := r.Invoke(Op{Process: 0, Kind: Send, Value: "c", Partition: orders})
	r.Mark("end", false, "")

	h := r.History()
	if len(h.Ops) != 3 || a != 0 || b != 1 || c != 2 {
		t.Fatalf("%d operations with ids %d %d %d, expected 3: 0 1 2", len(h.Ops), a, b, c)
	}
	first := h.Ops[0]
	if first.InvokeIndex != 0 || first.ReturnIndex != 4 || first.Invoke != time.Millisecond || first.Return != 5*time.Millisecond || first.Outcome != OK ||
		first.Error != "" || first.Broker != 1 {
		t.Errorf("first operation is %+v, expected indexes 0 and 4, at 1 ms and 5 ms, OK by broker 1", first)
	}
	if p := h.Ops[2]; p.Outcome != Pending || p.ReturnIndex != -1 || p.Offset != UnknownOffset || p.HW != -1 || p.LogStart != -1 {
		t.Errorf("operation under way is %+v, expected Pending with nothing known", p)
	}
	if h.Steps[0].Index != 2 || h.Marks[0].Index != 6 {
		t.Errorf("step at %d, mark at %d, expected 2 and 6", h.Steps[0].Index, h.Marks[0].Index)
	}
	if heard != 7 {
		t.Errorf("listener was called %d times, expected 7", heard)
	}
	if n := r.Acked(orders); n != 1 || r.Acked(Partition{}) != 1 || r.Acked(Partition{Topic: "orders", Index: 1}) != 0 {
		t.Errorf("%d acknowledged on %s, expected 1 there, 1 in all, 0 elsewhere", n, orders)
	}
}

func TestRecorderRefusesASecondCompletion(t *testing.T) {
	r := NewRecorder(func() time.Duration { return 0 }, nil)
	id := r.Invoke(Op{})
	r.Complete(id, Op{Outcome: Fail})
	for _, bad := range []func(){
		func() { r.Complete(id, Op{Outcome: OK}) },
		func() { r.Complete(id+1, Op{Outcome: OK}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			bad()
		}()
	}
	r.Mark("after", false, "") // the lock is free again
}

func TestRecorderIsSafeForConcurrentUse(t *testing.T) {
	start := time.Now()
	r := NewRecorder(func() time.Duration { return time.Since(start) }, nil)
	var wg sync.WaitGroup
	for p := range int32(8) {
		wg.Go(func() {
			for range 200 {
				id := r.Invoke(Op{Process: p})
				r.Step(Step{Kind: StepHW})
				r.Complete(id, Op{Outcome: Info})
			}
		})
	}
	wg.Wait()
	h := r.History()
	if len(h.Ops) != 1600 || len(h.Steps) != 1600 || r.Counts()[Send][Info] != 1600 {
		t.Fatalf("%d operations, %d steps, %d unknown, expected 1600 each", len(h.Ops), len(h.Steps), r.Counts()[Send][Info])
	}
	for i, op := range h.Ops {
		if op.ID != int64(i) || op.Return < op.Invoke || op.ReturnIndex <= op.InvokeIndex {
			t.Fatalf("operation %d is %+v", i, op)
		}
	}
}

func BenchmarkRecorder(b *testing.B) {
	b.ReportAllocs()
	r := NewRecorder(func() time.Duration { return 0 }, nil)
	p := Partition{Topic: "orders"}
	for b.Loop() {
		id := r.Invoke(Op{Process: 1, Partition: p, Value: "p1-1"})
		r.Complete(id, Op{Outcome: OK})
		r.Step(Step{Kind: StepHW, Partition: p})
	}
}
