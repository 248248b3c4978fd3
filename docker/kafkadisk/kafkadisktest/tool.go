// Package kafkadisktest reads what kafka.tools.DumpLogSegments prints, to compare a dump with.
package kafkadisktest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tidemark/history"
)

var (
	dumping = regexp.MustCompile(`^Dumping (?:.*/)?([^/]+)-(\d+)/\d{20}\.log$`)
	batch   = regexp.MustCompile(`^baseOffset: .*\bpartitionLeaderEpoch: (-?\d+) `)
	record  = regexp.MustCompile(`^(?:\| )?offset: (\d+) .*? payload: (.*)$`)
)

// Parse reads the output of DumpLogSegments for some segments, with --print-data-log, and --deep-iteration before 4.0: each partition's
// records in the order of the output. Values must be of one line. Formats without leader epochs give -1.
func Parse(text string) (map[history.Partition][]history.DumpRecord, error) {
	out := map[history.Partition][]history.DumpRecord{}
	var at history.Partition
	epoch := history.Epoch(-1)
	for n, line := range strings.Split(text, "\n") {
		if m := dumping.FindStringSubmatch(line); m != nil {
			index, err := strconv.ParseInt(m[2], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("line %d: %q, expected a partition of 32 bits", n+1, m[2])
			}
			at, epoch = history.Partition{Topic: m[1], Index: int32(index)}, -1
		} else if m := batch.FindStringSubmatch(line); m != nil {
			e, err := strconv.ParseInt(m[1], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("line %d: %q, expected an epoch of 32 bits", n+1, m[1])
			}
			epoch = history.Epoch(e)
		} else if m := record.FindStringSubmatch(line); m != nil {
			o, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil || at.Topic == "" {
				return nil, fmt.Errorf("line %d: %q, expected an offset of 64 bits, of a segment that is named before", n+1, m[1])
			}
			out[at] = append(out[at], history.DumpRecord{Offset: history.Offset(o), Epoch: epoch, Value: m[2]})
		}
	}
	return out, nil
}
