package garbage

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// Bound is what one bad input may cost.
type Bound struct {
	Bytes uint64   // allocated at most, however short the input is
	Times uint64   // and for each of its bytes
	Says  []string // an error has one of these words
}

// The same for every parser: an error is read by people, and an input takes no time that they would notice.
const (
	errorBytesMax = 1 << 10
	timeMax       = 5 * time.Second
)

// Hold hands each input to parse and reports what breaks the bound: a panic, an error that is too long or does not say what was
// expected, memory, time. It returns how many inputs were accepted and refused.
func (b Bound) Hold(t testing.TB, inputs []Input, parse func(Input) error) (accepted, refused int) {
	t.Helper()
	for _, in := range inputs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		panicked, err := try(parse, in)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if used, limit := after.TotalAlloc-before.TotalAlloc, b.Bytes+b.Times*uint64(len(in.Data)); used > limit {
			t.Errorf("%s: %d bytes allocated for %d, expected at most %d", in.Name, used, len(in.Data), limit)
		}
		if took > timeMax {
			t.Errorf("%s: took %v, expected at most %v", in.Name, took, timeMax)
		}
		switch {
		case panicked != "":
			t.Errorf("%s: panic: %s", in.Name, panicked)
		case err == nil:
			accepted++
		default:
			refused++
			b.checkText(t, in, err.Error())
		}
	}
	return accepted, refused
}

func (b Bound) checkText(t testing.TB, in Input, text string) {
	t.Helper()
	if len(text) > errorBytesMax {
		t.Errorf("%s: an error of %d bytes, expected at most %d: %.200s…", in.Name, len(text), errorBytesMax, text)
	}
	for _, word := range b.Says {
		if strings.Contains(text, word) {
			return
		}
	}
	if len(b.Says) > 0 {
		t.Errorf("%s: %q, expected an error that says one of %q", in.Name, text, b.Says)
	}
}

func try(parse func(Input) error, in Input) (panicked string, err error) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	return "", parse(in)
}
