package main

import (
	"strconv"
	"sync"
	"testing"

	"tidemark/checker"
	"tidemark/harness"
)

// TestAsManyRunsAreKeptAsThereIsRoomFor lets more runs fail side by side than keep their directories: each is told whether its own stays,
// and with it the line that replays it.
func TestAsManyRunsAreKeptAsThereIsRoomFor(t *testing.T) {
	k := newKeeper("", false)
	results := make([]*harness.Result, keepMax+5)
	var all sync.WaitGroup
	for i := range results {
		results[i] = &harness.Result{Verdict: checker.Verdict{Status: checker.Invalid}}
		all.Go(func() { k.keep(results[i], strconv.Itoa(i)) })
	}
	all.Wait()
	kept := 0
	for i, r := range results {
		if line, ok := k.replay(r); ok {
			kept++
			if line != strconv.Itoa(i) {
				t.Errorf("run %d is replayed by %q", i, line)
			}
		}
	}
	if kept != keepMax {
		t.Errorf("%d runs were kept, expected %d", kept, keepMax)
	}
	valid := &harness.Result{Verdict: checker.Verdict{Status: checker.Valid}}
	if newKeeper("", false).keep(valid, "") {
		t.Error("a valid run was kept")
	}
	if !newKeeper("", true).keep(valid, "") {
		t.Error("the only run was not kept")
	}
}
