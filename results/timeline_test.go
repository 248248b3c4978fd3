package results

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tidemark/results/browser"
)

// shownRange is the stretch of time that the timeline shows.
func shownRange(t *testing.T, b *browser.Tab) (from, to float64) {
	t.Helper()
	text := browser.Eval[string](t, b, `document.getElementById("timeline-range").textContent`)
	if _, err := fmt.Sscanf(text, "%f s to %f s", &from, &to); err != nil {
		t.Fatalf("the timeline shows %q: %v", text, err)
	}
	return from, to
}

// TestTheTimelineByKeyboard goes through the operations without a mouse: zoom, move, step to an operation, hear what it is, go to its row.
func TestTheTimelineByKeyboard(t *testing.T) {
	b := browser.Open(t, "light")
	url := open(t, b, finished(t, hostile))
	b.Do(t, chromedp.Focus(chromedp.ID("timeline")))
	from, to := shownRange(t, b)
	if from != 0 || to < 59 {
		t.Fatalf("at first from %v to %v, expected the whole run", from, to)
	}
	b.Do(t, chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	if f, to := shownRange(t, b); to-f > 16 || to-f < 14 {
		t.Errorf("zoomed in twice from %v to %v, expected a quarter of the run", f, to)
	}
	before, _ := shownRange(t, b)
	b.Do(t, chromedp.KeyEvent(kb.ArrowRight))
	if after, _ := shownRange(t, b); after <= before {
		t.Errorf("moved right from %v to %v", before, after)
	}
	b.Do(t, chromedp.KeyEvent("0"))
	if f, to := shownRange(t, b); f != 0 || to < 59 {
		t.Errorf("all of it is from %v to %v", f, to)
	}
	b.Do(t, chromedp.KeyEvent("n"), chromedp.KeyEvent("n"))
	if text := browser.Eval[string](t, b, `document.getElementById("timeline-readout").textContent`); !strings.HasPrefix(text, "operation 1 · ") {
		t.Errorf("the second operation is told as %q", text)
	}
	b.Do(t, chromedp.KeyEvent(kb.Enter))
	if text := browser.Eval[string](t, b, `document.activeElement.closest("tr")?.id ?? ""`); text != "op-1" {
		t.Errorf("Enter leads to %q, expected the operation's row", text)
	}
	// The table is built again once the timeline has come to rest; the keyboard stays where it was.
	browser.Eval[bool](t, b, `window.row = document.getElementById("op-1"), tidemark.from = 0.001, tidemark.tell("range"), true`)
	b.Until(t, `!row.isConnected`)
	if text := browser.Eval[string](t, b, `document.activeElement.closest("tr")?.id ?? ""`); text != "op-1" {
		t.Errorf("built again, the table leaves the keyboard at %q, expected the operation's row", text)
	}
	b.Quiet(t, url)
}

// TestTheTimelineByMouse drags, zooms with the wheel, and keeps the operation under a click.
func TestTheTimelineByMouse(t *testing.T) {
	b := browser.Open(t, "dark")
	url := open(t, b, finished(t, hostile))
	event := func(kind, init string) {
		t.Helper()
		browser.Eval[bool](t, b, fmt.Sprintf(`{ const c = document.getElementById("timeline"), r = c.getBoundingClientRect();
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
	before := browser.Eval[string](t, b, `document.getElementById("timeline-range").textContent`)
	event(`WheelEvent("wheel"`, `{ deltaY: 200 }`)
	if after := browser.Eval[string](t, b, `document.getElementById("timeline-range").textContent`); after != before {
		t.Errorf("the wheel alone, which scrolls the page, changed %q to %q", before, after)
	}
	// The charts over the run show the same stretch.
	b.Until(t, `Math.abs(tidemark.from - parseFloat(document.getElementById("timeline-range").textContent)) < 0.002`)
	b.Quiet(t, url)
}

// TestTheTimelinePaintsWhatIsThere compares what is painted with what a look at every operation says: in each lane, at each pixel, for several
// stretches of time and filters, the worst outcome of those that are under way there, and nothing where none is.
func TestTheTimelinePaintsWhatIsThere(t *testing.T) {
	b := browser.Open(t, "light")
	url := open(t, b, finished(t, ""))
	for _, hash := range []string{
		"#ops?", "#ops?from=0&to=3", "#ops?from=11.2&to=11.9", "#ops?from=8&to=16&outcome=3", "#ops?from=20&to=50&kind=1", "#ops?from=30&to=30.2&client=2", "#ops?from=59&to=60",
	} {
		wrong := browser.Eval[[]string](t, b, fmt.Sprintf(`(async () => {
			location.hash = %q;
			await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))));
			const { ops, windows } = tidemark.data, c = document.getElementById("timeline"), wrong = [];
			const ctx = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
			ctx.drawImage(c, 0, 0);
			const [from, to] = document.getElementById("timeline-range").textContent.match(/[0-9.]+/g).map(Number);
			const link = new URLSearchParams(location.hash.slice(5)), holds = (f, v) => !link.has(f) || +link.get(f) === v;
			const match = ops.id.map((_, i) => i).filter((i) => holds("outcome", ops.outcome[i]) && holds("kind", ops.kind[i]) && holds("client", ops.client[i]));
			const lanes = [...new Set(match.map((i) => ops.client[i]))].sort((a, b) => a - b), left = 118, inner = c.clientWidth - left - 10;
			const laneHeight = Math.max(9, Math.min(20, Math.floor(420 / lanes.length))), x = (t) => left + (t - from) / (to - from) * inner;
			const marks = windows.flatMap((w) => w.moments.map((m) => x(m.at)));
			const worst = [1, 0, 3, 2], paints = ["faint", "good", "bad", "warn"].map((name) => {
				ctx.fillStyle = tidemark.colour(name); // as six digits
				return parseInt(ctx.fillStyle.slice(1), 16);
			});
			lanes.forEach((lane, r) => {
				for (const send of [true, false]) {
					const want = new Array(c.clientWidth).fill(-1), sure = new Array(c.clientWidth).fill(true);
					for (const i of match) {
						const begin = ops.invoke[i] / 1000, end = ops.took[i] === null ? tidemark.data.end : begin + ops.took[i] / 1000;
						if (ops.client[i] !== lane || (ops.kind[i] === 0) !== send || end < from || begin > to) continue;
						const x0 = Math.max(x(begin), left), x1 = Math.min(x(end), c.clientWidth);
						for (const edge of [x0 - 1, x0, x1 - 1, x1]) sure[Math.floor(edge)] = sure[Math.ceil(edge)] = false; // the shown range is rounded
						for (let p = Math.floor(x0); p < Math.max(Math.floor(x1), Math.floor(x0) + 1); p++) if (worst.indexOf(ops.outcome[i]) > want[p]) want[p] = worst.indexOf(ops.outcome[i]);
					}
					const row = ctx.getImageData(0, 30 + r * laneHeight + (send ? 4 : Math.round(laneHeight * 0.75)), c.width, 1).data;
					for (let p = left + 2; p < left + inner - 2; p++) {
						if (marks.some((m) => Math.abs(m - p) < 3)) continue;
						const got = worst.indexOf(paints.indexOf(row[4 * p] << 16 | row[4 * p + 1] << 8 | row[4 * p + 2]));
						const covered = !send && got >= 0 || want[p] < 0 && !sure[p]; // the low half shows sends, too
						if (covered || to - from < 1 && !sure[p]) continue;
						if (want[p] < 0 ? got >= 0 : sure[p] ? got !== want[p] : got < 0) wrong.push("lane " + lane + (send ? " sends" : " others") + " at " + p + ": " + got + ", expected " + want[p]);
					}
				}
			});
			return wrong.slice(0, 5);
		})()`, hash))
		for _, w := range wrong {
			t.Errorf("%s: %s", hash, w)
		}
	}
	b.Quiet(t, url)
}

// TestChartsAreDrawnWhenSomebodyLooks: those far below are not drawn until then, show the stretch of time that the timeline shows by then, and
// follow the colour scheme; on paper all of them are drawn.
func TestChartsAreDrawnWhenSomebodyLooks(t *testing.T) {
	b := browser.Open(t, "light")
	url := open(t, b, finished(t, ""))
	drawn := func(query string) int {
		return browser.Eval[int](t, b, `document.querySelectorAll("`+query+`").length`)
	}
	if n := drawn("#replicas canvas"); n != 0 {
		t.Errorf("%d charts of the replicas are drawn at the top of the page, expected none", n)
	}
	browser.Eval[bool](t, b, `location.hash = "#t=12.02"; true`)
	b.Until(t, `Math.abs(tidemark.from - 11.77) < 0.001`)
	b.See(t, "#replicas .chart")
	if n := drawn("#replicas canvas"); n != 3 {
		t.Errorf("%d charts of the replicas are drawn once they are looked at, expected 3", n)
	}
	if f, to := browser.Eval[float64](t, b, `tidemark.from`), browser.Eval[float64](t, b, `tidemark.to`); f < 11.7 || to > 12.3 {
		t.Errorf("drawing them moved the time from the link to %v to %v", f, to)
	}
	light := browser.Eval[string](t, b, `document.querySelector("#replicas canvas").toDataURL()`)
	browser.Call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	b.Until(t, fmt.Sprintf(`(document.querySelector("#replicas canvas")?.toDataURL() ?? %q) !== %q`, light, light))
	browser.Eval[bool](t, b, `dispatchEvent(new Event("beforeprint")); true`)
	if n, all := drawn(".chart canvas"), drawn(".chart[role]"); n != all || all != 8 {
		t.Errorf("%d of %d charts are drawn for paper, expected all of 8", n, all)
	}
	b.Quiet(t, url)
}

// TestLinksIntoThePage opens links to a moment, to an operation, and to a view with its filters, as somebody sends them.
func TestLinksIntoThePage(t *testing.T) {
	b := browser.Open(t, "light")
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
	browser.Eval[bool](t, b, `document.querySelector("#spacetime-1 a.row.key:not(.fault)").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })); true`)
	b.Until(t, `tidemark.moment !== null && document.querySelectorAll("table.events tr.now").length === 1`)
	if m := browser.Eval[float64](t, b, `tidemark.moment`); m < 11 || m > 13 {
		t.Errorf("the link leads to %v s, expected a moment of the window", m)
	}
	browser.Eval[bool](t, b, `location.hash = "#t=12.02"; true`)
	b.Until(t, `document.querySelectorAll("table.lines tr.now").length === 1`)
	if text := browser.Eval[string](t, b, `document.querySelector("table.lines tr.now").textContent`); !strings.Contains(text, "<img src=x") || !strings.Contains(text, "12.020 s") {
		t.Errorf("the line of the log at that moment is %q", text)
	}
	if from, to := shownRange(t, b); from > 12.02 || to < 12.02 || to-from > 1 {
		t.Errorf("the timeline shows %v to %v, expected the time around 12.02", from, to)
	}
	b.Do(t, chromedp.Navigate(url+"#op-30"), chromedp.Reload())
	b.Until(t, `document.querySelectorAll("tr.selected#op-30").length === 1`)
	// The filters and the stretch of time are a link too, which a reload follows.
	b.Do(t, chromedp.Navigate(url+"#operations"), chromedp.Reload())
	b.Until(t, `document.documentElement.dataset.ready`)
	browser.Eval[bool](t, b, `{ const f = document.getElementById("ops-outcome"); f.value = "3"; f.dispatchEvent(new Event("input", { bubbles: true })); document.getElementById("timeline-window").click(); } true`)
	b.Until(t, `location.hash.startsWith("#ops?") && location.hash.includes("from=")`)
	count := browser.Eval[string](t, b, `document.getElementById("ops-count").textContent`)
	from, to := shownRange(t, b)
	b.Do(t, chromedp.Reload())
	b.Until(t, `document.documentElement.dataset.ready && document.getElementById("ops-outcome").value === "3"`)
	if f, u := shownRange(t, b); f != from || u != to {
		t.Errorf("after a reload the timeline shows %v to %v, expected %v to %v", f, u, from, to)
	}
	b.Until(t, fmt.Sprintf(`document.getElementById("ops-count").textContent === %q`, count))
	// A link that is followed while the timeline comes to rest is not lost to the address of the view.
	b.Do(t, chromedp.Focus(chromedp.ID("timeline")), chromedp.KeyEvent("+"))
	browser.Eval[bool](t, b, `addEventListener("hashchange", (e) => e.stopImmediatePropagation(), { once: true, capture: true }); location.hash = "#op-31"; true`)
	b.Until(t, `Math.abs(tidemark.from - parseFloat(document.getElementById("timeline-range").textContent)) < 0.002`)
	if hash := browser.Eval[string](t, b, `location.hash`); hash != "#op-31" {
		t.Errorf("the timeline that came to rest replaced #op-31 by %s", hash)
	}
	// Where storage of the page's address is refused, or nonsense stands in it, the page stays whole.
	for _, hash := range []string{"#ops?from=1e99&to=-5&kind=999&client=x", "#t=1e999", "#op-999999999999", "#%%%", "#ops?" + hostile} {
		browser.Eval[bool](t, b, fmt.Sprintf(`location.hash = %q; true`, hash))
	}
	b.Quiet(t, url)
}

// TestWhatIsSaidToThoseWhoDoNotSee holds the page to what screen readers need: every picture and every field has a name, headings do not skip
// a level, ids are unique, and the page can be entered past its navigation.
func TestWhatIsSaidToThoseWhoDoNotSee(t *testing.T) {
	b := browser.Open(t, "light")
	url := open(t, b, finished(t, ""))
	for what, query := range map[string]string{
		"pictures without a name":    `[...document.querySelectorAll("canvas, svg")].filter((e) => !e.closest("[aria-label], [aria-hidden=true]")).length`,
		"fields without a name":      `[...document.querySelectorAll("input, select")].filter((e) => !e.labels.length && !e.ariaLabel).length`,
		"buttons without a name":     `[...document.querySelectorAll("button, summary, a")].filter((e) => !(e.ariaLabel || e.textContent.trim())).length`,
		"ids that stand twice":       `(() => { const all = [...document.querySelectorAll("[id]")].map((e) => e.id); return all.length - new Set(all).size; })()`,
		"headings that skip a level": `(() => { let last = 1, skips = 0; for (const h of document.querySelectorAll("h1, h2, h3, h4")) { const n = +h.tagName[1]; if (n > last + 1) skips++; last = n; } return skips; })()`,
		"tables without headings":    `[...document.querySelectorAll("table:not(.u-legend)")].filter((e) => !e.querySelector("th") && !e.closest("details")).length`,
	} {
		if n := browser.Eval[int](t, b, query); n != 0 {
			t.Errorf("%d %s, expected none", n, what)
		}
	}
	if text := browser.Eval[string](t, b, `document.querySelector("body > a").getAttribute("href")`); text != "#witness" {
		t.Errorf("the first thing to reach by keyboard leads to %q, expected #witness", text)
	}
	b.Quiet(t, url)
}

// TestThePageOnPaper: what is folded is open, what only a screen can do is gone, and ink is dark on white whatever the scheme.
func TestThePageOnPaper(t *testing.T) {
	b := browser.Open(t, "dark")
	url := open(t, b, finished(t, ""))
	dark := browser.Eval[string](t, b, `getComputedStyle(document.body).backgroundColor`)
	browser.Eval[bool](t, b, `dispatchEvent(new Event("beforeprint")); true`)
	browser.Call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if n := browser.Eval[int](t, b, `document.querySelectorAll("details:not([open])").length`); n != 0 {
		t.Errorf("%d details are folded on paper", n)
	}
	if shown := browser.Eval[string](t, b, `getComputedStyle(document.querySelector("nav")).display + getComputedStyle(document.getElementById("copy")).display`); shown != "nonenone" {
		t.Errorf("navigation and button are shown on paper: %s", shown)
	}
	if paper := browser.Eval[string](t, b, `getComputedStyle(document.body).backgroundColor`); paper == dark || paper != "rgb(255, 255, 255)" {
		t.Errorf("the ground is %s on paper and %s in the dark, expected white on paper", paper, dark)
	}
	b.Quiet(t, url)
}

// TestThePageOnAPhone: nothing is cut off at the edge of a narrow screen, with everything unfolded and drawn, in either colour scheme; only what has a box of its own
// scrolls sideways.
func TestThePageOnAPhone(t *testing.T) {
	for scheme, odd := range map[string]string{"light": hostile, "dark": strings.Repeat("long", 60)} {
		b := browser.Open(t, scheme)
		b.Phone(t)
		url := open(t, b, finished(t, odd))
		browser.Eval[bool](t, b, `dispatchEvent(new Event("beforeprint")); true`) // unfolds and draws all
		b.Fits(t, "the report, "+scheme)
		b.Quiet(t, url)
	}
}

// BenchmarkPage opens the page of a run of 50,000 operations and drags its timeline to and fro for three seconds, as fast as a hand does: frames a
// second, the longest wait for one, also of those after it was let go, how long until the page has been painted with everything in its place, and
// its size; for opening and for a frame also what all of the browser's processes had of the processors.
func BenchmarkPage(b *testing.B) {
	const many = 50_000
	o, h := invalidRun()
	few := len(h.Ops)
	for i := 0; len(h.Ops) < many; i++ { // spread over the same time
		op := h.Ops[i%few]
		shift := time.Duration(i/few+1) * 2 * time.Millisecond
		op.ID, op.Invoke, op.Return = int64(len(h.Ops)), op.Invoke+shift, op.Return+shift
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
	tab := browser.Open(b, "light")
	// The second frame after the page said that it is ready shows it.
	browser.Call(b, tab, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `
		new MutationObserver((_, seen) => {
			if (!document.documentElement?.dataset.ready) return;
			seen.disconnect();
			requestAnimationFrame(() => requestAnimationFrame(() => { window.usable = performance.now(); }));
		}).observe(document, { attributes: true, subtree: true })`})
	for b.Loop() {
		began := tab.ProcessorTime(b)
		tab.Do(b, chromedp.Navigate("file://"+path))
		tab.Until(b, `window.usable`)
		usable := browser.Eval[[]float64](b, tab, `[window.usable]`)
		opened := tab.ProcessorTime(b)
		drag := browser.Eval[[]float64](b, tab, `new Promise((done) => {
			const c = document.getElementById("timeline"), gaps = [];
			c.scrollIntoView();
			document.getElementById("timeline-in").click();
			const y = c.getBoundingClientRect().top + 40;
			const event = (type, x) => c.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, button: 0, pointerId: 1, bubbles: true }));
			let frames = 0, dragged = 0, begun, last;
			const frame = (now) => {
				begun ??= now;
				if (last) gaps.push(now - last);
				last = now;
				if (now - begun < 3000) {
					event("pointermove", 600 + 250 * Math.sin((now - begun) / 200));
					frames++;
				} else if (!dragged) {
					dragged = now - begun;
					event("pointerup", 600);
				}
				if (now - begun < 3500) requestAnimationFrame(frame);
				else done([frames / dragged * 1000, Math.max(...gaps), gaps.length]);
			};
			event("pointerdown", 600);
			requestAnimationFrame(frame);
		})`)
		b.ReportMetric(drag[0], "frames/s")
		b.ReportMetric(drag[1], "ms-longest-wait")
		b.ReportMetric(float64((tab.ProcessorTime(b)-opened).Milliseconds())/drag[2], "cpu-ms/frame")
		b.ReportMetric(float64((opened - began).Milliseconds()), "cpu-ms-usable")
		b.ReportMetric(usable[0], "ms-usable")
		b.ReportMetric(float64(page.Len())/(1<<20), "MiB")
	}
}
