package edn

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/history"
)

// TestWritten shows, in testdata/written.edn, what a history of one entry of each kind becomes. To write it anew set REWRITE.
func TestWritten(t *testing.T) {
	var clock time.Duration
	r := history.NewRecorder(func() time.Duration { clock += time.Microsecond; return clock }, nil)
	p := history.Partition{Topic: "orders", Index: 2}
	poll := func(process int32, from history.Offset, final bool, records ...history.Record) {
		id := r.Invoke(history.Op{Process: process, Kind: history.Poll, Partition: p, Position: from, Final: final, Epoch: 2})
		r.Complete(id, history.Op{Outcome: history.OK, Offset: history.UnknownOffset, HW: 9, LogStart: 0, Records: records, Broker: 1})
	}
	r.Mark("load", false, "")
	a := r.Invoke(history.Op{Process: 0, Kind: history.Send, Acks: -1, Partition: p, Value: "p0-0", Position: history.UnknownOffset, Epoch: 2})
	b := r.Invoke(history.Op{Process: 1, Kind: history.Send, Acks: 1, Partition: p, Value: "p1-0", Marker: true, Position: history.UnknownOffset, Epoch: -1})
	r.Complete(a, history.Op{Outcome: history.OK, Offset: 4, HW: -1, LogStart: -1, Broker: 1})
	fault := history.FaultEvent{Fault: 3, Phase: history.FaultRequested, Kind: "kill", Line: "at 1s kill broker 2"}
	r.Fault(fault)
	fault.Phase, fault.Detail = history.FaultObserved, `no answer from "2"`
	r.Fault(fault)
	r.Complete(b, history.Op{Outcome: history.Info, Offset: -1, HW: -1, LogStart: -1, Error: "REQUEST_TIMED_OUT", Broker: history.NoBroker})
	poll(5, 4, false, history.Record{Offset: 4, Value: "p0-0"})
	poll(5, 5, false, history.Record{Offset: 5, Value: "p1-0"}, history.Record{Offset: 6, Value: "from nowhere"})
	seek := r.Invoke(history.Op{Process: 5, Kind: history.Seek, Partition: p, Position: 9, Epoch: 2})
	r.Complete(seek, history.Op{Outcome: history.OK, Offset: history.UnknownOffset, HW: -1, LogStart: -1, Broker: 1, Epoch: 2})
	poll(5, 0, true)
	fault.Phase = history.FaultUndone
	r.Fault(fault)
	r.Invoke(history.Op{Process: 1, Kind: history.Send, Acks: -1, Partition: p, Value: "p1-1", Position: history.UnknownOffset, Broker: history.NoBroker, Epoch: -1})
	var out bytes.Buffer
	if err := Write(&out, history.Run{Format: 1, World: "sim", Topic: "orders", Acks: -1}, r.History()); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("REWRITE") != "" {
		if err := os.WriteFile("testdata/written.edn", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/written.edn")
	if err != nil || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%v, written:\n%s", err, out.Bytes())
	}
}

// TestWriteRefuses tells what cannot be written.
func TestWriteRefuses(t *testing.T) {
	for _, c := range []struct {
		says string
		op   history.Op
	}{
		{`on "/0", expected a topic`, history.Op{}},
		{`on "orders/-1", expected a topic and a partition from 0`, history.Op{Partition: history.Partition{Topic: "orders", Index: -1}}},
		{"of process -1", history.Op{Process: -1, Partition: history.Partition{Topic: "orders"}}},
		{"of process -1", history.Op{Kind: history.Seek, Process: -1, Partition: history.Partition{Topic: "orders"}}},
		{"a record at offset -1", history.Op{Kind: history.Poll, Outcome: history.OK, ReturnIndex: 1, Partition: history.Partition{Topic: "orders"}, Records: []history.Record{{Offset: -1}}}},
		{"expected its invocation before", history.Op{Outcome: history.OK, InvokeIndex: 2, ReturnIndex: 1, Partition: history.Partition{Topic: "orders"}}},
	} {
		err := Write(&bytes.Buffer{}, history.Run{Format: 1, Topic: "orders"}, &history.History{Ops: []history.Op{c.op}})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, expected %q", c.op, err, c.says)
		}
	}
}

