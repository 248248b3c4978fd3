package results

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// browser is one tab of a headless Chromium, with everything that it complained of or asked for.
type browser struct {
	ctx     context.Context
	profile string // its directory, which names its processes

	mu         sync.Mutex
	complaints []string // console errors and warnings, exceptions, dialogs
	requests   []string
}

// openBrowser starts Chromium with a fresh profile. Without Chromium the test fails: a report that nobody opened is not tested.
func openBrowser(t testing.TB, scheme string) *browser {
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
	bounded, cancel := context.WithTimeout(tab, 3*time.Minute)
	t.Cleanup(func() {
		cancel()
		closeTab()
		stopAlloc()
		_ = os.RemoveAll(profile)
	})
	b := &browser{ctx: bounded, profile: profile}
	if err := chromedp.Listen(tab, b.listen); err != nil { // starts the browser, which outlives the bound
		t.Fatalf("chromium does not start: %v", err)
	}
	call(t, b, network.Enable, network.EnableParams{})
	call(t, b, log.Enable, cdp.Empty{})
	call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	return b
}

func (b *browser) listen(event any) {
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

// do runs actions that return nothing.
func (b *browser) do(t testing.TB, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatalf("chromium: %v", err)
	}
}

// run runs an action and returns its value.
func run[T any](t *testing.T, b *browser, action chromedp.Action[T]) T {
	t.Helper()
	value, err := chromedp.Run(b.ctx, action)
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return value
}

// eval returns the value of a JavaScript expression.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	return run(t, b, chromedp.Evaluate[T](expression))
}

func call[P, R any](t testing.TB, b *browser, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		t.Fatalf("chromium: %v", err)
	}
}

// quiet fails the test unless the page asked for itself alone and complained of nothing.
func (b *browser) quiet(t *testing.T, url string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Errorf("the page complains: %s", c)
	}
	for _, r := range b.requests {
		if r != url && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page requests %s, expected nothing but %s", r, url)
		}
	}
	if len(b.requests) == 0 {
		t.Errorf("no request was seen, expected one for %s", url)
	}
}

// forget starts over with complaints and requests.
func (b *browser) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints, b.requests = nil, nil
}

// picture writes a PNG of the whole page, or of its top at most height pixels high if height is not 0.
func (b *browser) picture(t *testing.T, path string, height int64) {
	t.Helper()
	var png []byte
	if height > 0 {
		b.do(t, chromedp.EmulateViewport(1280, height, chromedp.EmulateScale(1.5)), chromedp.Sleep(300*time.Millisecond))
		png = run(t, b, chromedp.CaptureScreenshot())
	} else {
		png = run(t, b, chromedp.FullScreenshot(100))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		t.Fatal(err)
	}
}
