package keys

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestOnce: a key stands once in an object, however it is written; other objects, and values, may have the same word.
func TestOnce(t *testing.T) {
	for text, says := range map[string]string{
		`{"a": 1, "b": {"a": "a", "c": [{"a": 1}, {"a": "a"}, "a", "a"]}, "c": "\"a\": "}`: "",
		`["a", "a", {"a": []}]`:              "",
		`7`:                                  "",
		"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}": `line 3: the key "a" a second time in one object, expected it once`,
		"[{\"b\": [[{\"c\": 1}]],\n\"b\" \n : 2}]":     `line 2: the key "b" a second time`,
		`{"status": "invalid", "Status": "valid"}`:     `the key "status" a second time`,
		`{"status": "invalid", "\u0073tatus": "good"}`: `the key "status" a second time`,
		`{"a/b": 1, "a\/b": 2}`:                        `the key "a/b" a second time`,
		`{"x": {"y": {}}, "z": {}, "x": 1}`:            `the key "x" a second time`,
	} {
		if err := Once([]byte(text)); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, expected %q", text, err, says)
		}
	}
}

// FuzzOnce: whatever the text, there is an answer.
func FuzzOnce(f *testing.F) {
	for _, text := range []string{`{"a":{"b":["c"]}}`, `"`, `{"`, `{"\`, `}]`, `{"a"`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, text []byte) { _ = Once(text) })
}

// TestToldInWords: what the source of this program says of a field is nothing to whoever wrote the file.
func TestToldInWords(t *testing.T) {
	for _, text := range []string{`{"seed": 42}`, `{"seed": "abc"}`, `{"seed": "1.5"}`, `{"seed": "18446744073709551616"}`, `{"seed": true}`, `{"seed": ""}`} {
		var into struct {
			Seed uint64 `json:"seed,string"`
		}
		err := json.Unmarshal([]byte(text), &into)
		if err == nil {
			t.Errorf("%s was read as %d", text, into.Seed)
			continue
		}
		if told := Told(err, "seed"); strings.Contains(told, "struct tag") || !strings.Contains(told, "seed") {
			t.Errorf("%s: %q, expected words on seed", text, told)
		}
	}
	if told := Told(errors.New("unexpected end of JSON input"), "seed"); told != "unexpected end of JSON input" {
		t.Errorf("%q, expected other errors as they are", told)
	}
}
