package edn

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"tidemark/internal/garbage"
)

// sample has some of everything that the format has.
func sample(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/sample/history.edn")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGarbage spoils a history. Wherever it is cut it is refused or has fewer entries; nothing panics or costs more than its size allows.
func TestGarbage(t *testing.T) {
	valid := sample(t)
	_, whole, err := Read(bytes.NewReader(valid))
	if err != nil {
		t.Fatal(err)
	}
	inputs := garbage.Of(valid, 1)
	for _, part := range []string{"[", "{", "#{", "#_", "#a ", "(", "\"", "\\", ":", "1", "[1", "{:a ", "#_ #_", "##", ";", "\"\\u", "é", "{} ", "[[:send 0 1]]"} {
		long := strings.Repeat(part, garbage.Large/len(part))
		inputs = append(inputs, garbage.Input{Name: part + " again and again", Kind: garbage.Long, Data: []byte(long)},
			garbage.Input{Name: "an operation with " + part, Kind: garbage.Long, Data: []byte("{:process 0 :type :invoke :f :send :value [" + long)})
	}
	bound := garbage.Bound{Bytes: 1 << 20, Times: 200, Says: []string{"expected"}}
	accepted, refused := bound.Hold(t, inputs, func(in garbage.Input) error {
		_, h, err := Read(bytes.NewReader(in.Data))
		if err == nil && in.Kind == garbage.Cut && len(h.Ops) > len(whole.Ops) {
			t.Errorf("%s: %d operations, expected at most %d", in.Name, len(h.Ops), len(whole.Ops))
		}
		return err
	})
	if accepted < 5 || refused < 100 {
		t.Errorf("%d accepted, %d refused, expected some and many", accepted, refused)
	}
}

// TestLimits holds the reader to its limits: one above is refused by name, one at them is read.
func TestLimits(t *testing.T) {
	nested := func(depth int) string {
		return "{:process :nemesis :type :info :f :kill :value " + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
	}
	token := func(size int) string {
		return `{:process :nemesis :type :info :f :kill :value "` + strings.Repeat("x", size) + `"}`
	}
	entry := func(size int) string {
		return `{:process :nemesis :type :info :f :kill :value [` + strings.Repeat("1 ", size/2) + `]}`
	}
	for _, c := range []struct{ name, ok, above, says string }{
		{"depth", nested(depthMax), nested(depthMax + 1), "nested more than 64 deep"},
		{"token", token(tokenBytesMax - 1), token(tokenBytesMax), "token of more than 1048576 bytes"},
		{"entry", entry(entryBytesMax - 100), entry(entryBytesMax), "operation of more than 16777216 bytes"},
	} {
		if _, _, err := Read(strings.NewReader(c.ok)); err != nil {
			t.Errorf("%s at its limit: %v", c.name, err)
		}
		if _, _, err := Read(strings.NewReader(c.above)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s above its limit: %v, expected %q", c.name, err, c.says)
		}
	}
}

// FuzzRead reads anything. What is read can be written where its keys are partitions of one topic, and is then read as the same.
func FuzzRead(f *testing.F) {
	f.Add(sample(f))
	for _, name := range []string{"testdata/read", "testdata/refused"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for piece := range strings.SplitSeq(string(b), "read\n") {
			input, _, _ := strings.Cut(piece, "----")
			f.Add([]byte(input))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		run, h, err := Read(bytes.NewReader(b))
		if err != nil {
			if len(err.Error()) > 1024 || !strings.Contains(err.Error(), "expected") {
				t.Errorf("%.2000q", err)
			}
			return
		}
		var once, twice bytes.Buffer
		if Write(&once, run, h) != nil {
			return
		}
		run, h, err = Read(bytes.NewReader(once.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, once.Bytes())
		}
		if err := Write(&twice, run, h); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("written once\n%s\nand twice\n%s", once.Bytes(), twice.Bytes())
		}
	})
}
