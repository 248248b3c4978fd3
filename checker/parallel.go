package checker

import (
	"runtime"
	"sync"
	"sync/atomic"

	"tidemark/history"
)

// A check takes memory in proportion to the history, and none by its offsets: about 65 bytes an operation where half are sends and what was sent is
// in the log. That is, for each send, a copy of what is asked of it (56), what became of it (4), a place in the value index (8, of which a third to
// two thirds are free) and a record of the final log (40), and for each poll its position (4) and, if it came to the high watermark, where it ended
// (24). Of values and records it copies nothing. What is wrong comes on top, some 200 bytes each.

// inParallel calls do for every number below n, on as many processors as there are. A history is checked after its run, by values alone, and
// each call writes only what is its own, so which runs first changes nothing; results are put together in order of the numbers.
func inParallel(n int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			do(int(i))
		}
	}
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// stretch is how many operations a pass over all of them takes at a time.
const stretch = 1 << 16

// stretches is how many stretches so many operations have.
func stretches(ops int) int { return (ops + stretch - 1) / stretch }

// inStretches calls do in parallel for each stretch of so many operations, with its number and where it begins and ends.
func inStretches(ops int, do func(n, from, to int)) {
	inParallel(stretches(ops), func(n int) { do(n, n*stretch, min((n+1)*stretch, ops)) })
}

// numbering gives partitions numbers, dense from 0, in order of first use.
type numbering struct {
	names []history.Partition
	index map[history.Partition]int32
	short []int32 // of the first topic's partitions: 1 + the number by index, 0 where it is not known
}

// shortMax bounds the partitions that are found without a look-up. Most histories have one topic.
const shortMax = 1 << 12

// of returns the partition's number.
func (x *numbering) of(p history.Partition) int32 {
	short := uint32(p.Index) < uint32(len(x.short)) && p.Topic == x.names[0].Topic
	if short && x.short[p.Index] > 0 {
		return x.short[p.Index] - 1
	}
	n, ok := x.index[p]
	if !ok {
		if x.index == nil {
			x.index = map[history.Partition]int32{}
			x.short = make([]int32, shortMax)
		}
		n = int32(len(x.names))
		x.index[p] = n
		x.names = append(x.names, p)
	}
	if uint32(p.Index) < shortMax && p.Topic == x.names[0].Topic {
		x.short[p.Index] = n + 1
	}
	return n
}
