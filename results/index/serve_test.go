package index

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"tidemark/history"
	"tidemark/internal/garbage"
)

// site is a directory with two nights, two runs and a hostile night, and a secret outside that links and pipes inside lead to.
func site(t testing.TB) (root, secret string) {
	t.Helper()
	outer := t.TempDir()
	root, secret = filepath.Join(outer, "site"), "the secret outside"
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("../secret.json", secret)
	write("../runs/other/report.html", secret)
	for _, r := range []struct{ name, status, signature, reason string }{
		{"20261130T020102Z-7", "invalid", "lost: election", "a write is lost"},
		{"20261129T020102Z-9", "valid", "", hostile[0]},
		{"20261128T020102Z-<b>&#7", "invalid", hostile[1], hostile[4]},
	} {
		seed := cmp.Or(seedOf(r.name), "7")
		write("runs/"+r.name+"/run.json", `{"format":1,"started":"2026-11-30T02:01:02Z","seed":"`+seed+`","world":"sim"}`)
		findings := []any{map[string]any{"severity": "allowed", "signature": r.signature}}
		if r.status == "invalid" {
			findings = []any{map[string]any{"severity": "violation", "signature": r.signature}}
		}
		write("runs/"+r.name+"/results.json", string(must(t, map[string]any{"format": 1, "seed": seed, "replay": "bin/tidemark replay runs/" + r.name, "verdict": map[string]any{
			"format": 1, "status": r.status, "reason": r.reason, "findings": findings}})))
		write("runs/"+r.name+"/report.html", "<!doctype html><title>report</title>")
		if err := history.WriteJournal(filepath.Join(root, "runs", r.name, historyFile), nil, &history.History{}); err != nil {
			t.Fatal(err)
		}
		write("runs/"+r.name+"/broker-1.log", hostile[5])
	}
	write("runs/20261130T030000Z-8/run.json", `{"format":1,"seed":"8"}`)
	write("runs/20261130T030001Z-9/run.json", `{"format":`)
	write("runs/20261130T020102Z-7/private.txt", secret)
	for link, to := range map[string]string{
		"runs/20261130T020102Z-7/plan.txt": "../../../secret.json", "runs/20261130T020102Z-7/shrink.json": filepath.Join(outer, "secret.json"),
		"runs/linked": "../../runs/other", "campaigns/linked": outer,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for i, story := range []string{"hunt: loss, skip", "hunt: loss, skip\n  violation loss; lost: election; 2"} {
		c := readNight(t, "", 28+i, story).Campaign
		for j := range c.Parts[0].Problems {
			c.Parts[0].Problems[j].Run, c.Parts[0].Problems[j].Seed = "20261130T020102Z-7", 7
		}
		create(t, root, c)
	}
	create(t, root, hostileCampaign())
	return root, secret
}

func create(t testing.TB, root string, c Campaign) string {
	t.Helper()
	name, err := Create(root, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(root, name, c, noon); err != nil {
		t.Fatal(err)
	}
	return name
}

func must(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func server(t testing.TB, root string) *Server {
	t.Helper()
	s, err := NewServer(root, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ask sends a path as it is, also one that no client would send.
func ask(s *Server, method, path, host string) *httptest.ResponseRecorder {
	r := &http.Request{Method: method, URL: &url.URL{Path: path}, Host: host, Header: http.Header{}}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestServe goes through what there is to see.
func TestServe(t *testing.T) {
	root, _ := site(t)
	s := server(t, root)
	for _, c := range []struct{ path, mime, holds string }{
		{"/campaigns/", "text/html; charset=utf-8", "1 new"},
		{"/campaigns/", "text/html; charset=utf-8", "../runs/20261130T020102Z-7.zip"},
		{"/campaigns/", "text/html; charset=utf-8", "no verdict: the run is under way, or was interrupted"},
		{"/campaigns/", "text/html; charset=utf-8", "../runs/20261128T020102Z-%3Cb%3E&amp;%237/report.html"},
		{"/campaigns/index.html", "text/html; charset=utf-8", "Vacuous share"},
		{"/index.json", "application/json", `"standing": "new"`},
		{"/campaigns/20261129T020000Z-nightly-0/", "text/html; charset=utf-8", "nothing failed; the first campaign of its label"},
		{"/campaigns/20261130T020000Z-nightly-0/index.html", "text/html; charset=utf-8", "lost: election"},
		{"/campaigns/20261130T020000Z-nightly-0/campaign.json", "application/json", `"label": "nightly"`},
		{"/campaigns/20261130T020000Z-nightly-0/junit.xml", "text/xml; charset=utf-8", "<testsuites>"},
		{"/campaigns/20261130T020000Z-nightly-0/summary.md", "text/plain; charset=utf-8", "# nightly: FAILED"},
		{"/runs/20261130T020102Z-7/report.html", "text/html; charset=utf-8", "<title>report</title>"},
		{"/runs/20261130T020102Z-7/broker-1.log", "text/plain; charset=utf-8", hostile[5]},
		{"/runs/20261128T020102Z-<b>&#7/results.json", "application/json", "invalid"},
	} {
		w := ask(s, http.MethodGet, c.path, "127.0.0.1:8080")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != c.mime || !strings.Contains(w.Body.String(), c.holds) {
			t.Errorf("%s: %d, %s, expected 200, %s and %q:\n%.3000s", c.path, w.Code, w.Header().Get("Content-Type"), c.mime, c.holds, w.Body)
		}
		if w.Header().Get("Content-Security-Policy") == "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", c.path, w.Header())
		}
	}
	if w := ask(s, http.MethodGet, "/", "localhost"); w.Code != http.StatusFound || w.Header().Get("Location") != "/campaigns/" {
		t.Errorf("/: %d to %q, expected the page of the index", w.Code, w.Header().Get("Location"))
	}
	var listing Listing
	if err := json.Unmarshal(ask(s, http.MethodGet, "/index.json", "localhost").Body.Bytes(), &listing); err != nil || len(listing.Runs) != 5 || len(listing.Campaigns) != 3 {
		t.Errorf("%d runs, %d campaigns, %v; expected 5 and 3", len(listing.Runs), len(listing.Campaigns), err)
	}
}

// TestServeIsConfined: nothing outside of the directory is served, nor what no run leaves; the links inside that lead out lead nowhere.
func TestServeIsConfined(t *testing.T) {
	root, secret := site(t)
	s := server(t, root)
	for _, path := range []string{
		"/../secret.json", "/runs/../../secret.json", "/runs/../../runs/other/report.html", "/runs/linked/report.html", "/runs/linked.zip",
		"/campaigns/linked/campaign.json", "/runs/20261130T020102Z-7/plan.txt", "/runs/20261130T020102Z-7/shrink.json", "/runs/20261130T020102Z-7/private.txt",
		"/runs/20261130T020102Z-7/", "/runs/20261130T020102Z-7", "/runs/", "/runs", "/campaigns", "/index.html", "/runs/..zip", "/runs/..", "/runs/...zip", "//", "", "runs/x.zip",
		"/runs/\x00/report.html", "/runs/..\\..\\secret.json", "/runs/20261130T020102Z-7/..", "/runs/./20261130T020102Z-7/report.html", "/etc/passwd",
		"/campaigns/../campaigns/20261129T020000Z-nightly-0/campaign.json", "/runs//report.html", "/secret.json", "/runs/%2e%2e/secret.json",
	} {
		w := ask(s, http.MethodGet, path, "127.0.0.1:8080")
		if w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), secret) || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%q: %d %.200s, expected 404", path, w.Code, w.Body)
		}
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "10.0.0.1", "[::2]:80", "localhost.evil.example"} {
		if w := ask(s, http.MethodGet, "/", host); w.Code != http.StatusForbidden {
			t.Errorf("host %q: %d, expected a refusal", host, w.Code)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost:80", "[::1]:80", "LOCALHOST"} {
		if w := ask(s, http.MethodGet, "/campaigns/", host); w.Code != http.StatusOK {
			t.Errorf("host %q: %d, expected an answer", host, w.Code)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "\x00"} {
		if w := ask(s, method, "/", "localhost"); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("method %q: %d, expected a refusal", method, w.Code)
		}
	}
	if w := ask(s, http.MethodHead, "/runs/20261129T020102Z-9.zip", "localhost"); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("HEAD of an archive: %d and %d bytes", w.Code, w.Body.Len())
	}
}

// FuzzServe asks for anything: there is an answer, never of what stands outside, and a page only for what names one.
func FuzzServe(f *testing.F) {
	root, secret := site(f)
	s := server(f, root)
	for _, seed := range []string{"/", "/index.json", "/runs/20261130T020102Z-7/report.html", "/runs/20261130T020102Z-7.zip", "/runs/../../secret.json", "/runs/linked/report.html",
		"/campaigns/linked/index.html", "/campaigns/20261129T020000Z-nightly-0/", "/runs/..%2f..%2fsecret.json", "/runs/20261130T020102Z-7/plan.txt"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		w := ask(s, http.MethodGet, path, "localhost")
		if strings.Contains(w.Body.String(), secret) {
			t.Fatalf("%q leads outside", path)
		}
		if w.Code != http.StatusOK && (w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || strings.Count(w.Body.String(), "\n") != 1) {
			t.Fatalf("%q: %d, %s, %q, expected a line of text", path, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	})
}

// TestPagesShowHostileText parses every page as a browser does: the only script is the page's own, nothing handles an event, no address is
// of another place.
func TestPagesShowHostileText(t *testing.T) {
	root, _ := site(t)
	s := server(t, root)
	name := ""
	entries, err := os.ReadDir(filepath.Join(root, "campaigns"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "20261130") {
			name = e.Name()
		}
	}
	pages := map[string]string{"served": ask(s, http.MethodGet, "/campaigns/", "localhost").Body.String(), "a campaign": ask(s, http.MethodGet, "/campaigns/"+name+"/", "localhost").Body.String()}
	for _, file := range []string{"campaigns/index.html", "campaigns/" + name + "/index.html"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		pages[file] = string(text)
	}
	for what, text := range pages {
		if !strings.Contains(text, "alert(1)") {
			t.Errorf("%s does not show what it should escape", what)
		}
		doc, err := html.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		scripts := 0
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "script" {
				scripts++
			}
			if !slices.Contains([]string{"html", "head", "meta", "title", "link", "style", "body", "main", "section", "h1", "h2", "h3", "p", "a", "code", "div", "span", "button",
				"ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "polyline", "circle", "details", "summary", "br", "footer", "script"}, n.Data) {
				t.Errorf("%s has an element %s", what, n.Data)
			}
			if n.Data == "script" && n.FirstChild.Data != scriptText {
				t.Errorf("%s has a script %.200s", what, n.FirstChild.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "src" {
					t.Errorf("%s: %s has %s=%q", what, n.Data, a.Key, a.Val)
				}
				if a.Key == "href" && strings.Contains(a.Val, ":") && a.Val != "data:," {
					t.Errorf("%s links to %q", what, a.Val)
				}
			}
		}
		if scripts != 1 || !strings.Contains(text, strings.ReplaceAll(fingerprint(scriptText), "+", "&#43;")[1:20]) {
			t.Errorf("%s has %d scripts, expected the one that its policy lets run", what, scripts)
		}
		if strings.ContainsAny(text, "\x1b\u202e\x00") {
			t.Errorf("%s has a character that steers", what)
		}
	}
}

// TestArchive: a run's files and nothing else, under the run's name; twice the same bytes.
func TestArchive(t *testing.T) {
	root, secret := site(t)
	w := ask(server(t, root), http.MethodGet, "/runs/20261129T020102Z-9.zip", "localhost")
	z, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	if err != nil {
		t.Fatalf("%d: %v", w.Code, err)
	}
	if w := ask(server(t, root), http.MethodGet, "/runs/20261130T020102Z-7.zip", "localhost"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "is L---------") {
		t.Errorf("%d, %.300q, expected a refusal of the run with links in it", w.Code, w.Body)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); err != nil || string(text) == secret {
			t.Errorf("%s holds %q, %v", f.Name, text, err)
		}
	}
	want := []string{"20261129T020102Z-9/broker-1.log", "20261129T020102Z-9/history.ndjson.zst", "20261129T020102Z-9/report.html", "20261129T020102Z-9/results.json", "20261129T020102Z-9/run.json"}
	if !slices.Equal(names, want) {
		t.Errorf("the archive has %q, expected %q", names, want)
	}
	var again bytes.Buffer
	if err := Archive(&again, filepath.Join(root, "runs", "20261129T020102Z-9")); err != nil || !bytes.Equal(again.Bytes(), w.Body.Bytes()) {
		t.Errorf("%v: the archive from the disk has %d bytes, expected the same %d", err, again.Len(), w.Body.Len())
	}
}

// TestStaticPagesStandAlone: each address in them is a file that is there, or a page that was written with them.
func TestStaticPagesStandAlone(t *testing.T) {
	root, _ := site(t)
	checked := 0
	for _, page := range []string{"campaigns/index.html", "campaigns/20261130T020000Z-nightly-0/index.html"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := html.Parse(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				if a.Key != "href" || a.Val == "data:," {
					continue
				}
				u, err := url.Parse(a.Val)
				if err != nil || u.Path == "" || strings.HasSuffix(u.Path, ".zip") {
					t.Errorf("%s links to %q, %v", page, a.Val, err)
					continue
				}
				if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), filepath.FromSlash(u.Path))); err != nil {
					t.Errorf("%s links to %q: %v", page, a.Val, err)
				}
				checked++
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d links, expected at least ten", checked)
	}
}

