package results

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results/browser"
)

// TestSpaceTime tells the pictures of made-up findings: their lines, rows and arrows, as a reader sees them.
func TestSpaceTime(t *testing.T) {
	datadriven.RunTest(t, "testdata/spacetime.txt", func(t *testing.T, d *datadriven.TestData) string {
		o, h := invalidRunWith("")
		f := &o.Verdict.Findings[0]
		switch d.Cmd {
		case "lost":
		case "without-steps": // as of brokers that report none
			h.Steps, f.Witness.Steps = nil, nil
		case "sent-long-before": // a producer that waited: its send lies before the window
			send := &h.Ops[f.Ops[0]]
			send.Invoke, send.InvokeIndex = 2*time.Second, 1
		case "others-first": // of more processes than there is room for, each sent before the told message
			others := make([]int64, 0, diagramOpsMax+1)
			for n := range diagramOpsMax + 1 {
				op := h.Ops[f.Ops[0]]
				op.ID, op.Process, op.Value, op.Offset = int64(len(h.Ops)), int32(20+n), fmt.Sprintf("p%d-1", 20+n), op.Offset+1
				h.Ops = append(h.Ops, op)
				others = append(others, op.ID)
			}
			f.Ops = append(others, f.Ops...)
		case "crowded":
			for range 5 {
				f.Witness.Steps = append(f.Witness.Steps, h.Steps[:40]...)
			}
		case "end-lets-go": // what a fault held comes at the moment at which it ends, in the journal even before it
			let := history.Step{Time: h.Faults[3].Time, Kind: history.StepTruncate, Partition: orders, Broker: 1, Peer: 2, Epoch: 2, From: f.Offset + 5, To: f.Offset + 1}
			let.Index = h.Faults[3].Index - 1
			f.Witness.Steps = append([]history.Step{let}, f.Witness.Steps...)
			h.Steps = append([]history.Step{let}, h.Steps...)
		case "crowded-faults": // more than there are rows: those that the witness does not name stay away, the loss does not
			for n := range 70 {
				for _, phase := range []history.FaultPhase{history.FaultApplied, history.FaultObserved, history.FaultUndone} {
					h.Faults = append(h.Faults, history.FaultEvent{Fault: 10 + n, Phase: phase, Time: 12*time.Second + time.Duration(n)*time.Millisecond, Kind: "late",
						Line: "at 3s late fetch responses 1 -> 2 by 10ms"})
				}
			}
		default:
			d.Fatalf(t, "command %s, expected lost, without-steps, sent-long-before, others-first, crowded, end-lets-go or crowded-faults", d.Cmd)
		}
		p := newPage(o, h, nil)
		return toldDiagram(p.Findings[0].Diagram)
	})
}

// toldDiagram is a diagram in words.
func toldDiagram(d *diagram) string {
	if d == nil {
		return "no picture"
	}
	var out strings.Builder
	names, rows := map[int]string{}, map[int]int{}
	for _, l := range d.Lines {
		names[l.X] = l.Name
		fmt.Fprintf(&out, "line %s %s\n", l.Name, l.Sub)
	}
	for _, b := range d.Bands {
		fmt.Fprintf(&out, "band of %s\n", b.Title)
	}
	for i, r := range d.Rows {
		rows[r.Y] = i
		who, key := "all", ""
		if r.Dot {
			who = names[r.X]
		}
		if r.Key {
			key = " *"
		}
		fmt.Fprintf(&out, "%s %s%s: %s\n", r.At, who, key, r.Text)
	}
	at := func(y int) string {
		if i, ok := rows[y]; ok {
			return d.Rows[i].At
		}
		return "between"
	}
	for _, a := range d.Arrows {
		fmt.Fprintf(&out, "arrow %s: %s at %s to %s at %s\n", a.Kind, names[a.X1], at(a.Y1), names[a.X2], at(a.Y2))
	}
	if d.Left > 0 {
		fmt.Fprintf(&out, "%d left out\n", d.Left)
	}
	return out.String()
}

// TestNamesOfLinesLieApart: of as many clients and brokers as a picture has room for, no name touches another.
func TestNamesOfLinesLieApart(t *testing.T) {
	c := &scene{names: []string{"producer 0"}}
	for n := range diagramClientsMax {
		c.clients = append(c.clients, client{int32(180 + 9*n), 0})
	}
	for n := range diagramBrokersMax {
		c.brokers = append(c.brokers, history.BrokerID(n+1))
	}
	d := &diagram{Width: diagramWidth, Top: diagramHead, TextX: diagramWidth - diagramText}
	c.columns(d)
	for i, a := range d.Lines {
		if a.SubY >= d.Top {
			t.Errorf("the name of %s ends at %d, its line begins at %d", a.Name, a.SubY, d.Top)
		}
		for _, b := range d.Lines[:i] {
			if a.Y == b.Y && a.X-b.X < (headWidth(a)+headWidth(b))/2-6 {
				t.Errorf("%s at %d,%d touches %s at %d", b.Name, b.X, b.Y, a.Name, a.X)
			}
		}
	}
}

// TestFactsOfAFinding: no name of a fact runs into its value, no arrow of a plan's is broken, and one broker is one.
func TestFactsOfAFinding(t *testing.T) {
	if got, want := unbroken(`hold <1> -> 2`), `hold &lt;1&gt; <span class="whole">-&gt;</span> 2`; string(got) != want {
		t.Errorf("%s, expected %s", got, want)
	}
	if got, want := inForceWord(checker.InForce{Number: 3, What: "kill broker 1", Brokers: []history.BrokerID{1}, To: -1}), "fault #3: kill broker 1; broker 1, from 0.000 s, never undone"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	o, h := invalidRunWith("")
	w := &o.Verdict.Findings[0].Witness
	for _, when := range []checker.Moment{checker.WhenAcked, checker.WhenLost} {
		w.Faults = append(w.Faults, checker.InForce{Number: 1, What: "partition leader(orders/0) | rest", When: when, To: -1})
	}
	d, err := Create(t.TempDir(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, "light")
	url := open(t, b, d)
	for _, name := range browser.Eval[[]string](t, b, `[...document.querySelectorAll(".facts tr")].filter((r) => r.cells[0].getBoundingClientRect().right > r.cells[1].getBoundingClientRect().left + 1).map((r) => r.cells[0].textContent)`) {
		t.Errorf("%q runs into its value", name)
	}
	b.Quiet(t, url)
}