// TestLongDump: a dump with more records than an entry takes comes back in one piece, and two of them apart.
func TestLongDump(t *testing.T) {
	h := &history.History{}
	for i, size := range []int{0, dumpRecords, dumpRecords + 1, 3 * dumpRecords} {
		d := history.Dump{Index: int64(i + 1), Broker: 1, Partition: history.Partition{Topic: "orders"}, LEO: history.Offset(size)}
		for o := range size {
			d.Records = append(d.Records, history.DumpRecord{Offset: history.Offset(o), Epoch: 1, Value: fmt.Sprint(o)})
		}
		h.Dumps = append(h.Dumps, d)
	}
	var out bytes.Buffer
	if err := Write(&out, history.Run{Format: 1, Topic: "orders"}, h); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 1+1+1+2+3 {
		t.Errorf("%d lines, expected 8", lines)
	}
	_, got, err := Read(&out)
	if err != nil || len(got.Dumps) != len(h.Dumps) {
		t.Fatalf("%d dumps, %v, expected %d", len(got.Dumps), err, len(h.Dumps))
	}
	for i := range h.Dumps {
		if !reflect.DeepEqual(got.Dumps[i].Records, h.Dumps[i].Records) {
			t.Errorf("dump %d has %d records, expected the same %d", i, len(got.Dumps[i].Records), len(h.Dumps[i].Records))
		}
	}
}

// parts are the partitions of a drawn history: two of the run's topic, and two incarnations of another one.
var parts = []history.Partition{{Topic: "orders"}, {Topic: "orders", Index: 1}, {Topic: "again@1"}, {Topic: "again@2"}}

