package history

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tidemark/internal/garbage"
)

// TestGarbageJournals spoils a journal's bytes. It is read up to its last whole frame, or refused; it is never read as more.
func TestGarbageJournals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w, err := CreateJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := story(w)
	valid, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bound := garbage.Bound{Bytes: 16 << 20, Times: 64, Says: []string{"expected", "more than"}}
	accepted, refused := bound.Hold(t, garbage.Of(valid, 1), func(in garbage.Input) error {
		got, truncated, err := ReadJournal(bytes.NewReader(in.Data))
		if err != nil {
			return err
		}
		if len(truncated) > 1024 || len(got.Ops) > len(h.Ops) {
			t.Errorf("%s: %d operations, %.100s, expected at most %d", in.Name, len(got.Ops), truncated, len(h.Ops))
		}
		if whole := reflect.DeepEqual(got.Ops, h.Ops) && len(got.Steps) == len(h.Steps); in.Kind == garbage.Cut && whole && truncated == "" {
			t.Errorf("%s: read as the whole, with nothing left out", in.Name)
		}
		return nil
	})
	if accepted < 40 || refused < 40 {
		t.Errorf("%d accepted, %d refused, expected many of both", accepted, refused)
	}
}

// TestGarbageLines spoils each kind of line inside an intact frame. What is accepted is the same after being written and read.
func TestGarbageLines(t *testing.T) {
	bound := garbage.Bound{Bytes: 64 << 10, Times: 64, Says: []string{"expected", "string", "surrogate", "more than"}}
	h := story(nil)
	entries, err := h.inOrder()
	if err != nil {
		t.Fatal(err)
	}
	inputs := garbage.Of([]byte(`{"journal":1}`), 1)
	for i, e := range entries[:min(len(entries), 40)] {
		inputs = append(inputs, garbage.Of(e.appendLine(nil, h), uint64(i))...)
	}
	long := strings.Repeat("x", garbage.Large)
	for _, text := range []string{`{"t":%q}`, `{%q:1}`, `{"t":"invoke",%q:1}`, `{"t":"return","i":0,"at":0,"as":%q}`, `{"t":"invoke","f":%q}`, `{"t":"state","parts":[{%q:0}]}`,
		`{"t":"step","i":0,"at":0,"b":%q}`, `{"t":"return","recs":[0,{%q:""}]}`, `{"t":"return","recs":[0,{"base64":%q}]}`, `{"t":"mark","i":0,"at":0,"failed":%q}`} {
		inputs = append(inputs, garbage.Input{Name: text, Kind: garbage.Long, Data: fmt.Appendf(nil, text, long)})
	}
	for _, part := range []string{"[", "{", `{"t":`, `"\u0000`, `"\ud800`, "0", "-", " ", `{"base64":`} {
		inputs = append(inputs, garbage.Input{Name: part + " again and again", Kind: garbage.Long, Data: []byte(strings.Repeat(part, garbage.Large/len(part)))})
	}
	for _, c := range [][3]string{{`{"t":"state","i":0,"at":0,"parts":[`, `{}`, `]}`}, {`{"t":"state","i":0,"at":0,"parts":[{"reps":[`, `{}`, `]}]}`},
		{`{"t":"state","i":0,"at":0,"parts":[{"isr":[`, `1`, `]}]}`}, {`{"t":"step","i":0,"at":0,"isr":[`, `1`, `]}`}, {`{"t":"fault","i":0,"at":0,"on":[`, `1`, `]}`},
		{`{"t":"dump","i":0,"at":0,"recs":[`, `0,0,""`, `]}`}, {`{"t":"return","i":0,"at":0,"recs":[`, `0,""`, `]}`}} {
		many := strings.Repeat(c[1]+",", garbage.Large/(len(c[1])+1)) + c[1]
		inputs = append(inputs, garbage.Input{Name: c[0] + c[1] + " again and again", Kind: garbage.Long, Data: []byte(c[0] + many + c[2])})
	}
	read := func(line []byte) (*History, error) {
		j := &journalReader{h: &History{}, busy: map[int32]int64{}, line: 1}
		j.known = map[string]string{}
		return j.h, j.readLines(append(bytes.Clone(line), '\n'))
	}
	_, refused := bound.Hold(t, inputs, func(in garbage.Input) error {
		got, err := read(in.Data)
		if err != nil || bytes.IndexByte(in.Data, '\n') >= 0 || len(in.Data) == 0 {
			return err
		}
		if in.Kind == garbage.Cut {
			t.Errorf("%s: read as %+v", in.Name, got)
		}
		back, err := got.inOrder()
		if err != nil || len(back) != 1 {
			t.Errorf("%s: read as %d entries, %v, expected one", in.Name, len(back), err)
			return nil
		}
		if again, err := read(back[0].appendLine(nil, got)); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: read as %+v, written and read as %+v, %v", in.Name, got, again, err)
		}
		return nil
	})
	if refused < 1000 {
		t.Errorf("%d refused, expected at least 1000", refused)
	}
}