// TestPrune removes runs, tells of them, and leaves what is outside alone.
func TestPrune(t *testing.T) {
	root, secret := site(t)
	now := time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC)
	for name, run := range map[string]string{
		"20261129T020102Z-9": `{"format":1,"started":"2026-11-29T02:01:02Z","seed":"9","world":"sim"}`,
		"20261128T020102Z-7": `{"format":1,"started":"2026-11-28T02:01:02Z","seed":"7","world":"sim"}`,
	} {
		if err := os.MkdirAll(filepath.Join(root, "runs", name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "runs", name, "run.json"), []byte(run), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	would, err := Prune(root, Retention{Count: 1}, now, true)
	if err != nil || len(would.Removed) == 0 {
		t.Fatalf("%v, %v, expected some", would, err)
	}
	x, err := Read(root, noon)
	if err != nil || len(x.Runs) != 6 {
		t.Fatalf("%d runs, %v: a look changes nothing", len(x.Runs), err)
	}
	if err := x.WritePages(root); err != nil {
		t.Fatal(err)
	}
	leads := func() (n int) {
		pages, err := filepath.Glob(filepath.Join(root, "campaigns", "*index.html"))
		inner, _ := filepath.Glob(filepath.Join(root, "campaigns", "2*", "index.html"))
		if err != nil || len(pages) == 0 || len(inner) == 0 {
			t.Fatalf("%d and %d pages, %v", len(pages), len(inner), err)
		}
		for _, path := range append(pages, inner...) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range would.Removed {
				n += strings.Count(string(text), name)
			}
		}
		return n
	}
	if leads() == 0 {
		t.Fatalf("no page tells of a run that is to go: %q", would.Removed)
	}
	removed, err := Prune(root, Retention{Count: 1}, now, false)
	if err != nil || !slices.Equal(removed.Removed, would.Removed) || removed.Removed[0] != "20261128T020102Z-7" {
		t.Errorf("%v, %v, expected %v, the one without a verdict first", removed, err, would)
	}
	if x, err = Read(root, noon); err != nil || len(x.Runs) != 6-len(removed.Removed) {
		t.Errorf("%d runs are left, %v, expected %d", len(x.Runs), err, 6-len(removed.Removed))
	}
	if n := leads(); n > 0 {
		t.Errorf("pages name runs that are gone %d times", n)
	}
	if text, err := os.ReadFile(filepath.Join(root, "..", "secret.json")); err != nil || string(text) != secret {
		t.Errorf("outside: %q, %v", text, err)
	}
}