// drawn is a history of any operations and faults on a few partitions, wherever its offsets lead.
func drawn(t *rapid.T) *history.History {
	var clock time.Duration
	r := history.NewRecorder(func() time.Duration { clock += time.Duration(rapid.IntRange(0, 1000).Draw(t, "dt")); return clock }, nil)
	under := map[int32]history.Op{}
	for range rapid.IntRange(0, 60).Draw(t, "entries") {
		process := rapid.Int32Range(0, 4).Draw(t, "process")
		op, busy := under[process]
		switch {
		case rapid.IntRange(0, 9).Draw(t, "what") == 0:
			r.Fault(history.FaultEvent{Fault: rapid.IntRange(0, 3).Draw(t, "fault"), Kind: rapid.SampledFrom([]string{"kill", "pause", "clock", "Ünder"}).Draw(t, "kind"),
				Phase: rapid.SampledFrom([]history.FaultPhase{history.FaultRequested, history.FaultApplied, history.FaultObserved, history.FaultUndone}).Draw(t, "phase"),
				Line:  rapid.String().Draw(t, "line"), Detail: rapid.String().Draw(t, "detail"), Targets: rapid.SampledFrom([][]history.BrokerID{nil, {2}, {1, 3}}).Draw(t, "targets")})
		case rapid.IntRange(0, 19).Draw(t, "seen") == 0:
			r.State(history.ClusterState{Controller: 2, Partitions: []history.PartitionState{{Partition: history.Partition{Topic: "orders"}, Leader: 1,
				Epoch: 4, ISR: []history.BrokerID{1, 2}, Replicas: []history.ReplicaState{{Broker: 1, Up: true, Leads: true, LEO: 5, HW: 3}}}}})
			r.Step(history.Step{Kind: rapid.SampledFrom([]history.StepKind{history.StepDown, history.StepISR, history.StepHW}).Draw(t, "step"), Broker: 1,
				From: 5, To: 3, Detail: rapid.String().Draw(t, "detail")})
		case rapid.IntRange(0, 19).Draw(t, "mark") == 0:
			r.Mark(rapid.SampledFrom([]string{"load", "settle"}).Draw(t, "mark"), rapid.Bool().Draw(t, "failed"), rapid.String().Draw(t, "detail"))
		case rapid.IntRange(0, 19).Draw(t, "dump") == 0:
			d := history.Dump{Broker: history.BrokerID(rapid.Int32Range(1, 3).Draw(t, "broker")), LEO: history.Offset(rapid.Int64Range(-1, 9).Draw(t, "leo")), HW: 3,
				Partition: rapid.SampledFrom(parts).Draw(t, "part"), Err: rapid.SampledFrom([]string{"", "no file"}).Draw(t, "err")}
			for i := range rapid.IntRange(0, 3).Draw(t, "records") {
				d.Records = append(d.Records, history.DumpRecord{Offset: history.Offset(i), Epoch: 2, Value: fmt.Sprint("p", i%7)})
			}
			r.Dump(d)
		case !busy && rapid.IntRange(0, 9).Draw(t, "seek") == 0:
			seek := history.Op{Process: process, Kind: history.Seek, Partition: history.Partition{Topic: "orders", Index: 1}, Broker: 2, Epoch: 3,
				Position: history.Offset(rapid.Int64Range(0, 9).Draw(t, "position"))}
			id := r.Invoke(seek)
			seek.Outcome, seek.Offset, seek.HW, seek.LogStart = history.OK, history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
			r.Complete(id, seek)
		case !busy:
			op = history.Op{Process: process, Kind: rapid.SampledFrom([]history.OpKind{history.Send, history.Poll, history.ListOffsets, history.DeleteRecords}).Draw(t, "kind"), Broker: history.NoBroker, Epoch: -1,
				Partition: rapid.SampledFrom(parts).Draw(t, "part"), Position: history.UnknownOffset,
				Final: rapid.Bool().Draw(t, "final")}
			if op.Kind == history.ListOffsets || op.Kind == history.DeleteRecords {
				op.Final, op.Position = false, history.Offset(rapid.Int64Range(-2, 9).Draw(t, "position"))
			} else if op.Kind == history.Send {
				op.Final, op.Acks, op.Marker = false, rapid.Int16Range(-1, 1).Draw(t, "acks"), rapid.Bool().Draw(t, "marker")
				op.Value = rapid.SampledFrom([]string{"p0-0", "p0-1", "7", "", "ü"}).Draw(t, "value")
			} else {
				op.Position = history.Offset(rapid.Int64Range(0, 9).Draw(t, "position"))
			}
			if rapid.Bool().Draw(t, "told") {
				op.Broker, op.Epoch = history.BrokerID(rapid.Int32Range(1, 3).Draw(t, "broker")), history.Epoch(rapid.Int32Range(0, 9).Draw(t, "epoch"))
			}
			op.ID = r.Invoke(op)
			under[process] = op
		default:
			delete(under, process)
			done := history.Op{Outcome: history.Outcome(rapid.IntRange(1, 3).Draw(t, "outcome")), Broker: op.Broker, Offset: history.UnknownOffset,
				HW: history.UnknownOffset, LogStart: history.UnknownOffset, Error: rapid.String().Draw(t, "error")}
			switch {
			case op.Kind == history.Send && done.Outcome == history.OK:
				done.Offset = history.Offset(rapid.Int64Range(-1, 9).Draw(t, "offset"))
			case op.Kind == history.ListOffsets && done.Outcome == history.OK:
				done.Offset = history.Offset(rapid.Int64Range(0, 9).Draw(t, "offset"))
			case op.Kind == history.DeleteRecords && done.Outcome == history.OK:
				done.LogStart = history.Offset(rapid.Int64Range(0, 9).Draw(t, "start"))
			case op.Kind == history.Poll && done.Outcome == history.OK:
				done.HW, done.LogStart = history.Offset(rapid.Int64Range(-1, 9).Draw(t, "hw")), history.Offset(rapid.Int64Range(-1, 9).Draw(t, "start"))
				for range rapid.IntRange(0, 3).Draw(t, "records") {
					done.Records = append(done.Records, history.Record{Offset: history.Offset(rapid.Int64Range(0, 9).Draw(t, "offset")),
						Value: rapid.SampledFrom([]string{"p0-0", "p0-1", "7", "", "phantom"}).Draw(t, "value")})
				}
			}
			r.Complete(op.ID, done)
		}
	}
	return r.History()
}

