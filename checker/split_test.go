package checker

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/history"
)

// TestSplitKeepsTheOrder splits a history of several stretches, in which partitions turn up one by one, and compares with a loop over all operations.
func TestSplitKeepsTheOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	h := &history.History{Ops: make([]history.Op, 3*stretch+17)}
	kinds := []history.OpKind{history.Send, history.Poll, history.Seek, history.ListOffsets, history.DeleteRecords}
	for i := range h.Ops {
		h.Ops[i] = history.Op{ID: int64(i), Kind: kinds[rng.IntN(len(kinds))], Outcome: history.OK, Position: history.Latest, Final: rng.IntN(9) == 0,
			Partition: history.Partition{Topic: "orders", Index: 5 - int32(rng.IntN(2+i/stretch))}}
	}
	h.Dumps = []history.Dump{{Partition: history.Partition{Topic: "other"}}}
	c := newLogCheck(testRun(8), h, Contract{})
	c.split()

	var names []history.Partition
	for i := range h.Ops {
		if p := h.Ops[i].Partition; !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	names = append(names, h.Dumps[0].Partition)
	if !slices.Equal(c.numbers.names, names) {
		t.Fatalf("partitions are numbered %v, expected in order of first use %v", c.numbers.names, names)
	}
	for n, p := range c.parts {
		var sent, polls, finals, seeks, lists, deletes []int32
		for i := range h.Ops {
			op := &h.Ops[i]
			switch {
			case op.Partition != names[n]:
			case op.Kind == history.Send:
				sent = append(sent, int32(i))
			case op.Kind == history.Seek:
				seeks = append(seeks, int32(i))
			case op.Kind == history.ListOffsets:
				lists = append(lists, int32(i))
			case op.Kind == history.DeleteRecords:
				deletes = append(deletes, int32(i))
			default:
				polls = append(polls, int32(i))
				if op.Final {
					finals = append(finals, int32(i))
				}
			}
		}
		var copied []int32
		for i := range p.sent {
			copied = append(copied, p.sent[i].op)
		}
		if !slices.Equal(copied, sent) || !slices.Equal(p.polls, polls) || !slices.Equal(p.finals, finals) || !slices.Equal(p.seeks, seeks) ||
			!slices.Equal(p.lists, lists) || !slices.Equal(p.deletes, deletes) {
			t.Errorf("%v has %d sends, %d polls, %d final reads, %d seeks, %d ListOffsets and %d DeleteRecords, expected %d, %d, %d, %d, %d and %d in order of invocation",
				names[n], len(copied), len(p.polls), len(p.finals), len(p.seeks), len(p.lists), len(p.deletes), len(sent), len(polls), len(finals),
				len(seeks), len(lists), len(deletes))
		}
	}
}

// TestMeasureCountsEveryStretch: what several stretches hold is added up.
func TestMeasureCountsEveryStretch(t *testing.T) {
	h := &history.History{Ops: make([]history.Op, 2*stretch+2)}
	for i := range h.Ops {
		h.Ops[i] = history.Op{ID: int64(i), Kind: history.Send, Outcome: history.OK}
	}
	h.Ops[stretch-1].Outcome = history.Fail
	h.Ops[stretch].Outcome = history.Info
	h.Ops[2*stretch+1] = history.Op{ID: 2*stretch + 1, Kind: history.Poll, Outcome: history.OK, Records: make([]history.Record, 3)}
	s := measure(testRun(1), h).stats
	got := [...]int64{s.Sends, s.Acked, s.Failed, s.Unknown, s.Polls, s.Records}
	if want := [...]int64{2*stretch + 1, 2*stretch - 1, 1, 1, 1, 3}; got != want {
		t.Errorf("sends, acknowledged, failed, unknown, polls and records are %v, expected %v", got, want)
	}
}
