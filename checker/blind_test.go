package checker

import (
	"slices"
	"strings"
	"testing"

	"tidemark/history"
)

// TestWhatIsNotLookedAtIsSaid takes from a valid history what a world may not see. The verdict stays, and says what it does not cover.
func TestWhatIsNotLookedAtIsSaid(t *testing.T) {
	restart := func(h *history.History, p history.Partition) {
		for range 2 {
			h.Steps = append(h.Steps, history.Step{Index: h.Marks[len(h.Marks)-1].Index, Kind: history.StepStart, Broker: 2, Partition: p, Peer: history.NoBroker, Epoch: -1})
		}
	}
	for _, c := range []struct {
		name   string
		world  string
		change func(*history.History)
		says   []string
	}{
		{"everything was seen", "sim", func(*history.History) {}, nil},
		{"in containers", "docker", func(*history.History) {}, []string{"invariants"}},
		{"no dumps", "sim", func(h *history.History) { h.Dumps = nil }, []string{"no replica's log was read"}},
		{"one replica was not dumped", "sim", func(h *history.History) {
			h.Dumps = slices.DeleteFunc(h.Dumps, func(d history.Dump) bool { return d.Broker == 2 && d.Partition.Index == 0 })
		}, []string{"broker 2's of orders/0."}},
		{"one log could not be read", "sim", func(h *history.History) {
			for i := range h.Dumps {
				if d := &h.Dumps[i]; d.Broker == 3 && d.Partition.Index == 1 {
					*d = history.Dump{Broker: 3, Partition: d.Partition, Err: "a torn batch"}
				}
			}
		}, []string{"broker 3's of orders/1 (a torn batch)."}},
		{"no high watermarks", "sim", func(h *history.History) {
			for i := range h.States {
				for j := range h.States[i].Partitions {
					for k := range h.States[i].Partitions[j].Replicas {
						h.States[i].Partitions[j].Replicas[k].HW = history.UnknownOffset
					}
				}
			}
		}, []string{"high watermarks went back"}},
		{"a broker came back and said nothing", "sim", func(h *history.History) { restart(h, history.Partition{}) }, []string{"such as broker 2"}},
		{"a broker came back and told of a replica", "sim", func(h *history.History) {
			restart(h, history.Partition{})
			restart(h, history.Partition{Topic: "orders", Index: 0})
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGenerator(3, 600)
			h := g.generate()
			c.change(h)
			run := testRun(g.partitions)
			run.World = c.world
			v := Check(run, h, Options{})
			if v.Status != Valid {
				t.Errorf("%s: %s, want valid", v.Status, v.Reason)
			}
			if len(v.Blind) != len(c.says) {
				t.Fatalf("not looked at: %q, want %d sentences", v.Blind, len(c.says))
			}
			for i, want := range c.says {
				if !strings.Contains(v.Blind[i], want) {
					t.Errorf("not looked at: %q, want %q", v.Blind[i], want)
				}
			}
		})
	}
	run := testRun(2)
	run.World = ""
	if v := Check(run, &history.History{}, Options{}); len(v.Blind) != 0 {
		t.Errorf("a history that is no run's own: %q, want nothing", v.Blind)
	}
}