// TestWrittenAndRead: what is written and read back has the same operations, faults, states, steps, marks and dumps in the same order, but that a seek ends at once. Values are the same up to
// their numbers.
func TestWrittenAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawn(t)
		run := history.Run{Format: 1, World: "sim", Topic: "orders", Parts: 2, Acks: 1, MinISR: 2, Factor: 3, Config: map[string]string{"a": "b"}, Plan: "at 1s kill broker 1\n"}
		var out bytes.Buffer
		if err := Write(&out, run, h); err != nil {
			t.Fatal(err)
		}
		gotRun, got, err := Read(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		if !reflect.DeepEqual(gotRun, run) {
			t.Fatalf("run %+v, expected %+v", gotRun, run)
		}
		if want, back := reduced(h), reduced(got); !reflect.DeepEqual(want, back) {
			t.Fatalf("read\n%s\nexpected\n%s\nwritten\n%s", strings.Join(back, "\n"), strings.Join(want, "\n"), out.Bytes())
		}
	})
}

// reduced is a history as lines in its order, with values as numbers in the order in which they are first named.
func reduced(h *history.History) []string {
	numbers := map[string]int{}
	number := func(v string) int {
		n, known := numbers[v]
		if !known {
			n = len(numbers)
			numbers[v] = n
		}
		return n
	}
	events := inOrder(h)
	var out []string
	for _, e := range events {
		switch e.what {
		case faulted:
			f := h.Faults[e.at]
			f.Index = 0
			out = append(out, fmt.Sprintf("%+v", f))
		case marked:
			m := h.Marks[e.at]
			m.Index = 0
			out = append(out, fmt.Sprintf("%+v", m))
		case stated:
			s := h.States[e.at]
			s.Index = 0
			out = append(out, fmt.Sprintf("%+v", s))
		case stepped:
			s := h.Steps[e.at]
			s.Index = 0
			out = append(out, fmt.Sprintf("%+v", s))
		case dumped:
			d := h.Dumps[e.at]
			text := fmt.Sprintf("broker %d %v %d %d %d %s at %v", d.Broker, d.Partition, d.LEO, d.HW, d.Start, d.Err, d.Time)
			for _, r := range d.Records {
				text += fmt.Sprintf(" %d/%d=%d", r.Offset, r.Epoch, number(r.Value))
			}
			out = append(out, text)
		default:
			op := h.Ops[e.at]
			text := fmt.Sprintf("%d process %d kind %d", op.ID, op.Process, op.Kind)
			if op.Kind == history.Send {
				text += fmt.Sprint(" value ", number(op.Value))
			}
			if op.Kind == history.Seek && e.what == completed {
				continue // at once
			}
			if e.what == completed {
				text += fmt.Sprintf(" outcome %d offset %d hw %d start %d at %v", op.Outcome, op.Offset, op.HW, op.LogStart, op.Return)
				for _, r := range op.Records {
					text += fmt.Sprintf(" %d=%d", r.Offset, number(r.Value))
				}
				text += " error " + op.Error
			} else {
				text += fmt.Sprintf(" on %v from %d final %t marker %t acks %d broker %d epoch %d at %v", op.Partition, op.Position, op.Final, op.Marker, op.Acks,
					op.Broker, op.Epoch, op.Invoke)
			}
			out = append(out, text)
		}
	}
	return slices.Clip(out)
}
