package index

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark/results/browser"
)

var parts = flag.String("parts", "", "directory into which TestThePageOfTheIndex puts pictures of the page; thrown away if empty")

// nights writes the pages of four nights, after which a failure is new, one is resolved, one still fails, and one is known; runs of two of them lie
// on the disk.
func nights(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for i, story := range []string{
		"hunt: loss, skip\n  violation loss; lost: election; 3\ncorpus: kept.txt for gap: truncation\n  violation kept.txt; gap: truncation; 1",
		"hunt: loss, skip\n  violation loss; lost: election; 2\n  violation skip; skipped: recovery; 1; known until 2026-12-31: waits for the next release\ncorpus: kept.txt for gap: truncation\n  violation kept.txt; gap: truncation; 1",
		"hunt: loss, skip, twice\n  violation twice; twice: retry; 4\n  violation loss; lost: election; 5\n  violation skip; skipped: recovery; 1; known until 2026-12-31: waits for the next release\ncorpus: kept.txt for gap: truncation",
	} {
		c := readNight(t, "", i, story).Campaign
		c.Started, c.Again = noon.Add(time.Duration(i-12)*time.Hour), fmt.Sprintf("tidemark nightly --master %d", i)
		for j := range c.Parts[0].Problems {
			c.Parts[0].Problems[j].Seed, c.Parts[0].Problems[j].Run, c.Parts[0].Problems[j].Replay = 7, fmt.Sprintf("20261130T02010%dZ-7", j), fmt.Sprintf("tidemark replay runs/20261130T02010%dZ-7", j)
		}
		create(t, root, c)
	}
	for j, signature := range []string{"twice: retry", "lost: election", "lost: election"} {
		dir := filepath.Join(root, "runs", fmt.Sprintf("20261130T02010%dZ-7", j))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"run.json":     `{"format":1,"started":"2026-11-30T02:01:02Z","seed":"7","world":"sim"}`,
			"results.json": fmt.Sprintf(`{"format":1,"seed":"7","replay":"tidemark replay","verdict":{"format":1,"status":"invalid","reason":"it broke","findings":[{"severity":"violation","signature":%q}]}}`, signature),
			"report.html":  "<!doctype html><title>a run</title><link rel=icon href=data:,>",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	x, err := Read(root, noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.WritePages(root); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestThePageOfTheIndex reads it as somebody does in the morning, from the disk and from tidemark serve, light and dark: what is new, what became of
// the rest, the trends, the line that repeats a failure, and the way to a run and to a night.
func TestThePageOfTheIndex(t *testing.T) {
	root := nights(t)
	serve := httptest.NewServer(server(t, root))
	defer serve.Close()
	for scheme, url := range map[string]string{"light": "file://" + filepath.Join(root, "campaigns", "index.html"), "dark": serve.URL + "/campaigns/"} {
		b := browser.Open(t, scheme)
		b.Do(t, chromedp.Navigate(url))
		for heading, signature := range map[string]string{"new 1": "twice: retry", "resolved 1": "gap: truncation", "still failing 1": "lost: election", "known 1": "skipped: recovery"} {
			told := browser.Eval[string](t, b, fmt.Sprintf(`[...document.querySelectorAll("h3")].find((h) => h.innerText.trim().toLowerCase() === %q)?.nextElementSibling.innerText ?? ""`, heading))
			if !strings.HasPrefix(told, signature) {
				t.Errorf("%s: below %q stands %q, expected %s", scheme, heading, told, signature)
			}
		}
		if text := browser.Eval[string](t, b, `document.body.innerText`); !strings.Contains(text, "waits for the next release") || !strings.Contains(text, "2026-12-31") {
			t.Errorf("%s: the page does not say until when, and why, a failure is known", scheme)
		}
		if rows := browser.Eval[[]string](t, b, `[...document.querySelectorAll("h3")].find((h) => h.innerText.startsWith("Runs on the disk")).nextElementSibling.innerText.split("\n").slice(1)`); len(rows) < 2 || !strings.Contains(strings.Join(rows, "\n"), "lost: election\t2") {
			t.Errorf("%s: runs by signature are %q, expected two of lost: election", scheme, rows)
		}
		for _, line := range browser.Eval[[]string](t, b, `[...document.querySelectorAll("figure")].map((f) => f.querySelector("polyline").getAttribute("points").trim().split(/\s+/).length + " " + f.querySelectorAll("circle").length + " " + f.querySelector("svg").getBoundingClientRect().height)`) {
			var points, dots int
			var high float64
			if _, err := fmt.Sscan(line, &points, &dots, &high); err != nil || points != 3 || dots != 3 || high < 20 {
				t.Errorf("%s: a trend has points, dots and a height of %q, expected one of each of three nights", scheme, line)
			}
		}
		browser.Eval[bool](t, b, `navigator.clipboard ? navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); } : 0; document.querySelector(".changes button.copy").click(); true`)
		b.Until(t, `document.querySelector(".changes button.copy").textContent === "Copied" && copied === document.querySelector(".changes code").textContent`)
		if *parts != "" {
			b.Picture(t, filepath.Join(*parts, "index-"+scheme+".png"), 0)
		}
		b.Quiet(t, url)
		b.Forget()
		b.Do(t, chromedp.Click(chromedp.CSS(`.changes a[href$="report.html"]`)))
		b.Until(t, `document.title === "a run"`)
		b.Do(t, chromedp.Navigate(url), chromedp.Click(chromedp.CSS(`section a[href*="20261130T020000Z-nightly"]`)))
		b.Until(t, `document.querySelector("a[href='../index.html']")?.textContent.startsWith("All runs")`)
	}
}

// TestTheHostilePageOfTheIndex opens the page of a night that has hostile text wherever text can stand.
func TestTheHostilePageOfTheIndex(t *testing.T) {
	root, _ := site(t)
	serve := httptest.NewServer(server(t, root))
	defer serve.Close()
	b := browser.Open(t, "light")
	url := serve.URL + "/campaigns/"
	b.Do(t, chromedp.Navigate(url))
	if n := browser.Eval[int](t, b, `document.querySelectorAll("img, script:not(:last-of-type), [onclick], [onerror]").length`); n != 0 {
		t.Errorf("%d elements were made of a value", n)
	}
	if text := browser.Eval[string](t, b, `document.body.innerText`); !strings.Contains(text, "<script>alert(1)</script>") {
		t.Error("the page does not show a value as text")
	}
	b.Quiet(t, url)
}

// TestTheIndexOnAPhone: neither the index nor the page of a campaign is cut off at the edge of a narrow screen.
func TestTheIndexOnAPhone(t *testing.T) {
	root := nights(t)
	pages, err := filepath.Glob(filepath.Join(root, "campaigns", "*", "index.html"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages of campaigns, %v", len(pages), err)
	}
	hostile, _ := site(t)
	serve := httptest.NewServer(server(t, hostile))
	defer serve.Close()
	for scheme, more := range map[string]string{"light": "file://" + pages[0], "dark": serve.URL + "/campaigns/"} {
		b := browser.Open(t, scheme)
		b.Phone(t)
		for _, url := range []string{"file://" + filepath.Join(root, "campaigns", "index.html"), more} {
			b.Do(t, chromedp.Navigate(url))
			browser.Eval[bool](t, b, `document.querySelectorAll("details").forEach((d) => { d.open = true; }); true`)
			b.Fits(t, url+", "+scheme)
		}
	}
}
