package checker

import (
	"math"

	"github.com/cespare/xxhash/v2"

	"tidemark/history"
)

// valueIndex finds the send of a value to a partition: an open-addressing table of positions in the history's operations, so that no value
// is stored twice. Values sent more than once share an entry; again counts the further sends.
type valueIndex struct {
	ops   []history.Op
	table []uint64 // upper half of the hash, position + 1; 0 is free
	mask  uint64
	again map[int32]int32
}

func newValueIndex(ops []history.Op, sends int) *valueIndex {
	size := 16
	for size < sends+sends/2 {
		size *= 2
	}
	return &valueIndex{ops: ops, table: make([]uint64, size), mask: uint64(size - 1), again: map[int32]int32{}}
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
		if x.ops[x.op(at)].Value == value {
			break
		}
	}
	return at, tag
}

// op is the position that a place holds, -1 if it is free.
func (x *valueIndex) op(at uint64) int32 { return int32(uint32(x.table[at])) - 1 }

// add enters the send at position op. A value that was failed first and sent again is known by the send that may have worked.
func (x *valueIndex) add(op int32) {
	at, tag := x.slot(x.ops[op].Value)
	first := x.op(at)
	if first < 0 {
		x.table[at] = tag | uint64(op+1)
		return
	}
	count := x.again[first] + 1
	if x.ops[first].Outcome == history.Fail && x.ops[op].Outcome != history.Fail {
		delete(x.again, first)
		x.table[at], first = tag|uint64(op+1), op
	}
	x.again[first] = count
}

// find returns the position of the value's send, or -1.
func (x *valueIndex) find(value string) int32 {
	at, _ := x.slot(value)
	return x.op(at)
}

// first returns the position by which the value of the send at position op is known.
func (x *valueIndex) first(op int32) int32 {
	if len(x.again) == 0 {
		return op
	}
	return x.find(x.ops[op].Value)
}
