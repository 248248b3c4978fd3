package results

import (
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// TestStepWords tells steps whose fields mean different things by kind: of an election To is the log's end, and From the high watermark.
func TestStepWords(t *testing.T) {
	for _, tt := range []struct {
		step history.Step
		want string
	}{
		{history.Step{Kind: history.StepElection, Broker: 2, Epoch: 5, From: 7, To: 9}, "broker 2 became leader in epoch 5, its log ending at 9"},
		{history.Step{Kind: history.StepFollow, Broker: 1, Peer: 2, Epoch: 5, From: 7, To: 9}, "broker 1 follows broker 2 in epoch 5, its log ending at 9"},
		{history.Step{Kind: history.StepAppend, Broker: 1, Epoch: 5, From: 7, To: 9}, "broker 1 appended offsets 7 to 8 in epoch 5"},
		{history.Step{Kind: checker.StepAck, Broker: 1, Epoch: 5, From: 7, To: 8, Detail: "p0-3 of process 0"}, "broker 1 acknowledged offset 7 in epoch 5 (p0-3 of process 0)"},
		{history.Step{Kind: history.StepISR, Broker: 1, ISR: []history.BrokerID{2}, Detail: history.UncleanElection}, "the in-sync replicas became 2 (unclean election)"},
	} {
		if got := stepWord(tt.step); got != tt.want {
			t.Errorf("%s: %q, expected %q", tt.step.Kind, got, tt.want)
		}
	}
}

// TestLoadBegan checks that the moment from which a plan's times count comes from the run's mark.
func TestLoadBegan(t *testing.T) {
	if got := loadWord([]history.Mark{{Name: "create", Time: 1}, {Name: "load", Time: 1_652_000_000}}); got != "1.652 s" {
		t.Errorf("%q, expected 1.652 s", got)
	}
	if got := loadWord(nil); got != "" {
		t.Errorf("%q, expected nothing where no mark tells", got)
	}
}

// TestARunIsShownFromItsLoadOn: not the seconds in which brokers start, but nothing that clients or faults did.
func TestARunIsShownFromItsLoadOn(t *testing.T) {
	load := []history.Mark{{Name: "create", Time: time.Second}, {Name: "load", Time: 10_300 * time.Millisecond}}
	for _, c := range []struct {
		h    history.History
		want time.Duration
	}{
		{history.History{Marks: load}, 10 * time.Second},
		{history.History{Marks: load, Ops: []history.Op{{Invoke: 10_400 * time.Millisecond}}}, 10 * time.Second},
		{history.History{Marks: load, Ops: []history.Op{{Invoke: 4_200 * time.Millisecond}}}, 4 * time.Second},
		{history.History{Marks: load, Faults: []history.FaultEvent{{Time: 2_900 * time.Millisecond}}}, 2 * time.Second},
		{history.History{Marks: load[:1]}, 0},
		{history.History{Marks: []history.Mark{{Name: "load", Time: time.Hour}}}, 0},
	} {
		if got := beginOf(&c.h, time.Minute); got != c.want {
			t.Errorf("%+v: shown from %v, expected %v", c.h, got, c.want)
		}
	}
}
