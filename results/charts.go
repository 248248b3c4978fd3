package results

import (
	"math"
	"slices"
	"time"

	"tidemark/history"
)

// latency is how long acknowledged sends took, in milliseconds, by quantile, in bins of the time at which they were sent.
type latency struct {
	T    column `json:"t"` // middle of the bin, seconds
	P50  column `json:"p50"`
	P95  column `json:"p95"`
	P99  column `json:"p99"`
	Max  column `json:"max"`
	Open column `json:"open"` // the longest that a send of unknown outcome was waited for
}

// rate is operations a second by outcome, in bins of the time at which they were sent.
type rate struct {
	T       column  `json:"t"`
	Acked   column  `json:"acked"`
	Failed  column  `json:"failed"`
	Unknown column  `json:"unknown"`
	Polls   column  `json:"polls"`
	Width   seconds `json:"width"` // of a bin
}

type chartData struct {
	latency latency
	rate    rate
}

const binsMax = 300

// binWidth is the least round width of which at most binsMax cover the run.
func binWidth(end time.Duration) time.Duration {
	for unit := 10 * time.Millisecond; ; unit *= 10 {
		for _, k := range []time.Duration{1, 2, 5} {
			if end/(k*unit) < binsMax {
				return k * unit
			}
		}
	}
}

// chart bins the operations. A bin without an acknowledged send has no latency: the line has a gap there.
func chart(ops []history.Op, end time.Duration) chartData {
	width := binWidth(end)
	n := int(end/width) + 1
	taken := make([][]time.Duration, n)
	open := make([]time.Duration, n)
	r := rate{T: make(column, n), Acked: make(column, n), Failed: make(column, n), Unknown: make(column, n), Polls: make(column, n), Width: seconds(width)}
	for i := range ops {
		op := &ops[i]
		if op.Invoke < 0 || op.Invoke > end {
			continue
		}
		bin := int(op.Invoke / width)
		one := 1 / width.Seconds()
		switch {
		case op.Kind != history.Send:
			r.Polls[bin] += one
		case op.Outcome == history.OK:
			r.Acked[bin] += one
			taken[bin] = append(taken[bin], op.Return-op.Invoke)
		case op.Outcome == history.Fail:
			r.Failed[bin] += one
		default:
			r.Unknown[bin] += one
			open[bin] = max(open[bin], op.Return-op.Invoke)
		}
	}
	l := latency{T: r.T, P50: make(column, n), P95: make(column, n), P99: make(column, n), Max: make(column, n), Open: make(column, n)}
	for i := range n {
		r.T[i] = (time.Duration(i)*width + width/2).Seconds()
		slices.Sort(taken[i])
		l.P50[i], l.P95[i], l.P99[i], l.Max[i] = quantile(taken[i], 0.5), quantile(taken[i], 0.95), quantile(taken[i], 0.99), quantile(taken[i], 1)
		l.Open[i] = math.NaN()
		if open[i] > 0 {
			l.Open[i] = milliseconds(open[i])
		}
	}
	return chartData{l, r}
}

// quantile is the smallest of the sorted durations that at least a share q of them does not exceed, in milliseconds; NaN of none.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	return milliseconds(sorted[min(max(rank, 0), len(sorted)-1)])
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
