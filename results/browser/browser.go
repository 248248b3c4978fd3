// Package browser opens pages in a headless Chromium for the tests of all that writes or carries pages.
package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tab is one tab of a headless Chromium, with everything that it complained of or asked for.
type Tab struct {
	ctx     context.Context
	profile string // its directory, which names its processes

	mu         sync.Mutex
	complaints []string // console errors and warnings, exceptions, dialogs
	requests   []string
}

// Open starts Chromium with a fresh profile and a colour scheme, light or dark; it ends with the test. Without Chromium the test fails: a page that
// nobody opened is not tested.
func Open(t testing.TB, scheme string) *Tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("no chromium (%v); install it: apt-get update && apt-get install -y --no-install-recommends chromium", err)
	}
	// The profile is not in t.TempDir: Chromium's helpers may still write while it is removed, which is no failure.
	profile, err := os.MkdirTemp("", "tidemark-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WindowSize(1280, 900),
	}
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), options...)
	tab, closeTab := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		closeTab()
		stopAlloc()
		_ = os.RemoveAll(profile)
	})
	b := &Tab{ctx: tab, profile: profile}
	if err := chromedp.Listen(tab, b.listen); err != nil { // starts the browser
		t.Fatalf("chromium does not start: %v", err)
	}
	Call(t, b, network.Enable, network.EnableParams{})
	Call(t, b, log.Enable, cdp.Empty{})
	Call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	return b
}

func (b *Tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value)+arg.Description)
			}
			b.complaints = append(b.complaints, "console: "+strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, fmt.Sprintf("exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		b.complaints = append(b.complaints, "log: "+e.Entry.Text)
	case *cdppage.EventJavascriptDialogOpening:
		b.complaints = append(b.complaints, "dialog: "+e.Message)
		go func() { // not from within the listener, which the answer would wait for
			_, _ = chromedp.Call(b.ctx, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{Accept: true})
		}()
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// stepMax is how long one step may take, on a machine that has much else to do.
const stepMax = 2 * time.Minute

// Do runs actions that return nothing.
func (b *Tab) Do(t testing.TB, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepMax)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatalf("chromium: %v", err)
	}
}

// Run runs an action and returns its value.
func Run[T any](t testing.TB, b *Tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepMax)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return value
}

// Eval returns the value of a JavaScript expression, of a promise the one that it comes to.
func Eval[T any](t testing.TB, b *Tab, expression string) T {
	t.Helper()
	return Run(t, b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Until waits until an expression of the page holds, of the page that a click or a link leads to if it leads to another.
func (b *Tab) Until(t testing.TB, condition string) {
	t.Helper()
	wait := fmt.Sprintf(`new Promise((done) => { const look = () => ((%s) ? done(true) : setTimeout(look, 20)); look(); })`, condition)
	ctx, cancel := context.WithTimeout(b.ctx, stepMax)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
		if err == nil {
			return
		}
		if ctx.Err() != nil || !left(err) {
			t.Fatalf("waiting for %s: %v", condition, err)
		}
	}
}

// left says that an expression had no answer because the page that it was put to has been left.
func left(err error) bool {
	text := err.Error()
	return strings.Contains(text, "navigated or closed") || strings.Contains(text, "context was destroyed") || strings.Contains(text, "Cannot find context")
}

// Call carries out a command of the DevTools protocol.
func Call[P, R any](t testing.TB, b *Tab, command cdp.Command[P, R], params P) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepMax)
	defer cancel()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		t.Fatalf("chromium: %v", err)
	}
}

// Quiet fails the test unless the page asked for itself alone, by whatever fragment, and complained of nothing.
func (b *Tab) Quiet(t testing.TB, url string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Errorf("the page complains: %s", c)
	}
	for _, r := range b.requests {
		if page, _, _ := strings.Cut(r, "#"); page != url && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page requests %s, expected nothing but %s", r, url)
		}
	}
	if len(b.requests) == 0 {
		t.Errorf("no request was seen, expected one for %s", url)
	}
}

// Forget starts over with complaints and requests.
func (b *Tab) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints, b.requests = nil, nil
}

// Picture writes a PNG of the whole page, or of its top at most height pixels high if height is not 0.
func (b *Tab) Picture(t testing.TB, path string, height int64) {
	t.Helper()
	var png []byte
	if height > 0 {
		b.Do(t, chromedp.EmulateViewport(1280, height, chromedp.EmulateScale(1.5)), chromedp.Sleep(300*time.Millisecond))
		png = Run(t, b, chromedp.CaptureScreenshot())
	} else {
		png = Run(t, b, chromedp.FullScreenshot(100))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Phone gives the tab a phone's screen, 390 pixels wide.
func (b *Tab) Phone(t testing.TB) {
	t.Helper()
	b.Do(t, chromedp.EmulateViewport(390, 844))
}

// Fits fails the test where the page is wider than the screen, or something in it is cut off at its edge that does not scroll in a box of its own.
func (b *Tab) Fits(t testing.TB, page string) {
	t.Helper()
	for _, wide := range Eval[[]string](t, b, `(() => {
		const width = document.documentElement.clientWidth, scrolls = (e) => e && e !== document.body && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
		const wide = new Set([...document.body.querySelectorAll("*")].filter((e) => {
			const r = e.getBoundingClientRect();
			return r.width > 0 && (r.right > width + 1 || r.left < -1) && !e.matches(".skip, .skip *") && !scrolls(e.parentElement) && getComputedStyle(e).visibility !== "hidden";
		}));
		const told = [...wide].filter((e) => !wide.has(e.parentElement)).map((e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.getAttribute("class") ? "." + e.getAttribute("class") : "") + " in " + (e.closest("[id]")?.id ?? "the page") + " to " + Math.round(e.getBoundingClientRect().right));
		const all = document.documentElement.scrollWidth;
		return [...(all > width ? ["the page itself, " + all + " wide"] : []), ...told].slice(0, 12);
	})()`) {
		t.Errorf("%s does not fit on the screen: %s", page, wide)
	}
}

// ProcessorTime is what the browser's processes have had of the processors, as a busy machine's clock says little.
func (b *Tab) ProcessorTime(t testing.TB) time.Duration {
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
