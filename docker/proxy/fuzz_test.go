package proxy

import (
	"bytes"
	"testing"
)

// FuzzReader reads the same bytes in one piece and in pieces: the same frames begin at the same places, all that has passed is what came, and
// no more than a head's bytes are waited for.
func FuzzReader(f *testing.F) {
	request := []byte("\x00\x00\x00\x0a\x00\x01\x00\x04\x00\x00\x00\x07\xff\xff")
	f.Add(bytes.Repeat(request, 3), uint8(5))
	f.Add([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), uint8(1))
	f.Add(append(bytes.Clone(request), 0, 0, 0, 2, 9, 9, 0, 0), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		for _, responses := range []bool{false, true} {
			whole, wholeAt := cut(t, b, len(b)+1, responses)
			pieces, piecesAt := cut(t, b, int(piece)+1, responses)
			if whole != pieces || len(wholeAt) != len(piecesAt) {
				t.Fatalf("%d bytes in frames at %v in one piece, %d at %v in pieces of %d", whole, wholeAt, pieces, piecesAt, int(piece)+1)
			}
			for i := range wholeAt {
				if wholeAt[i] != piecesAt[i] {
					t.Fatalf("frames at %v in one piece, at %v in pieces of %d", wholeAt, piecesAt, int(piece)+1)
				}
			}
		}
	})
}

// cut reads bytes in pieces of a size, and says how many passed and where frames began.
func cut(t *testing.T, b []byte, piece int, responses bool) (passed int, at []int) {
	a := &asked{}
	for i := range int32(4) {
		a.ask(1, 4, i)
		a.ask(1, 4, 0x61626364)
	}
	r := reader{asked: a, responses: responses}
	for arrived := 0; arrived < len(b); {
		arrived = min(arrived+piece, len(b))
		for passed < arrived {
			n, what := r.next(b[passed:arrived])
			if what == tooFew {
				break
			}
			if what == beginning {
				at = append(at, passed)
				r.admit()
				continue
			}
			if n <= 0 || n > arrived-passed {
				t.Fatalf("%d of %d bytes pass", n, arrived-passed)
			}
			passed += n
		}
		if arrived-passed >= requestBytes {
			t.Fatalf("%d bytes wait, expected fewer than a head's %d", arrived-passed, requestBytes)
		}
	}
	return passed, at
}