// TestGarbageCampaigns: what is no campaign.json is refused in words at little cost, and the index tells of it and of all others.
func TestGarbageCampaigns(t *testing.T) {
	valid, err := Encode(hostileCampaign())
	if err != nil {
		t.Fatal(err)
	}
	bound := garbage.Bound{Bytes: 1 << 20, Times: 96, Says: []string{"expected"}}
	accepted, refused := bound.Hold(t, garbage.Of(valid, 1), func(in garbage.Input) error {
		c, err := Decode(in.Data, "fuzzed", noon)
		if err == nil {
			_ = JUnit(c)
			_ = Summary(c, difference(c))
			x := Index{Campaigns: []Stored{{"x", c}}}
			if err := x.WritePage(io.Discard, "", true); err != nil {
				t.Errorf("%s: %v", in.Name, err)
			}
		}
		return err
	})
	if accepted == 0 || refused < 50 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
	root, _ := site(t)
	if err := os.WriteFile(filepath.Join(root, "campaigns", "20261130T020000Z-nightly-0", campaignFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := Read(root, noon)
	if err != nil || len(x.Unread) != 3 || !strings.Contains(strings.Join(x.Unread, "\n"), "campaigns/linked: is a symbolic link") || len(x.Campaigns) != 2 {
		t.Errorf("%d campaigns, unread %q, %v", len(x.Campaigns), x.Unread, err)
	}
	if empty, err := Read(t.TempDir(), noon); err != nil || len(empty.Runs)+len(empty.Campaigns) != 0 {
		t.Errorf("an empty directory: %v, %v", empty, err)
	}
}

// FuzzCampaign reads anything as a campaign; what is accepted can be told in every format.
func FuzzCampaign(f *testing.F) {
	for _, c := range []Campaign{hostileCampaign(), {Started: noon}} {
		text, err := Encode(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode(text, "fuzzed", noon)
		if err != nil {
			return
		}
		rules := readSchema(t, "testdata/junit-ant.txt")
		for _, wrong := range rules.check(JUnit(c)) {
			if !strings.HasPrefix(wrong, "time of ") { // a campaign may say that it took forever
				t.Error(wrong)
			}
		}
		if n := len(Summary(c, difference(c))); n > 1<<20 {
			t.Errorf("a summary of %d bytes", n)
		}
		x := Index{Campaigns: []Stored{{fmt.Sprint("x", c.Label), c}}}
		if err := x.WritePage(io.Discard, "", false); err != nil {
			t.Error(err)
		}
	})
}
