package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// said runs one command line and returns all that it said. Nothing of that may steer a terminal.
func said(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	var out, log strings.Builder
	code = execute(context.Background(), args, &out, &log)
	for _, said := range []string{out.String(), log.String()} {
		for i, r := range said {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Errorf("%q said %U: %q", args, r, said[max(0, i-60):])
				break
			}
		}
	}
	return log.String() + out.String(), code
}

// TestNothingReadSteersTheTerminal: keys, values and names that somebody sent, and arguments, are shown as text, and none of them is a line of its own.
func TestNothingReadSteersTheTerminal(t *testing.T) {
	const esc = "\x1b[2J\x1b]0;x\a\u202e"
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lost := write("lost.edn", strings.ReplaceAll(`
{:process 0 :type :invoke :f :send :value [[:send "KEY" "a"]]}
{:process 0 :type :ok :f :send :value [[:send "KEY" [0 "a"]]]}
{:process 0 :type :invoke :f :send :value [[:send "KEY" "lostKEY"]]}
{:process 0 :type :ok :f :send :value [[:send "KEY" [1 "lostKEY"]]]}
{:process 0 :type :invoke :f :send :value [[:send "KEY" "c"]]}
{:process 0 :type :ok :f :send :value [[:send "KEY" [2 "c"]]]}
{:process 0 :type :invoke :f :send :value [[:send "KEY" "open"]]}
{:process 0 :type :info :f :send :value [[:send "KEY" "open"]] :error "KEY"}
{:process 1 :type :invoke :f :poll :value [[:poll]]}
{:process 1 :type :ok :f :poll :value [[:poll {"KEY" [[0 "a"] [2 "c"]]}]]}
`, "KEY", esc+"\nVALID: planted\n"))
	text, code := said(t, "check", lost, "--outcomes")
	if code != exitViolation || strings.Contains(text, "\nVALID: planted") || !strings.Contains(text, "lost") {
		t.Errorf("exit code %d, expected 1, and a lost write in one line:\n%s", code, text)
	}
	if text, code = said(t, "check", lost, "--json"); code != exitViolation || !strings.Contains(text, `\u001b[2J`) || !strings.Contains(text, `\u202e`) {
		t.Errorf("exit code %d, expected 1, and JSON that escapes what is not printable:\n%s", code, text)
	}
	said(t, "check", write("bad.edn", `{:process 0 :type :invoke :f :`+esc+` :value [[:send 0 1]]}`))
	said(t, "check", write("worse.edn", `{`+esc+`}`))
	said(t, "check", filepath.Join(dir, esc))
	said(t, "run", "--"+esc)
	said(t, esc)

	name := "20200101T000000Z-1\nremoved planted" + esc
	write(filepath.Join("runs", name, "run.json"), `{"format":1,"seed":"1","started":"2020-01-01T00:00:00Z"}`)
	if text, code = said(t, "prune", dir, "--dry"); code != exitValid || strings.Count(text, "\n") != 2 || !strings.Contains(text, "kept runs/20200101T000000Z-1") {
		t.Errorf("exit code %d, expected 0 and what stays in one line:\n%s", code, text)
	}
	write(filepath.Join("campaigns", "x"+esc+"\nplanted", "campaign.json"), esc)
	if text, _ = said(t, "index", dir); strings.Contains(text, "\nplanted") {
		t.Errorf("expected what was not read in one line:\n%s", text)
	}
}
