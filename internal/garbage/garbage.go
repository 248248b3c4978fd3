// Package garbage makes bad input out of good, for the tests of every parser, and holds a parser to what bad input may do: be
// refused in few words, at little cost.
package garbage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// Kind is a way to spoil an input.
type Kind int

// The ways. Cut, a part from the front, is the only one that a parser must always notice, or read as a valid beginning.
const (
	Cut    Kind = iota // only the first bytes
	Flip               // one bit differs
	Noise              // random bytes, of any length up to twice the input's
	Length             // a number planted where a length may stand
	Splice             // bytes taken out of the middle, or standing twice
	Long               // the input with much behind it, up to Large bytes
)

// Large is how many bytes a Long input has about.
const Large = 1 << 20

// Input is one bad input, and its name for an error.
type Input struct {
	Name string
	Kind Kind
	Data []byte
}

// most bounds how many inputs of one kind there are.
const most = 40

// lengths are the numbers that are planted, in the forms in which a length is written: four bytes, and varints of both kinds.
var lengths = map[string][]byte{
	"2^31-1":          binary.BigEndian.AppendUint32(nil, math.MaxInt32),
	"-1":              binary.BigEndian.AppendUint32(nil, math.MaxUint32),
	"-2^31":           binary.BigEndian.AppendUint32(nil, 1<<31),
	"uvarint 2^31":    binary.AppendUvarint(nil, 1<<31),
	"uvarint 2^64-1":  binary.AppendUvarint(nil, math.MaxUint64),
	"varint -2^63":    binary.AppendVarint(nil, math.MinInt64),
	"endless uvarint": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
}

// lengthNames is in a fixed order, so that a seed gives the same inputs always.
var lengthNames = []string{"2^31-1", "-1", "-2^31", "uvarint 2^31", "uvarint 2^64-1", "varint -2^63", "endless uvarint"}

// Of makes at least a hundred bad inputs of a valid one, the same for the same seed. Each is a copy of its own.
func Of(valid []byte, seed uint64) []Input {
	rnd := rand.New(rand.NewPCG(seed, uint64(len(valid))))
	var out []Input
	add := func(kind Kind, data []byte, format string, args ...any) {
		out = append(out, Input{fmt.Sprintf(format, args...), kind, data})
	}
	for _, n := range places(len(valid)) {
		add(Cut, join(valid[:n]), "the first %d of %d bytes", n, len(valid))
	}
	for i := 0; i < most && len(valid) > 0; i++ {
		at, bit := rnd.IntN(len(valid)), rnd.IntN(8)
		data := join(valid)
		data[at] ^= 1 << bit
		add(Flip, data, "bit %d of byte %d flipped", bit, at)
	}
	for range most {
		data := make([]byte, rnd.IntN(2*len(valid)+32))
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		add(Noise, data, "%d random bytes", len(data))
	}
	for i, at := range places(len(valid)) {
		name := lengthNames[i%len(lengthNames)]
		planted := lengths[name]
		add(Length, join(valid[:at], planted, valid[min(at+len(planted), len(valid)):]), "%s over byte %d", name, at)
		add(Length, join(valid[:at], planted, valid[at:]), "%s before byte %d", name, at)
	}
	for i := 0; i < most && len(valid) > 1; i++ {
		from := rnd.IntN(len(valid))
		to := from + 1 + rnd.IntN(len(valid)-from)
		if i%2 == 0 {
			add(Splice, join(valid[:from], valid[to:]), "without bytes %d to %d", from, to)
		} else {
			add(Splice, join(valid[:to], valid[from:]), "with bytes %d to %d twice", from, to)
		}
	}
	add(Long, join(valid, make([]byte, Large)), "zeros behind it")
	again := make([]byte, 0, Large+len(valid))
	for len(valid) > 0 && len(again) < Large {
		again = append(again, valid...)
	}
	add(Long, again, "itself behind it, again and again")
	return out
}

// Claims makes, of each place of a valid input, an input of size bytes where a 4-byte length, and one where a varint, claims nearly
// as many elements as there are bytes behind it: what a decoder that trusts such a claim pays most for. fill is what follows.
func Claims(valid []byte, size int, fill byte) []Input {
	tail := make([]byte, size)
	for i := range tail {
		tail[i] = fill
	}
	var out []Input
	for _, at := range places(len(valid)) {
		n := size - at - 8
		for _, claim := range [][]byte{binary.BigEndian.AppendUint32(nil, uint32(n)), binary.AppendUvarint(nil, uint64(n))} {
			data := join(valid[:at], claim, tail)[:size]
			out = append(out, Input{fmt.Sprintf("%x at byte %d of %d, then bytes %d", claim, at, size, fill), Length, data})
		}
	}
	return out
}

// places spreads over the numbers below n, all of them where they are few.
func places(n int) []int {
	var out []int
	for i := 0; i < min(n, most); i++ {
		out = append(out, i*n/min(n, most))
	}
	return out
}

func join(parts ...[]byte) []byte {
	return bytes.Join(parts, nil)
}
