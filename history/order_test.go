package history

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestALateStepStandsWhereItHappened records, as in containers, an acknowledgement first and then the append behind it, of which the broker
// was asked only afterwards: in the history, and in what the journal gives back, the append comes first.
func TestALateStepStandsWhereItHappened(t *testing.T) {
	var now time.Duration
	path := filepath.Join(t.TempDir(), "history.ndjson.zst")
	sink, err := CreateJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(func() time.Duration { return now }, sink)
	p := Partition{Topic: "orders"}
	now = 10
	r.Step(Step{Kind: StepStart, Broker: 1, Peer: NoBroker, Epoch: -1, From: -1, To: -1})
	id := r.Invoke(Op{Kind: Send, Partition: p, Value: "a", Acks: -1})
	now = 30
	r.Complete(id, Op{Outcome: OK, Broker: 1, HW: -1, LogStart: -1})
	now = 50
	r.StepAt(Step{Kind: StepAppend, Broker: 1, Partition: p, Peer: NoBroker, From: 0, To: 1}, 20)
	r.StepAt(Step{Kind: StepHW, Broker: 1, Partition: p, Peer: NoBroker, From: 0, To: 1}, 25)
	r.StepAt(Step{Kind: StepDown, Broker: 1, Peer: NoBroker, Epoch: -1, From: -1, To: -1}, 90) // as clocks may have it: not later than now
	r.State(ClusterState{Time: 45, Controller: 1})                                             // who looked first came to tell of it second
	r.State(ClusterState{Time: 40, Controller: 2})
	r.State(ClusterState{Controller: 3})
	r.Mark("end", false, "")
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	h := r.History()
	op := h.Ops[0]
	if got := []int64{h.Steps[0].Index, op.InvokeIndex, h.Steps[1].Index, h.Steps[2].Index, op.ReturnIndex, h.States[0].Index, h.States[1].Index, h.Steps[3].Index, h.States[2].Index, h.Marks[0].Index}; !reflect.DeepEqual(got, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("start, invocation, append, high watermark, acknowledgement, two looks, down, a look, end have the indices %v", got)
	}
	if h.Steps[1].Kind != StepAppend || h.Steps[1].Time != 20 || h.Steps[3].Time != 50 {
		t.Errorf("the steps are %+v", h.Steps)
	}
	if s := h.States; s[0].Controller != 2 || s[0].Time != 40 || s[1].Controller != 1 || s[1].Time != 45 || s[2].Time != 50 {
		t.Errorf("the states are %+v", s)
	}
	read, truncated, err := ReadJournalFile(path)
	if err != nil || truncated != "" || !reflect.DeepEqual(read, h) {
		t.Errorf("the journal gives %+v, %q, %v, expected %+v", read, truncated, err, h)
	}
}
