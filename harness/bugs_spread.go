package harness

import (
	"context"
	"fmt"
	"slices"

	"tidemark/broker/bug"
	"tidemark/world"
)

// BugSpread is how the searches for one bug went from several master seeds.
type BugSpread struct {
	Bug      bug.Name  `json:"bug"`
	Row      int       `json:"row"` // in the catalogue, 0 beyond it
	Source   string    `json:"source"`
	Searches int       `json:"searches"`
	Found    int       `json:"found"`   // as a class that counts
	Seconds  []float64 `json:"seconds"` // of each search, in ascending order; one that found nothing took its whole budget
	Runs     []int     `json:"runs"`    // of each search, in ascending order
	Missed   []string  `json:"missed"`  // what the others came to, in words
}

// Masters are n master seeds: the first itself, and others that are drawn from it.
func Masters(first uint64, n int) []uint64 {
	seeds := []uint64{first}
	for i := 1; i < n; i++ {
		seeds = append(seeds, world.Stream(first, "master", i).Uint64())
	}
	return seeds
}

// Repeat looks for one bug from n master seeds, and shrinks nothing. The error is ctx's end.
func (p Proof) Repeat(ctx context.Context, e bug.Entry, n int) (BugSpread, error) {
	s := BugSpread{Bug: e.Name, Row: e.Row, Source: e.Source}
	p.Shrinking = 0
	for _, master := range Masters(p.Master, n) {
		p.Master = master
		row, err := p.Search(ctx, e)
		if err != nil {
			return s, err
		}
		s.Searches++
		s.Seconds, s.Runs = append(s.Seconds, row.Seconds), append(s.Runs, row.Runs+row.Pursued)
		if row.Status == BugFound {
			s.Found++
		} else {
			s.Missed = append(s.Missed, fmt.Sprintf("master seed %d: %s", master, row.Outcome()))
		}
	}
	slices.Sort(s.Seconds)
	slices.Sort(s.Runs)
	return s, nil
}

// Median is the seconds of the search in the middle.
func (s BugSpread) Median() float64 { return s.Seconds[len(s.Seconds)/2] }
