package harness

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestTheLowestWinsTheRace whoever is quickest: everything before the winner was carried out, whatever the number of workers.
func TestTheLowestWinsTheRace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.IntRange(0, 3).Draw(t, "first")
		wins := rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(t, "wins")
		lazy := rapid.SliceOfN(rapid.Bool(), len(wins), len(wins)).Draw(t, "lazy")
		workers := rapid.IntRange(1, 4).Draw(t, "workers")
		want := -1
		for i, w := range wins {
			if w {
				want = first + i
				break
			}
		}
		var mu sync.Mutex
		done := map[int]bool{}
		got := race(context.Background(), first, first+len(wins), workers, nil, func(ctx context.Context, n int) bool {
			if lazy[n-first] && want >= 0 && n > want {
				<-ctx.Done() // only the winner ends it
			}
			mu.Lock()
			defer mu.Unlock()
			done[n] = true
			return wins[n-first]
		})
		if got != want {
			t.Fatalf("%d won, expected %d", got, want)
		}
		for n := first; n < first+len(wins) && (want < 0 || n <= want); n++ {
			if !done[n] {
				t.Fatalf("%d was left out", n)
			}
		}
	})
}

// TestALateWordIsNoWin when a number ended in the very moment in which a lower one won, and reports only after that.
func TestALateWordIsNoWin(t *testing.T) {
	r := racing{next: 3, end: 9, won: -1, cancel: map[int]context.CancelFunc{}}
	for range 3 {
		r.take(context.Background())
	}
	for _, n := range []int{4, 3, 5} {
		r.over(n, true)
	}
	if r.won != 3 {
		t.Errorf("%d won, expected 3", r.won)
	}
}

// TestARaceEndsWithItsContext and with whoever says that no more is wanted.
func TestARaceEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	n := 0
	if won := race(ctx, 0, 1000, 1, nil, func(context.Context, int) bool {
		if n++; n == 5 {
			stop()
		}
		return false
	}); won != -1 || n != 5 {
		t.Errorf("%d won after %d, expected none after 5", won, n)
	}
	left, tried := 3, 0
	more := func() bool { left--; return left >= 0 }
	if won := race(context.Background(), 0, 1000, 1, more, func(context.Context, int) bool { tried++; return false }); won != -1 || tried != 3 {
		t.Errorf("%d won after %d, expected none after 3", won, tried)
	}
}
