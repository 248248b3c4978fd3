package index

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAnArchiveLeavesOutNothing: a run whose directory holds what no archive does is not archived, neither by a command nor by the server, and what that is is named.
func TestAnArchiveLeavesOutNothing(t *testing.T) {
	for what, lay := range map[string]func(path string) error{
		`"x.log": is p---------, expected a file`: func(path string) error { return syscall.Mkfifo(path, 0o644) },
		`"x.log": is L---------, expected a file`: func(path string) error { return os.Symlink("run.json", path) },
		`"x.log": is d---------, expected a file`: func(path string) error { return os.Mkdir(path, 0o755) },
		"": func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		root := t.TempDir()
		dir := filepath.Join(root, runsDir, "20261130T020102Z-7")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, runFile), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := lay(filepath.Join(dir, "x.log")); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Archive(&out, dir); what == "" && err != nil || what != "" && (err == nil || !strings.Contains(err.Error(), what) || out.Len() > 0) {
			t.Errorf("%v and %d bytes, expected %q", err, out.Len(), what)
		}
		server, err := NewServer(root, func() time.Time { return noon })
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			asked, answer := httptest.NewRequest(method, "http://127.0.0.1/runs/20261130T020102Z-7.zip", nil), httptest.NewRecorder()
			server.ServeHTTP(answer, asked)
			if ok := answer.Code == http.StatusOK; ok != (what == "") || method == http.MethodGet && !ok && !strings.Contains(answer.Body.String(), "expected a file") {
				t.Errorf("%s: %d, %.300q, expected %q", method, answer.Code, answer.Body, what)
			}
		}
	}
}
