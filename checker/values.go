package checker

import (
	"github.com/cespare/xxhash/v2"

	"tidemark/history"
)

// valueIndex finds the send of a value in a partition: an open-addressing table of positions in the history's operations, so that no value
// is stored twice. Values sent more than once to one partition share an entry; again counts the further sends.
type valueIndex struct {
	ops   []history.Op
	part  []int32 // partition number of each operation
	table []int32 // position + 1; 0 is free
	mask  uint64
	again map[int32]int32
}

func newValueIndex(ops []history.Op, part []int32, sends int) *valueIndex {
	size := 16
	for size < sends+sends/2 {
		size *= 2
	}
	return &valueIndex{ops: ops, part: part, table: make([]int32, size), mask: uint64(size - 1), again: map[int32]int32{}}
}

func hashValue(part int32, value string) uint64 {
	return xxhash.Sum64String(value) ^ uint64(uint32(part))*0x9e3779b97f4a7c15
}

// slot is the place of the value in the table: where it is, or where it would go.
func (x *valueIndex) slot(part int32, value string) uint64 {
	at := hashValue(part, value) & x.mask
	for x.table[at] != 0 {
		op := x.table[at] - 1
		if x.part[op] == part && x.ops[op].Value == value {
			return at
		}
		at = (at + 1) & x.mask
	}
	return at
}

// add enters the send at position op. A value that was failed first and sent again is known by the send that may have worked.
func (x *valueIndex) add(op int32) {
	at := x.slot(x.part[op], x.ops[op].Value)
	first := x.table[at] - 1
	if first < 0 {
		x.table[at] = op + 1
		return
	}
	count := x.again[first] + 1
	if x.ops[first].Outcome == history.Fail && x.ops[op].Outcome != history.Fail {
		delete(x.again, first)
		x.table[at], first = op+1, op
	}
	x.again[first] = count
}

// find returns the position of the value's send, or -1.
func (x *valueIndex) find(part int32, value string) int32 {
	return x.table[x.slot(part, value)] - 1
}
