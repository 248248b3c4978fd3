package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/results/browser"
)

// sections lists the page's sections in their order.
var sections = []string{"verdict", "replay", "witness", "window", "operations", "faults", "latency", "replicas", "contract", "outcomes", "statistics", "environment"}

// open opens a run's report from the disk.
func open(t *testing.T, b *browser.Tab, d Dir) (url string) { return b.OpenReport(t, d.ReportPath()) }

func TestReportOfAnInvalidRun(t *testing.T) {
	b := browser.Open(t, "light")
	url := open(t, b, finished(t, hostile))

	order := browser.Eval[[]string](t, b, `[...document.querySelectorAll("header[id], section[id]")].map((s) => s.id)`)
	if got, want := strings.Join(order, " "), strings.Join(sections, " "); got != want {
		t.Errorf("sections are %s, expected %s", got, want)
	}
	for _, id := range sections {
		if text := browser.Eval[string](t, b, `document.getElementById("`+id+`").innerText`); len(strings.TrimSpace(text)) < 30 {
			t.Errorf("section %s says %q, expected more", id, text)
		}
		if none := browser.Eval[int](t, b, `document.querySelectorAll("#`+id+` .none").length`); none != 0 {
			t.Errorf("section %s of a full run says that it is empty", id)
		}
	}
	// A chart is painted when its canvas shows more than a ground: lines, bands, axes.
	for host, want := range map[string]int{"#window": 2, "#operations": 1, "#faults": 1, "#latency": 2, "#replicas": 3} {
		b.See(t, host+" .chart")
		painted := browser.Eval[[]int](t, b, `[...document.querySelectorAll("`+host+` canvas")].map((c) => {
			const pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
			return new Set(pixels).size;
		})`)
		if len(painted) != want {
			t.Errorf("%s has %d charts, expected %d", host, len(painted), want)
		}
		for i, colours := range painted {
			if colours < 10 {
				t.Errorf("chart %d of %s shows %d colours, expected a drawing", i, host, colours)
			}
		}
	}
	for _, told := range []struct{ id, text string }{
		{"verdict", "Invalid: lost acknowledged write"}, {"verdict", "61 acknowledged writes"}, {"verdict", "ack-before-replication"}, {"verdict", "The second judge (porcupine)"}, {"verdict", "in the log)"},
		{"replay", "tidemark replay runs/20261129T171800Z-18226091844402103377"},
		{"witness", "was acknowledged to process"}, {"witness", "broker 1 in epoch 1"}, {"witness", "the in-sync replicas became 2,3"}, {"witness", "allowed"},
		{"window", "broker 1 truncated its log"}, {"window", "fault #1 undone: at 9s partition leader(orders/0) | rest for 5s"},
		{"faults", "1 cannot reach 2 and 3"}, {"faults", "not seen to take effect"}, {"faults", "the budget is one"}, {"faults", "14.080"},
		{"replicas", "in sync"}, {"contract", "not promised"}, {"contract", "one that was sent once stands at most once"}, {"environment", "The load, from which these times count, began at"}, {"operations", "as in Jepsen"}, {"contract", "what was acknowledged stands on a replica"},
		{"statistics", "request timed out after 1.5s"}, {"statistics", "83 windows"}, {"environment", "9b1f02c4d7e80a35"}, {"environment", "replica.lag.time.max.ms"},
		{"environment", "18226091844402103377"}, {"operations", "in sight"},
	} {
		if text := browser.Eval[string](t, b, `document.getElementById("`+told.id+`").innerText`); !strings.Contains(text, told.text) {
			t.Errorf("section %s does not tell %q", told.id, told.text)
		}
	}
	b.Quiet(t, url)
}

