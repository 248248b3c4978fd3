package checker

import (
	"slices"
	"strings"
	"testing"

	"tidemark/history"
)

// TestWholeOrUnknown takes from a valid history what makes it a whole run: what is left proves nothing.
func TestWholeOrUnknown(t *testing.T) {
	without := func(name string) func(*history.History) {
		return func(h *history.History) {
			h.Marks = slices.DeleteFunc(h.Marks, func(m history.Mark) bool { return m.Name == name })
		}
	}
	for _, c := range []struct {
		name   string
		change func(*history.History)
		want   Status
		reason string
	}{
		{"whole", func(*history.History) {}, Valid, "agree with the log"},
		{"cut off before its end", without("end"), Unknown, `the phase "end"`},
		{"never settled", without("settle"), Unknown, `the phase "settle"`},
		{"no final reads", without("final"), Unknown, `the phase "final"`},
		{"no phases at all", func(h *history.History) { h.Marks = nil }, Unknown, `the phase "load"`},
		{"a fault left in force", func(h *history.History) {
			h.Faults = slices.DeleteFunc(h.Faults, func(e history.FaultEvent) bool { return e.Phase == history.FaultVerified })
		}, Unknown, "Nobody verified"},
		{"final reads that failed", func(h *history.History) { fail(h, "final", "orders/0 was not read") }, Unknown, "rders/0 was not read"},
		{"final reads that stopped short", func(h *history.History) {
			for i := range h.Ops {
				if op := &h.Ops[i]; op.Final {
					op.HW += 100
				}
			}
		}, Unknown, "its high watermark was"},
		{"not settled", func(h *history.History) { fail(h, "settle", "ISR 1 of 3") }, Invalid, "Not settled"},
		{"a broker that did not come back", func(h *history.History) {
			fail(h, "heal", history.NotBack+": broker 2 does not come back: it exited with code 1")
		}, Invalid, "Broker does not come back"},
		{"a fault that could not be undone", func(h *history.History) {
			fail(h, "heal", "the link 1->2 is not open")
		}, Invalid, "Not settled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGenerator(3, 600)
			h := g.generate()
			c.change(h)
			v := Check(testRun(g.partitions), h, Options{})
			if v.Status != c.want || !strings.Contains(v.Reason, c.reason) {
				t.Errorf("%s: %s, want %s with %q", v.Status, v.Reason, c.want, c.reason)
			}
		})
	}
}

func fail(h *history.History, mark, detail string) {
	i := slices.IndexFunc(h.Marks, func(m history.Mark) bool { return m.Name == mark })
	h.Marks = slices.Insert(h.Marks, i+1, history.Mark{Index: h.Marks[i].Index, Time: h.Marks[i].Time, Name: mark, Failed: true, Detail: detail})
}

// TestReplicasDiffer changes what one replica holds after the run had settled.
func TestReplicasDiffer(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*history.Dump)
		says   string
	}{
		{"a shorter log", func(d *history.Dump) { d.Records, d.LEO = d.Records[:10], 10 }, "the log of broker 2 ended at 10"},
		{"an empty log", func(d *history.Dump) { d.Records, d.LEO = nil, 0 }, "the log of broker 2 ended at 0"},
		{"a log end before its records", func(d *history.Dump) { d.LEO = 10 }, "the log of broker 2 ended at 10"},
		{"another epoch", func(d *history.Dump) { d.Records[7].Epoch++ }, "at offset 7"},
		{"a log that could not be read", func(d *history.Dump) { *d = history.Dump{Broker: d.Broker, Partition: d.Partition, Err: "unreadable"} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGenerator(3, 600)
			h := g.generate()
			i := slices.IndexFunc(h.Dumps, func(d history.Dump) bool { return d.Broker == 2 && len(d.Records) > 20 })
			c.change(&h.Dumps[i])
			v := Check(testRun(g.partitions), h, Options{})
			if c.says == "" {
				if v.Status != Valid {
					t.Errorf("%s: %s, want valid", v.Status, v.Reason)
				}
				return
			}
			if v.Status != Invalid || v.Findings[0].Class != ReplicasDiffer || !strings.Contains(v.Findings[0].Text, c.says) {
				t.Errorf("%s, %+v: want %q", v.Status, v.Findings, c.says)
			}
		})
	}
}
