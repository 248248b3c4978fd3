package main

import (
	"strconv"
	"sync"
	"testing"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/results"
)

// TestAsManyRunsAreKeptAsThereIsRoomFor lets more runs fail side by side than keep their directories: each is told whether its own stays,
// and where.
func TestAsManyRunsAreKeptAsThereIsRoomFor(t *testing.T) {
	k := newKeeper("", false)
	runs := make([]*harness.Result, keepMax+5)
	var all sync.WaitGroup
	for i := range runs {
		runs[i] = &harness.Result{Verdict: checker.Verdict{Status: checker.Invalid}}
		all.Go(func() { k.keep(runs[i], results.Dir{Path: strconv.Itoa(i)}) })
	}
	all.Wait()
	kept := 0
	for i, r := range runs {
		if d, ok := k.dir(r); ok {
			kept++
			if d.Path != strconv.Itoa(i) {
				t.Errorf("run %d is in %q", i, d.Path)
			}
		}
	}
	if kept != keepMax {
		t.Errorf("%d runs were kept, expected %d", kept, keepMax)
	}
	valid := &harness.Result{Verdict: checker.Verdict{Status: checker.Valid}}
	if newKeeper("", false).keep(valid, results.Dir{}) {
		t.Error("a valid run was kept")
	}
	if !newKeeper("", true).keep(valid, results.Dir{}) {
		t.Error("the only run was not kept")
	}
}
