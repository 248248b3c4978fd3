package plain

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// hostile is text that steers terminals, turns writing, hides, or is none.
const hostile = "ok é 日\x1b[2J\x1b]0;x\a\u202egnp.exe\u2066\u200b\u00ad\x7f\u009b31m\xff\xfe\u2028\u2029\U000E0041 end"

func TestNothingSteers(t *testing.T) {
	for name, got := range map[string]string{"Line": Line(hostile + "\n\t\r"), "Lines": Lines(hostile), "Writer": written(hostile)} {
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("%s left %U in %q", name, r, got)
			}
		}
		if !strings.HasPrefix(got, "ok é 日\uFFFD[2J") || !strings.HasSuffix(strings.TrimSpace(got), " end") {
			t.Errorf("%s: %q, expected what is printable to stay", name, got)
		}
	}
	if got := Lines("a\n\tb\r"); got != "a\n\tb\uFFFD" {
		t.Errorf("Lines: %q, expected its line ends and tabs to stay", got)
	}
	if got := Line("planted\n::error::x"); strings.Contains(got, "\n") {
		t.Errorf("Line: %q, expected one line", got)
	}
}

// written writes a text byte by byte: no character is broken, none is lost.
func written(text string) string {
	var out bytes.Buffer
	w := NewWriter(&out)
	for i := range len(text) {
		if n, err := w.Write([]byte{text[i]}); n != 1 || err != nil {
			panic(err)
		}
	}
	return out.String()
}

// TestJSONMeansTheSame: escaped, it holds nothing that steers, and reads back as what it was.
func TestJSONMeansTheSame(t *testing.T) {
	plain, err := json.MarshalIndent(map[string]string{"a": hostile}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got := JSON(plain)
	for _, r := range string(got) {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%U stands in %q", r, got)
		}
	}
	var before, after map[string]string
	if err := json.Unmarshal(plain, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &after); err != nil || before["a"] != after["a"] {
		t.Errorf("%q, %v, expected %q", after["a"], err, before["a"])
	}
}

func TestRaw(t *testing.T) {
	var out bytes.Buffer
	if Raw(NewWriter(&out)) != &out || Raw(&out) != &out {
		t.Error("Raw is not what stands behind")
	}
}
