package index

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Retention says how much stays. The zero value keeps everything.
type Retention struct {
	Age   time.Duration // of a run that did not fail; one that did stays FailingTimes as long
	Count int           // runs, but for those that may be under way
	Bytes int64         // of all runs together
}

// FailingTimes is how many times longer failing runs stay.
const FailingTimes = 4

// Kept is a run on the disk, as far as retention cares.
type Kept struct {
	Name      string
	Started   time.Time
	Bytes     int64
	Failing   bool   // it is invalid or unknown, or nobody can tell
	Signature string // of what it failed of; "" if it has none
	Busy      bool   // it may be under way still
	Killed    bool   // it never told how it ended: there is nothing to be looked at
}

// Check looks whether the bounds can be meant.
func (r Retention) Check() error {
	switch {
	case r.Age < 0:
		return fmt.Errorf("age %v, expected a positive length of time, or 0 for no bound", r.Age)
	case r.Count < 0:
		return fmt.Errorf("count %d, expected a positive number, or 0 for no bound", r.Count)
	case r.Bytes < 0:
		return fmt.Errorf("bytes %d, expected a positive number, or 0 for no bound", r.Bytes)
	}
	return nil
}

// Removed names the runs that go, in the order in which they go. Those that are too old go in any case. Then, until count and bytes hold, the
// runs that were killed go first, then those that did not fail, then the failing ones of whose signature there is a newer run, and last the newest of
// each signature; among these the oldest first. A run that may be under way is left alone, and is none of those that are counted: as long as nobody knows
// what comes of it, nothing goes for its sake but for want of room.
func (r Retention) Removed(runs []Kept, now time.Time) []string {
	newest := map[string]string{}
	order := slices.Clone(runs)
	slices.SortFunc(order, func(a, b Kept) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name)) })
	count, bytes := 0, int64(0)
	for _, k := range order {
		if k.Failing && k.Signature != "" {
			newest[k.Signature] = k.Name
		}
		if !k.Busy {
			count++
		}
		bytes += k.Bytes
	}
	worth := func(k Kept) int {
		switch {
		case k.Killed:
			return 0
		case !k.Failing:
			return 1
		case newest[k.Signature] != k.Name:
			return 2
		default:
			return 3
		}
	}
	slices.SortStableFunc(order, func(a, b Kept) int { return cmp.Compare(worth(a), worth(b)) })
	var out []string
	for _, k := range order {
		over := r.Count > 0 && count > r.Count || r.Bytes > 0 && bytes > r.Bytes
		if k.Busy || !over && !r.tooOld(k, now) {
			continue
		}
		out = append(out, k.Name)
		count--
		bytes -= k.Bytes
	}
	return out
}

func (r Retention) tooOld(k Kept, now time.Time) bool {
	bound := r.Age
	if k.Failing {
		bound *= FailingTimes
	}
	return bound > 0 && now.Sub(k.Started) > bound
}
