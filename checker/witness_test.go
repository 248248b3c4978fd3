package checker

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/history"
)

// lostByElection is the schedule of an acknowledgement before replication: broker 1 acknowledges alone, broker 2 is elected without the
// record, broker 1 truncates on following it, and another record takes the offset.
func lostByElection() *history.History {
	p := history.Partition{Topic: "orders"}
	all := []history.BrokerID{1, 2, 3}
	sec := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	final := []history.Record{{Offset: 0, Value: "p1-0"}, {Offset: 1, Value: "p1-203"}}
	send := func(id int64, process int32, value string, broker history.BrokerID, o history.Offset, from, to int64, at time.Duration) history.Op {
		return history.Op{ID: id, Process: process, Kind: history.Send, Outcome: history.OK, Acks: -1, Broker: broker, Partition: p, Value: value, Offset: o,
			InvokeIndex: from, ReturnIndex: to, Invoke: at - time.Millisecond, Return: at, Position: -1}
	}
	h := &history.History{
		Ops: []history.Op{
			send(0, 1, "p1-0", 1, 0, 10, 15, sec(11)),
			send(1, 2, "p2-118", 1, 1, 20, 25, sec(12.345)),
			send(2, 1, "p1-203", 2, 1, 50, 55, sec(15)),
			{ID: 3, Process: 9, Kind: history.Poll, Outcome: history.OK, Final: true, Partition: p, Records: final, HW: 2, InvokeIndex: 80, ReturnIndex: 81},
		},
		Steps: []history.Step{
			{Index: 1, Kind: history.StepISR, Partition: p, Broker: 1, ISR: all, Epoch: 4, Peer: -1},
			{Index: 2, Kind: history.StepElection, Partition: p, Broker: 1, Epoch: 4, Peer: -1},
			{Index: 3, Kind: history.StepFollow, Partition: p, Broker: 2, Epoch: 4, Peer: 1},
			{Index: 4, Kind: history.StepFollow, Partition: p, Broker: 3, Epoch: 4, Peer: 1},
			{Index: 11, Kind: history.StepAppend, Partition: p, Broker: 1, Epoch: 4, Peer: -1, From: 0, To: 1},
			{Index: 12, Kind: history.StepAppend, Partition: p, Broker: 2, Epoch: 4, Peer: 1, From: 0, To: 1},
			{Index: 13, Kind: history.StepAppend, Partition: p, Broker: 3, Epoch: 4, Peer: 1, From: 0, To: 1},
			{Index: 21, Kind: history.StepAppend, Partition: p, Broker: 1, Epoch: 4, Peer: -1, From: 1, To: 2, Time: sec(12.3)},
			{Index: 30, Kind: history.StepDown, Broker: 1, Peer: -1, Time: sec(13)},
			{Index: 31, Kind: history.StepISR, Partition: p, Broker: 3, ISR: all[1:], Epoch: 5, Peer: -1, Time: sec(14)},
			{Index: 32, Kind: history.StepElection, Partition: p, Broker: 2, Epoch: 5, Peer: 2, To: 1, Time: sec(14.1)},
			{Index: 33, Kind: history.StepFollow, Partition: p, Broker: 3, Epoch: 5, Peer: 2, Time: sec(14.2)},
			{Index: 51, Kind: history.StepAppend, Partition: p, Broker: 2, Epoch: 5, Peer: -1, From: 1, To: 2, Time: sec(14.9)},
			{Index: 52, Kind: history.StepAppend, Partition: p, Broker: 3, Epoch: 5, Peer: 2, From: 1, To: 2, Time: sec(14.95)},
			{Index: 60, Kind: history.StepStart, Partition: p, Broker: 1, Peer: -1, To: 2, Time: sec(16)},
			{Index: 61, Kind: history.StepFollow, Partition: p, Broker: 1, Epoch: 5, Peer: 2, Time: sec(16.1)},
			{Index: 62, Kind: history.StepTruncate, Partition: p, Broker: 1, Epoch: 5, Peer: 2, From: 2, To: 1, Time: sec(16.2)},
			{Index: 63, Kind: history.StepAppend, Partition: p, Broker: 1, Epoch: 5, Peer: 2, From: 1, To: 2, Time: sec(16.3)},
			{Index: 64, Kind: history.StepISR, Partition: p, Broker: 3, ISR: all, Epoch: 5, Peer: -1, Time: sec(17)},
		},
		Marks: []history.Mark{{Index: 70, Name: "settle"}, {Index: 71, Name: "final"}},
	}
	for b := range all {
		h.Dumps = append(h.Dumps, history.Dump{Broker: all[b], Partition: p, LEO: 2, HW: 2,
			Records: []history.DumpRecord{{Offset: 0, Epoch: 4, Value: "p1-0"}, {Offset: 1, Epoch: 5, Value: "p1-203"}}})
	}
	return h
}

