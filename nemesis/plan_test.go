package nemesis

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"tidemark/history"
	"tidemark/world"
)

var testParts = []history.Partition{{Topic: "orders"}, {Topic: "orders", Index: 1}}

// TestPlanText reads plans as people write them, and shows their canonical text or what is wrong with them.
func TestPlanText(t *testing.T) {
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p, err := Parse(d.Input)
			if err != nil {
				return err.Error()
			}
			switch d.Cmd {
			case "parse":
				return p.String()
			case "needs":
				return fmt.Sprintln(p.Needs())
			case "check":
				n, can := 3, append(slices.Clone(everything), world.CanLag)
				d.MaybeScanArgs(t, "brokers", &n)
				if d.HasArg("without") {
					can = everything[1:]
				}
				c := newFakeCluster(&fakeEnv{}, n)
				if err := p.Check(can, c.Brokers(), testParts); err != nil {
					return err.Error()
				}
				return "ok"
			}
			return "unknown command " + d.Cmd
		})
	})
}

// TestParseLimits passes every limit by one.
func TestParseLimits(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"size":  {strings.Repeat(" ", textMax+1), "plan of 262145 bytes: expected at most 262144"},
		"lines": {strings.Repeat("at 1s kill controller\n", linesMax+1), "line 1001: a plan has at most 1000 faults"},
		"words": {"at 1s kill " + strings.Repeat("controller,", wordsMax), "fault 1, line 1: more than 200 words"},
		"topic": {"at 1s kill leader(" + strings.Repeat("a", topicMax+1) + "/0)", `fault 1, line 1: word 4 "leader(` + strings.Repeat("a", 33) + `...": expected a role of topic/index, such as orders/0`},
	} {
		if _, err := Parse(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, expected %s", name, err, c.want)
		}
	}
	if _, err := Parse(strings.Repeat("at 1s kill controller\n\n# x\n", linesMax)); err != nil {
		t.Errorf("a plan of %d faults: %v", linesMax, err)
	}
}

// TestPlanIsItsText draws plans of every form: what String writes, Parse reads as the same plan.
func TestPlanIsItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Plan{Lines: rapid.SliceOfN(rapid.Custom(drawLine), 1, 5).Draw(t, "plan")}
		got, err := Parse(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, p) {
			t.Fatalf("%q was read as %+v, expected %+v", p.String(), got, p)
		}
		var text strings.Builder
		for _, l := range p.Lines {
			text.WriteString(l.String() + " # why\n")
		}
		if got, err = Parse(text.String()); err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("%q was read as %+v (%v), expected %+v", text.String(), got, err, p)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("at 2s partition leader(orders/0) | rest for 5s\nwhen isr(orders/0) = 1 powerfail leader(orders/0)")
	f.Add("after 3 acks on orders/0 clock 1, broker 2 at 1.05 # x\nat 0s partition rest->1,2\nat 1m partition bridge random")
	f.Add("when leader(a/1)=none elect follower(a/1) on a/1\nafter 2 elections stop osr(a/1)")
	f.Add("at 1s partition 1|rest on port controller for 2s\nat 2s loss 1 -> 2,3 at 0.05\nat 3s wipe random for 1s\nat 4s freeze controller")
	f.Add("at 1s hold fetch responses leader(a/0) -> rest once for 4s\nafter 1 catches of fetch responses late any requests clients->1 nth 3 by 5s for 2s\nafter 2 shrinks on a/0 plus 30ms drop raft requests 1 -> 2")
	f.Add("at 1s lag 1|rest by 100ms for 2s\nat 2s lag leader(a/0) -> 2,3 by 1.5s jitter 500ms\nat 3s lag rest->controller by 10ms jitter 1ms reorder 0.1 for 1s\nat 4s lag 1 | 2 by 1s reorder .5")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			if !strings.Contains(err.Error(), "line ") {
				t.Fatalf("the error %v names no line", err)
			}
			return
		}
		again, err := Parse(p.String())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("%q became %q (%v)", text, p, errors.Join(err))
		}
	})
}
