package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// OpenReport opens the page of a run from the disk, and waits until it can be used.
func (b *Tab) OpenReport(t testing.TB, path string) (url string) {
	t.Helper()
	url = "file://" + path
	b.Do(t, chromedp.Navigate(url))
	b.Until(t, `document.documentElement.dataset.ready`)
	return url
}

// See scrolls to what a selector of a run's page selects, and waits until the charts there are drawn.
func (b *Tab) See(t testing.TB, selector string) {
	t.Helper()
	b.Until(t, fmt.Sprintf(`[...document.querySelectorAll(%q)].flatMap((e) => [e, ...e.querySelectorAll(".chart")]).every((e) => (e.scrollIntoView({ block: "center" }), !e.matches(".chart[role]") || e.childElementCount > 0))`, selector))
}

// Tour goes through the page of a run that broke its word as a reader does: the verdict, every chart, the timeline by keyboard, filters, the
// operation that a finding names, a link to it, and the replay line. It fails the test where something does not answer, or the page complains.
func (b *Tab) Tour(t testing.TB, path, headline string) {
	t.Helper()
	b.Do(t, chromedp.Navigate("about:blank"))
	b.Forget()
	url := b.OpenReport(t, path)
	if h1 := Eval[string](t, b, `document.querySelector("h1").textContent`); h1 != headline {
		t.Errorf("the page says %q, expected %q", h1, headline)
	}
	b.See(t, ".chart")
	for _, c := range Eval[[]string](t, b, `[...document.querySelectorAll("canvas")].filter((c) => {
		const pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
		return new Set(pixels).size < 5;
	}).map((c) => c.closest("[aria-label]").ariaLabel)`) {
		t.Errorf("nothing is drawn of: %s", c)
	}
	wide := `(() => { const [from, to] = document.getElementById("timeline-range").textContent.match(/[0-9.]+/g); return to - from; })()`
	b.Do(t, chromedp.Focus(chromedp.ID("timeline")), chromedp.KeyEvent("0"))
	all := Eval[float64](t, b, wide)
	b.Do(t, chromedp.KeyEvent("+"))
	if half := Eval[float64](t, b, wide); half > all*0.51 {
		t.Errorf("zoomed in, the timeline shows %v s of %v s", half, all)
	}
	b.Do(t, chromedp.KeyEvent("n"), chromedp.KeyEvent(kb.Enter))
	told, row := Eval[string](t, b, `document.getElementById("timeline-readout").textContent`), Eval[string](t, b, `document.activeElement.closest("tr")?.id ?? ""`)
	if id, ok := strings.CutPrefix(row, "op-"); !ok || !strings.HasPrefix(told, "operation "+id+" ") {
		t.Errorf("by keyboard the operation %q is reached, and the row %q", told, row)
	}
	set := `document.getElementById("timeline-all").click(); { const f = document.getElementById("ops-outcome"); f.value = %q; f.dispatchEvent(new Event("input", { bubbles: true })); } [...document.querySelectorAll("#ops td .outcome")].slice(1).map((e) => e.textContent).join(" ")`
	if words := strings.Fields(Eval[string](t, b, fmt.Sprintf(set, "1"))); len(words) == 0 || strings.Count(strings.Join(words, " "), "ok") != len(words) {
		t.Errorf("filtered by ok, the rows say %q", words)
	}
	// The address stays a link to the operation, which the page follows when it is opened anew.
	if named := Eval[string](t, b, `(() => { const a = document.querySelector("#witness a.op"); a?.click(); return a?.getAttribute("href") ?? ""; })()`); named != "" {
		selected := fmt.Sprintf(`document.querySelectorAll("tr.selected" + %q).length === 1`, named)
		b.Until(t, selected)
		b.Do(t, chromedp.Reload())
		b.Until(t, `document.documentElement.dataset.ready`)
		b.Until(t, selected)
	}
	Eval[bool](t, b, `navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }; document.getElementById("copy").click(); true`)
	b.Until(t, `document.getElementById("copy").textContent === "Copied" && copied === document.getElementById("replay-line").textContent`)
	b.Quiet(t, url)
}