// TestWitnessFields compares every field of a witness, its words and its signature with the schedule.
func TestWitnessFields(t *testing.T) {
	h := lostByElection()
	v := Check(testRun(1), h, Options{})
	if v.Status != Invalid || len(v.Findings) != 1 {
		t.Fatalf("%s, %d findings: %s", v.Status, len(v.Findings), v.Reason)
	}
	p := history.Partition{Topic: "orders"}
	want := Finding{
		Class: LostWrite, Severity: Violation, Partition: p, Offset: 1, Value: "p2-118", Count: 1, Ops: []int64{1},
		Witness: Witness{
			Value: "p2-118", Offset: 1, Producer: 2, Acked: int64(12345 * time.Millisecond), AckedBy: 1, AckEpoch: 4,
			HeldBy: []history.BrokerID{1}, ISR: []history.BrokerID{1, 2, 3}, Replaced: "p1-203",
			OtherAck: &OtherAck{Value: "p1-203", Producer: 1, Sent: int64(14999 * time.Millisecond), Acked: int64(15 * time.Second), AckedBy: 2},
			RemovedBy: []Removal{
				{Broker: 1, How: "truncated", Time: int64(16200 * time.Millisecond), From: 2, To: 1, Leader: 2, Epoch: 5},
				{Broker: 2, How: "never had it", Time: -1, From: -1, To: -1, Leader: 1, Epoch: 4},
				{Broker: 3, How: "never had it", Time: -1, From: -1, To: -1, Leader: 2, Epoch: 5},
			},
			Steps: []history.Step{h.Steps[7],
				{Index: 25, Time: 12345 * time.Millisecond, Kind: StepAck, Broker: 1, Partition: p, Epoch: 4, Peer: -1, From: 1, To: 2, Detail: "p2-118 of process 2"},
				h.Steps[8], h.Steps[9], h.Steps[10], h.Steps[14], h.Steps[16]},
		},
		Signature: "lost acknowledged write: restart, ISR change, election, truncation",
		Text: "Value p2-118 was acknowledged at 12.345s by broker 1 as leader of orders/0 in epoch 4 at offset 1. " +
			"Only broker 1 held it then (ISR 1,2,3). " +
			"min.insync.replicas is 2, so a second replica had to hold it before the acknowledgement. " +
			"Broker 2 was elected at 14.100s in epoch 5 with its log ending at 1. " +
			"Value p1-203 of producer 1 was acknowledged at 15.000s by broker 2 at offset 1 too. " +
			"Broker 1 truncated 2 → 1 at 16.200s on following broker 2. " +
			"Brokers 2 and 3 never had it. " +
			"At the end offset 1 holds p1-203.",
		Implied: []Implied{{Class: TwoValues, Offset: 1, Value: "p1-203", Count: 1, Ops: []int64{1, 2},
			Text: "Values p1-203 and p2-118 were both acknowledged at offset 1 of orders/0. " +
				"Broker 1 holds p1-203 from epoch 5. Broker 2 holds p1-203 from epoch 5. Broker 3 holds p1-203 from epoch 5."}},
	}
	if got := v.Findings[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// TestLossUnderContracts checks the same loss under contracts that allow it: found, told, and no violation.
func TestLossUnderContracts(t *testing.T) {
	for name, change := range map[string]func(*history.Run){
		"acks=1":  func(r *history.Run) { r.Acks = 1 },
		"unclean": func(r *history.Run) { r.Unclean = true },
		"beyond":  func(r *history.Run) { r.Beyond = true },
	} {
		run := testRun(1)
		change(&run)
		v := Check(run, lostByElection(), Options{})
		if len(v.Findings) != 1 || v.Findings[0].Class != LostWrite || v.Findings[0].Severity != Allowed || v.Status == Invalid {
			t.Errorf("%s: %s, %+v", name, v.Status, v.Findings)
		}
	}
}

// TestOneCauseOneFinding loses two writes to one election and a third to a second election: two findings, the first standing for two.
func TestOneCauseOneFinding(t *testing.T) {
	h := lostByElection()
	p := history.Partition{Topic: "orders"}
	send := func(id int64, value string, broker history.BrokerID, o history.Offset, from, to int64) history.Op {
		return history.Op{ID: id, Process: 3, Kind: history.Send, Outcome: history.OK, Acks: -1, Broker: broker, Partition: p, Value: value, Offset: o,
			InvokeIndex: from, ReturnIndex: to}
	}
	h.Ops = append(h.Ops, send(4, "p3-4", 1, 2, 26, 29), send(5, "p3-5", 2, 2, 56, 59))
	steps := append([]history.Step{}, h.Steps[:8]...)
	steps = append(steps, history.Step{Index: 27, Kind: history.StepAppend, Partition: p, Broker: 1, Epoch: 4, Peer: 1, From: 2, To: 3})
	steps = append(steps, h.Steps[8:14]...)
	steps = append(steps,
		history.Step{Index: 57, Kind: history.StepAppend, Partition: p, Broker: 2, Epoch: 5, Peer: 2, From: 2, To: 3},
		history.Step{Index: 59, Kind: history.StepElection, Partition: p, Broker: 3, Epoch: 6, Peer: 3, From: 2, To: 2})
	h.Steps = append(steps, h.Steps[14:]...)
	v := Check(testRun(1), h, Options{})
	if len(v.Findings) != 2 {
		t.Fatalf("%d findings, want 2: %s", len(v.Findings), v.Reason)
	}
	one, two := v.Findings[0], v.Findings[1]
	if one.Value != "p2-118" || one.Count != 2 || !reflect.DeepEqual(one.Ops, []int64{1, 4}) || !strings.HasSuffix(one.Text, " 1 more went the same way.") {
		t.Errorf("first: %s %d %v: %s", one.Value, one.Count, one.Ops, one.Text)
	}
	if two.Value != "p3-5" || two.Count != 1 {
		t.Errorf("second: %s %d: %s", two.Value, two.Count, two.Text)
	}
}

// TestNeverAppended has a broker answer a send with the offset of a record that was there before it was sent, as one does that takes it for a
// batch sent again. No replica appended it: nothing is told of who held it, nor of what took it away.
func TestNeverAppended(t *testing.T) {
	h := lostByElection()
	op := &h.Ops[1]
	op.Broker, op.InvokeIndex, op.ReturnIndex, op.Invoke, op.Return = 2, 65, 66, 18*time.Second, 18*time.Second+time.Millisecond
	h.Ops[1], h.Ops[2] = h.Ops[2], h.Ops[1]
	h.Ops[1].ID, h.Ops[2].ID = 1, 2
	v := Check(testRun(1), h, Options{})
	if len(v.Findings) != 1 || v.Findings[0].Value != "p2-118" {
		t.Fatalf("%+v, expected the one loss", v.Findings)
	}
	f := v.Findings[0]
	want := "Value p1-203 of producer 1 was acknowledged at 15.000s by broker 2 at offset 1. " +
		"Value p2-118 was acknowledged at 18.001s by broker 2 as leader of orders/0 in epoch 5 at offset 1. The ISR was 1,2,3 then. " +
		"No replica appended it there: what broker 2 wrote at offset 1 at 14.900s, before p2-118 was sent, is value p1-203. At the end offset 1 holds p1-203."
	if f.Text != want {
		t.Errorf("got  %s\nwant %s", f.Text, want)
	}
	if w := f.Witness; w.HeldBy != nil || w.RemovedBy != nil || f.Signature != "lost acknowledged write: never appended" ||
		!reflect.DeepEqual(w.Instead, &Instead{Value: "p1-203", Time: int64(14900 * time.Millisecond), Broker: 2, Epoch: 5, Before: true}) {
		t.Errorf("%s: %+v", f.Signature, w)
	}
}

// TestAcknowledgedByADeposedLeader has the answer come when its broker follows another and has cut the record: it is told of the record that it
// appended, not of the one that it copied since.
func TestAcknowledgedByADeposedLeader(t *testing.T) {
	h := lostByElection()
	op := &h.Ops[1]
	op.ReturnIndex, op.Return = 65, 18*time.Second
	v := Check(testRun(1), h, Options{})
	if len(v.Findings) != 1 {
		t.Fatalf("%+v, expected the one loss", v.Findings)
	}
	f := v.Findings[0]
	want := "Broker 2 had already been elected at 14.100s in epoch 5 with its log ending at 1. " +
		"Value p1-203 of producer 1 was acknowledged at 15.000s by broker 2 at offset 1. " +
		"Broker 1 truncated 2 → 1 at 16.200s on following broker 2. " +
		"Value p2-118 was acknowledged at 18.000s by broker 1 at offset 1. " +
		"Broker 1 led orders/0 no longer then: the leader of epoch 4 until 16.100s, it followed broker 2 in epoch 5. " +
		"No replica held it any more (ISR 1,2,3). Brokers 2 and 3 never had it. At the end offset 1 holds p1-203."
	if f.Text != want {
		t.Errorf("got  %s\nwant %s", f.Text, want)
	}
	if d := f.Witness.Deposed; d == nil || *d != (Deposed{Leader: 2, Epoch: 5, Time: int64(16100 * time.Millisecond)}) {
		t.Errorf("deposed %+v", d)
	}
}
