package checker

import (
	"math"

	"github.com/cespare/xxhash/v2"

	"tidemark/history"
)

// valueIndex finds the send of a value to a partition: an open-addressing table of the sends' numbers, so that no value is stored
// twice. Values sent more than once share an entry; again counts the further sends.
type valueIndex struct {
	sent  []write
	table []uint64 // upper half of the hash, number + 1; 0 is free
	mask  uint64
	again map[nth]int32
}

func newValueIndex(sent []write) *valueIndex {
	size := 16
	for size < len(sent)+len(sent)/2 {
		size *= 2
	}
	return &valueIndex{sent: sent, table: make([]uint64, size), mask: uint64(size - 1), again: map[nth]int32{}}
}

// slot is the place of the value in the table, where it is or where it would go, and the tag that goes with it. The tag spares a look at
// operations that only share the place, each of which would be a cache miss.
func (x *valueIndex) slot(value string) (at, tag uint64) {
	hash := xxhash.Sum64String(value)
	tag = hash &^ math.MaxUint32
	for at = hash & x.mask; x.table[at] != 0; at = (at + 1) & x.mask {
		if x.table[at]&^math.MaxUint32 != tag {
			continue
		}
		if x.sent[x.nth(at)].value == value {
			break
		}
	}
	return at, tag
}

// nth is the send that a place holds, -1 if it is free.
func (x *valueIndex) nth(at uint64) nth { return nth(uint32(x.table[at])) - 1 }

// add enters a send. A value that was failed first and sent again is known by the send that may have worked; one that failed brings no copy.
func (x *valueIndex) add(i nth) {
	at, tag := x.slot(x.sent[i].value)
	first := x.nth(at)
	if first < 0 {
		x.table[at] = tag | uint64(i+1)
		return
	}
	switch {
	case x.sent[i].outcome == history.Fail:
	case x.sent[first].outcome == history.Fail:
		x.table[at] = tag | uint64(i+1)
	default:
		x.again[first]++
	}
}

// find returns the value's send, or -1.
func (x *valueIndex) find(value string) nth {
	at, _ := x.slot(value)
	return x.nth(at)
}

// first returns the send by which the value of a send is known.
func (x *valueIndex) first(i nth) nth {
	if len(x.again) == 0 {
		return i
	}
	return x.find(x.sent[i].value)
}