func TestHostileValuesAreText(t *testing.T) {
	o, h := invalidRun()
	// Wherever a value of the run may stand.
	o.Replay, o.Truncated, o.Hash = "replay "+hostile, "truncated "+hostile, hostile
	o.Verdict.Reason, o.Verdict.Checker, o.Verdict.Contract.Because, o.Verdict.Porcupine.Outcome = "reason "+hostile, hostile, hostile, hostile
	o.Verdict.Stats.FaultsByKind = map[string]int64{hostile: 1}
	o.Run.Bug, o.Run.Topic, o.Run.World, o.Run.Config = hostile, hostile, hostile, map[string]string{hostile: hostile}
	hostilePartition := history.Partition{Topic: hostile}
	f := &o.Verdict.Findings[0]
	f.Class, f.Signature, f.Partition = hostile, hostile, hostilePartition
	f.Witness.Replaced, f.Witness.RemovedBy[0].How, f.Witness.Steps[0].Detail, f.Witness.Steps[1].Kind = hostile, hostile, hostile, hostile
	for i := range h.Ops {
		h.Ops[i].Partition, h.Ops[i].Error = hostilePartition, h.Ops[i].Error+hostile
	}
	for i := range h.Steps {
		h.Steps[i].Partition, h.Steps[i].Detail = hostilePartition, hostile
	}
	for i := range h.States {
		h.States[i].Partitions[0].Partition = hostilePartition
	}
	for i := range h.Faults {
		h.Faults[i].Kind, h.Faults[i].Line, h.Faults[i].Detail = hostile, hostile, hostile+"\u2028\x00\xff"
	}
	h.Marks[0].Name = hostile
	d := Dir{t.TempDir()}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, "dark")
	url := open(t, b, d)
	if n := browser.Eval[int](t, b, `document.querySelectorAll("img, body script:not(#data):not(:last-of-type)").length`); n != 0 {
		t.Errorf("%d elements were made of a value", n)
	}
	for _, id := range []string{"verdict", "replay", "witness", "window", "faults", "contract", "statistics", "environment", "operations"} {
		if text := browser.Eval[string](t, b, `document.getElementById("`+id+`").textContent`); !strings.Contains(text, "<img src=x onerror=alert(1)></script>") {
			t.Errorf("section %s does not show the value as text", id)
		}
	}
	b.Quiet(t, url)
}

func TestCopyTheReplayLine(t *testing.T) {
	b := browser.Open(t, "light")
	url := open(t, b, finished(t, hostile))
	want := "tidemark replay runs/20261129T171800Z-18226091844402103377"
	browser.Eval[bool](t, b, `navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }; true`)
	b.Do(t, chromedp.Click(chromedp.ID("copy")))
	b.Until(t, `document.getElementById("copy").textContent !== "Copy"`)
	if got := browser.Eval[string](t, b, `getSelection().toString()`); got != want {
		t.Errorf("selected %q, expected %q", got, want)
	}
	if got := browser.Eval[string](t, b, `window.copied`); got != want {
		t.Errorf("copied %q, expected %q", got, want)
	}
	if got := browser.Eval[string](t, b, `document.getElementById("copy").textContent`); got != "Copied" {
		t.Errorf("the button says %q, expected Copied", got)
	}
	b.Quiet(t, url)
}

func TestOperationsAreFiltered(t *testing.T) {
	b := browser.Open(t, "light")
	url := open(t, b, finished(t, hostile))
	set := func(id, value string) {
		browser.Eval[bool](t, b, fmt.Sprintf(`{ const f = document.getElementById(%q); f.value = %q; f.dispatchEvent(new Event("input", { bubbles: true })); } true`, id, value))
	}
	rows := func() int { return browser.Eval[int](t, b, `document.querySelectorAll("#ops tbody tr").length`) }
	if n := rows(); n != 12 {
		t.Errorf("%d rows at first, expected 12", n)
	}
	b.Do(t, chromedp.Click(chromedp.ID("ops-more")))
	if n := rows(); n != 412 {
		t.Errorf("%d rows after more was asked for, expected 412", n)
	}
	set("ops-outcome", "3")
	if text := browser.Eval[string](t, b, `document.getElementById("ops-count").textContent`); !strings.HasPrefix(text, "113 of ") || !strings.HasSuffix(text, "match, 113 of them in sight") {
		t.Errorf("unknown outcomes: %q, expected 113 that match and are in sight", text)
	}
	set("ops-text", "no operation has this")
	if n := rows(); n != 0 {
		t.Errorf("%d rows match nothing", n)
	}
	// A link in the witness shows the operation that it names.
	b.Do(t, chromedp.Click(chromedp.CSS(`#finding-2 a.op`)))
	b.Until(t, `document.querySelectorAll("#op-30").length === 1`)
	b.Quiet(t, url)
}

