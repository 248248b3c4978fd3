package results

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// until waits until an expression of the page holds.
func until(t testing.TB, b *browser, condition string) {
	t.Helper()
	wait := fmt.Sprintf(`new Promise((done) => { const look = () => ((%s) ? done(true) : setTimeout(look, 20)); look(); })`, condition)
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatalf("waiting for %s: %v", condition, err)
	}
}

// shownRange is the stretch of time that the timeline shows.
func shownRange(t *testing.T, b *browser) (from, to float64) {
	t.Helper()
	text := eval[string](t, b, `document.getElementById("timeline-range").textContent`)
	if _, err := fmt.Sscanf(text, "%f s to %f s", &from, &to); err != nil {
		t.Fatalf("the timeline shows %q: %v", text, err)
	}
	return from, to
}

// TestTheTimelineByKeyboard goes through the operations without a mouse: zoom, move, step to an operation, hear what it is, go to its row.
func TestTheTimelineByKeyboard(t *testing.T) {
	b := openBrowser(t, "light")
	url := open(t, b, finished(t, hostile))
	b.do(t, chromedp.Focus(chromedp.ID("timeline")))
	from, to := shownRange(t, b)
	if from != 0 || to < 59 {
		t.Fatalf("at first from %v to %v, expected the whole run", from, to)
	}
	b.do(t, chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	if f, to := shownRange(t, b); to-f > 16 || to-f < 14 {
		t.Errorf("zoomed in twice from %v to %v, expected a quarter of the run", f, to)
	}
	before, _ := shownRange(t, b)
	b.do(t, chromedp.KeyEvent(kb.ArrowRight))
	if after, _ := shownRange(t, b); after <= before {
		t.Errorf("moved right from %v to %v", before, after)
	}
	b.do(t, chromedp.KeyEvent("0"))
	if f, to := shownRange(t, b); f != 0 || to < 59 {
		t.Errorf("all of it is from %v to %v", f, to)
	}
	b.do(t, chromedp.KeyEvent("n"), chromedp.KeyEvent("n"))
	if text := eval[string](t, b, `document.getElementById("timeline-readout").textContent`); !strings.HasPrefix(text, "operation 1 · ") {
		t.Errorf("the second operation is told as %q", text)
	}
	b.do(t, chromedp.KeyEvent(kb.Enter))
	if text := eval[string](t, b, `document.activeElement.closest("tr")?.id ?? ""`); text != "op-1" {
		t.Errorf("Enter leads to %q, expected the operation's row", text)
	}
	// The table is built again once the timeline has come to rest; the keyboard stays where it was.
	eval[bool](t, b, `window.row = document.getElementById("op-1"), tidemark.tell("range", "charts"), true`)
	until(t, b, `!row.isConnected`)
	if text := eval[string](t, b, `document.activeElement.closest("tr")?.id ?? ""`); text != "op-1" {
		t.Errorf("built again, the table leaves the keyboard at %q, expected the operation's row", text)
	}
	b.quiet(t, url)
}

// TestTheTimelineByMouse drags, zooms with the wheel, and keeps the operation under a click.
func TestTheTimelineByMouse(t *testing.T) {
	b := openBrowser(t, "dark")
	url := open(t, b, finished(t, hostile))
	event := func(kind, init string) {
		t.Helper()
		eval[bool](t, b, fmt.Sprintf(`{ const c = document.getElementById("timeline"), r = c.getBoundingClientRect();
			c.dispatchEvent(new %s, { clientX: r.left + 600, clientY: r.top + 40, bubbles: true, cancelable: true, button: 0, pointerId: 1, ...%s })); } true`, kind, init))
	}
	event(`WheelEvent("wheel"`, `{ deltaY: -200, ctrlKey: true }`)
	from, to := shownRange(t, b)
	if to-from > 30 {
		t.Errorf("the wheel shows %v to %v, expected it to zoom in", from, to)
	}
	event(`PointerEvent("pointerdown"`, `{}`)
	event(`PointerEvent("pointermove"`, `{ clientX: document.getElementById("timeline").getBoundingClientRect().left + 500 }`)
	event(`PointerEvent("pointerup"`, `{}`)
	if f, to2 := shownRange(t, b); f <= from || to2-f < to-from-0.01 {
		t.Errorf("dragged to the left it shows %v to %v, expected later than %v to %v", f, to2, from, to)
	}
	before := eval[string](t, b, `document.getElementById("timeline-range").textContent`)
	event(`WheelEvent("wheel"`, `{ deltaY: 200 }`)
	if after := eval[string](t, b, `document.getElementById("timeline-range").textContent`); after != before {
		t.Errorf("the wheel alone, which scrolls the page, changed %q to %q", before, after)
	}
	// The charts over the run show the same stretch.
	until(t, b, `Math.abs(tidemark.from - parseFloat(document.getElementById("timeline-range").textContent)) < 0.002`)
	b.quiet(t, url)
}

// TestLinksIntoThePage opens links to a moment, to an operation, and to a view with its filters, as somebody sends them.
func TestLinksIntoThePage(t *testing.T) {
	b := openBrowser(t, "light")
	o, h := invalidRunWith(hostile)
	d, err := Create(t.TempDir(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteLog(1, []byte("    12.020000 truncate "+hostile+"\n    13.900000 down\n")); err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	url := open(t, b, d)
	// A row of the diagram leads to its moment everywhere.
	eval[bool](t, b, `document.querySelector("#spacetime-1 a.row.key").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })); true`)
	until(t, b, `tidemark.moment !== null && document.querySelectorAll("table.events tr.now").length === 1`)
	if m := eval[float64](t, b, `tidemark.moment`); m < 11 || m > 13 {
		t.Errorf("the link leads to %v s, expected a moment of the window", m)
	}
	eval[bool](t, b, `location.hash = "#t=12.02"; true`)
	until(t, b, `document.querySelectorAll("table.lines tr.now").length === 1`)
	if text := eval[string](t, b, `document.querySelector("table.lines tr.now").textContent`); !strings.Contains(text, "<img src=x") || !strings.Contains(text, "12.020 s") {
		t.Errorf("the line of the log at that moment is %q", text)
	}
	if from, to := shownRange(t, b); from > 12.02 || to < 12.02 || to-from > 1 {
		t.Errorf("the timeline shows %v to %v, expected the time around 12.02", from, to)
	}
	b.do(t, chromedp.Navigate(url+"#op-30"), chromedp.Reload())
	until(t, b, `document.querySelectorAll("tr.selected#op-30").length === 1`)
	// The filters and the stretch of time are a link too, which a reload follows.
	b.do(t, chromedp.Navigate(url+"#operations"), chromedp.Reload())
	until(t, b, `document.documentElement.dataset.ready`)
	eval[bool](t, b, `{ const f = document.getElementById("ops-outcome"); f.value = "3"; f.dispatchEvent(new Event("input", { bubbles: true })); document.getElementById("timeline-window").click(); } true`)
	until(t, b, `location.hash.startsWith("#ops?") && location.hash.includes("from=")`)
	count := eval[string](t, b, `document.getElementById("ops-count").textContent`)
	from, to := shownRange(t, b)
	b.do(t, chromedp.Reload())
	until(t, b, `document.documentElement.dataset.ready && document.getElementById("ops-outcome").value === "3"`)
	if f, u := shownRange(t, b); f != from || u != to {
		t.Errorf("after a reload the timeline shows %v to %v, expected %v to %v", f, u, from, to)
	}
	until(t, b, fmt.Sprintf(`document.getElementById("ops-count").textContent === %q`, count))
	// Where storage of the page's address is refused, or nonsense stands in it, the page stays whole.
	for _, hash := range []string{"#ops?from=1e99&to=-5&kind=999&client=x", "#t=1e999", "#op-999999999999", "#%%%", "#ops?" + hostile} {
		eval[bool](t, b, fmt.Sprintf(`location.hash = %q; true`, hash))
	}
	for _, r := range []string{url, url + "#op-30", url + "#operations"} { // a fragment is no request of another page
		b.mu.Lock()
		for i, got := range b.requests {
			if got == r || strings.HasPrefix(got, url) {
				b.requests[i] = url
			}
		}
		b.mu.Unlock()
	}
	b.quiet(t, url)
}

// TestWhatIsSaidToThoseWhoDoNotSee holds the page to what screen readers need: every picture and every field has a name, headings do not skip
// a level, ids are unique, and the page can be entered past its navigation.
func TestWhatIsSaidToThoseWhoDoNotSee(t *testing.T) {
	b := openBrowser(t, "light")
	url := open(t, b, finished(t, ""))
	for what, query := range map[string]string{
		"pictures without a name":    `[...document.querySelectorAll("canvas, svg")].filter((e) => !e.closest("[aria-label], [aria-hidden=true]")).length`,
		"fields without a name":      `[...document.querySelectorAll("input, select")].filter((e) => !e.labels.length && !e.ariaLabel).length`,
		"buttons without a name":     `[...document.querySelectorAll("button, summary, a")].filter((e) => !(e.ariaLabel || e.textContent.trim())).length`,
		"ids that stand twice":       `(() => { const all = [...document.querySelectorAll("[id]")].map((e) => e.id); return all.length - new Set(all).size; })()`,
		"headings that skip a level": `(() => { let last = 1, skips = 0; for (const h of document.querySelectorAll("h1, h2, h3, h4")) { const n = +h.tagName[1]; if (n > last + 1) skips++; last = n; } return skips; })()`,
		"tables without headings":    `[...document.querySelectorAll("table:not(.u-legend)")].filter((e) => !e.querySelector("th") && !e.closest("details")).length`,
	} {
		if n := eval[int](t, b, query); n != 0 {
			t.Errorf("%d %s, expected none", n, what)
		}
	}
	if text := eval[string](t, b, `document.querySelector("body > a").getAttribute("href")`); text != "#witness" {
		t.Errorf("the first thing to reach by keyboard leads to %q, expected #witness", text)
	}
	b.quiet(t, url)
}

// TestThePageOnPaper: what is folded is open, what only a screen can do is gone, and ink is dark on white whatever the scheme.
func TestThePageOnPaper(t *testing.T) {
	b := openBrowser(t, "dark")
	url := open(t, b, finished(t, ""))
	dark := eval[string](t, b, `getComputedStyle(document.body).backgroundColor`)
	eval[bool](t, b, `dispatchEvent(new Event("beforeprint")); true`)
	call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if n := eval[int](t, b, `document.querySelectorAll("details:not([open])").length`); n != 0 {
		t.Errorf("%d details are folded on paper", n)
	}
	if shown := eval[string](t, b, `getComputedStyle(document.querySelector("nav")).display + getComputedStyle(document.getElementById("copy")).display`); shown != "nonenone" {
		t.Errorf("navigation and button are shown on paper: %s", shown)
	}
	if paper := eval[string](t, b, `getComputedStyle(document.body).backgroundColor`); paper == dark || paper != "rgb(255, 255, 255)" {
		t.Errorf("the ground is %s on paper and %s in the dark, expected white on paper", paper, dark)
	}
	b.quiet(t, url)
}

// processorTime is what the browser's processes have had of the processors, as a busy machine's clock says little.
func (b *browser) processorTime(t testing.TB) time.Duration {
	t.Helper()
	type process struct {
		parent string
		ticks  int64
		ours   bool
	}
	all := map[string]process{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		stat, err := os.ReadFile(dir + "/stat")
		command, errCommand := os.ReadFile(dir + "/cmdline")
		_, rest, named := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if err != nil || errCommand != nil || !named || len(fields) < 13 {
			continue // it is gone
		}
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		all[filepath.Base(dir)] = process{fields[1], user + system, bytes.Contains(command, []byte(b.profile))}
	}
	var ticks int64
	for _, p := range all {
		for q, depth := p, 0; depth < 10; depth++ { // up to the browser, which alone bears the profile's name
			if q.ours {
				ticks += p.ticks
				break
			}
			parent, ok := all[q.parent]
			if !ok {
				break
			}
			q = parent
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// BenchmarkPage opens the page of a run of 50,000 operations and moves its timeline to and fro: frames a second, how long until the page can
// be used, and its size; of the first two also what all of the browser's processes had of the processors for it.
func BenchmarkPage(b *testing.B) {
	o, h := invalidRun()
	for len(h.Ops) < 50_000 {
		op := h.Ops[len(h.Ops)%5000]
		op.ID = int64(len(h.Ops))
		h.Ops = append(h.Ops, op)
	}
	var page bytes.Buffer
	if err := WriteReport(&page, o, h, nil); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), reportFile)
	if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	tab := openBrowser(b, "light")
	for b.Loop() {
		began := tab.processorTime(b)
		tab.do(b, chromedp.Navigate("file://"+path))
		until(b, tab, `document.documentElement.dataset.ready`)
		ready, err := chromedp.Run(tab.ctx, chromedp.Evaluate[float64](`+document.documentElement.dataset.ready`))
		if err != nil {
			b.Fatal(err)
		}
		opened := tab.processorTime(b)
		fps, err := chromedp.Run(tab.ctx, chromedp.Evaluate[float64](`new Promise((done) => {
			const c = document.getElementById("timeline");
			c.scrollIntoView();
			document.getElementById("timeline-in").click();
			const y = c.getBoundingClientRect().top + 40, frames = 150;
			const event = (type, x) => c.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, button: 0, pointerId: 1, bubbles: true }));
			let n = 0, begun;
			const move = (now) => {
				begun ??= now;
				event("pointermove", 600 + 250 * Math.sin(n / 12));
				if (n++ < frames) requestAnimationFrame(move);
				else { event("pointerup", 600); done(frames / (now - begun) * 1000); }
			};
			event("pointerdown", 600);
			requestAnimationFrame(move);
		})`, chromedp.EvalAwaitPromise))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(fps, "frames/s")
		b.ReportMetric(float64((tab.processorTime(b)-opened).Milliseconds())/150, "cpu-ms/frame")
		b.ReportMetric(float64((opened - began).Milliseconds()), "cpu-ms-usable")
		b.ReportMetric(ready, "ms-usable")
		b.ReportMetric(float64(page.Len())/(1<<20), "MiB")
	}
}
