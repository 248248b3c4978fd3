package garbage

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestOneSeedGivesTheSameInputs(t *testing.T) {
	valid := []byte("0\n2\norders 0 12\norders 1 7\n")
	one, two := Of(valid, 7), Of(valid, 7)
	if len(one) < 100 || len(one) != len(two) {
		t.Fatalf("%d and %d inputs, expected the same number, at least 100", len(one), len(two))
	}
	kinds := map[Kind]int{}
	for i := range one {
		kinds[one[i].Kind]++
		if one[i].Name != two[i].Name || !bytes.Equal(one[i].Data, two[i].Data) {
			t.Errorf("input %d is %s and then %s", i, one[i].Name, two[i].Name)
		}
	}
	for k := Cut; k <= Long; k++ {
		if kinds[k] == 0 {
			t.Errorf("no input of kind %d", k)
		}
	}
	if len(Of([]byte{1}, 1)) == 0 || len(Of(nil, 1)) == 0 {
		t.Error("nothing was made of a short input")
	}
}

// complaints takes what a test would report.
type complaints struct {
	testing.TB
	texts []string
}

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	c.texts = append(c.texts, format)
}

// sink keeps what is allocated from being optimized away.
var sink []byte

// TestABadParserIsNoticed: a parser for each thing that a bound forbids.
func TestABadParserIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		parse func(Input) error
		want  string
	}{
		"panics":         {func(Input) error { panic("so") }, "panic"},
		"allocates":      {func(Input) error { sink = make([]byte, 1<<20); return nil }, "allocated"},
		"is verbose":     {func(Input) error { return errors.New("expected" + strings.Repeat("!", 2000)) }, "an error of"},
		"says nothing":   {func(Input) error { return errors.New("no") }, "says one of"},
		"is as it ought": {func(Input) error { return errors.New("expected more") }, ""},
	} {
		var c2 complaints
		Bound{Bytes: 64 << 10, Says: []string{"expected"}}.Hold(&c2, []Input{{Name: "it"}}, c.parse)
		if got := strings.Join(c2.texts, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("a parser that %s: %q, expected a complaint with %q", name, got, c.want)
		}
	}
}