// Every verdict has its page, whatever is missing.
func TestReportOfEveryVerdict(t *testing.T) {
	b := browser.Open(t, "light")
	full, h := invalidRun()
	short := *h
	short.Ops, short.States, short.Steps = h.Ops[:200], h.States[:20], h.Steps[:300]
	short.Ops[199].Outcome, short.Ops[199].Return = history.Pending, 0
	for _, c := range []struct {
		name    string
		status  checker.Status
		h       *history.History
		cut     string
		h1, say string
	}{
		{"valid", checker.Valid, &short, "", "Valid: the log kept its word", "No anomaly was found."},
		{"vacuous", checker.Vacuous, &history.History{}, "", "Vacuous: nothing was put to the test", "No operation was recorded."},
		{"unknown", checker.Unknown, nil, "", "Unknown: no verdict was reached", "Nothing was observed of any replica."},
		{"of no known word", "perhaps", nil, "", "Unknown: no verdict was reached", "No fault was requested"},
		{"out of budget", checker.Unknown, &short, "", "Unknown: no verdict was reached", "its budget (1000 model steps) ran out, and it says nothing of 2 of 4 windows"},
		{"ended while its topic was created", checker.Unknown, &history.History{Marks: []history.Mark{{Name: "create", Time: 1}}}, "", "Unknown: no verdict was reached", "No operation was recorded."},
		{"truncated", checker.Invalid, &short, "the last 3,412 bytes are cut", "Invalid", "The journal is not whole: the last 3,412 bytes are cut"},
	} {
		o := full
		o.Verdict.Status, o.Verdict.Findings, o.Truncated = c.status, nil, c.cut
		if c.name == "out of budget" {
			o.Verdict.Porcupine = checker.Second{Outcome: checker.OutOfBudget, Windows: 4, Unknown: 2, Budget: "1000 model steps"}
		}
		d := Dir{t.TempDir()}
		if err := d.Finish(o, c.h); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		b.Forget()
		url := open(t, b, d)
		if h1 := browser.Eval[string](t, b, `document.querySelector("h1").textContent`); h1 != c.h1 {
			t.Errorf("%s: headline %q, expected %q", c.name, h1, c.h1)
		}
		if text := browser.Eval[string](t, b, `document.body.innerText`); !strings.Contains(text, c.say) {
			t.Errorf("%s: the page does not say %q", c.name, c.say)
		}
		for _, id := range sections {
			if text := browser.Eval[string](t, b, `document.getElementById("`+id+`").innerText`); strings.TrimSpace(text) == "" {
				t.Errorf("%s: section %s is empty", c.name, id)
			}
		}
		b.Quiet(t, url)
	}
}

// The page stays under 10 MB, and quick to open, however much the run did.
func TestReportOfManyOperations(t *testing.T) {
	o, h := invalidRun()
	for len(h.Ops) < 100_000 {
		op := h.Ops[len(h.Ops)%5000]
		op.ID, op.Value, op.Error = int64(len(h.Ops)), strings.Repeat(hostile, 5)+fmt.Sprint(len(h.Ops)), fmt.Sprint(hostile, len(h.Ops)%1000)
		op.Outcome = history.Outcome(len(h.Ops) % 4)
		h.Ops = append(h.Ops, op)
	}
	for p := int32(1); p < 20; p++ {
		for i := range h.States {
			ps := h.States[i].Partitions[0]
			ps.Partition.Index = p
			h.States[i].Partitions = append(h.States[i].Partitions, ps)
		}
	}
	for i := range 3000 {
		h.Faults = append(h.Faults, history.FaultEvent{Fault: i, Phase: history.FaultObserved, Kind: "kill", Line: strings.Repeat(hostile, 100), Detail: strings.Repeat(hostile, 100)})
	}
	f := o.Verdict.Findings[0]
	f.Text, f.Value, f.Witness.Value, f.Ops = strings.Repeat(hostile, 1000), strings.Repeat(hostile, 1000), strings.Repeat(hostile, 1000), make([]int64, 100_000)
	for range 1000 {
		o.Verdict.Findings = append(o.Verdict.Findings, f)
	}
	var page bytes.Buffer
	started := time.Now()
	if err := WriteReport(&page, o, h, nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d operations: %d bytes in %v", len(h.Ops), page.Len(), time.Since(started))
	if page.Len() >= 10<<20 {
		t.Errorf("the page has %d bytes, expected fewer than %d", page.Len(), 10<<20)
	}
	if !bytes.Contains(page.Bytes(), []byte("60000 of 100000")) {
		t.Error("the page does not say that it shows 60000 of 100000 operations")
	}
}
