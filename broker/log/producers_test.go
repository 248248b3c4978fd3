package log

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// TestProducersAreAFunctionOfTheLog: whatever was appended, sent again, flushed, truncated and opened anew, after a clean end or a crash, what a log
// knows of producers is what a walk over all of its batches tells.
func TestProducersAreAFunctionOfTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fsys := disk.Mem()
		cfg := Config{SegmentBytes: rapid.IntRange(100, 600).Draw(t, "segment"), IndexIntervalBytes: 150, MaxBatchBytes: 300}
		l, _, err := Open(fsys, "t", cfg, 0, false)
		check(t, err)
		next := map[int64]int32{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"append", "append", "append", "again", "fetched", "plain", "flush", "truncate", "crash", "stop"}).Draw(t, "step") {
			case "append":
				id := rapid.Int64Range(1, 3).Draw(t, "producer")
				if _, _, err := l.Append(Sequence(BuildBatch(0, 0, 0, []byte("v")), id, 0, next[id]), 1); err == nil {
					next[id] = addSequence(next[id], 1)
				} else if known := l.producers.byID[id]; known != nil {
					next[id] = addSequence(known.newest().last, 1) // a truncation took some
				}
			case "again":
				for id := int64(1); id <= 3; id++ {
					if known := l.producers.byID[id]; known != nil {
						b := known.batches[rapid.IntRange(0, len(known.batches)-1).Draw(t, "batch")]
						twin := func(o sequencedBatch) bool { return o.first == b.first && o.last == b.last && o.base != b.base }
						if slices.ContainsFunc(known.batches, twin) {
							continue // fetched twice from a leader that no real one is like: either is the original
						}
						end := l.End()
						first, behind, err := l.Append(Sequence(BuildBatch(0, 0, 0, make([][]byte, b.end-b.base)...), id, known.epoch, b.first), 1)
						if err != nil || first != b.base || behind != b.end || l.End() != end {
							t.Fatalf("%+v sent again: offsets %d to %d, end %d, %v", b, first, behind, l.End(), err)
						}
					}
				}
			case "fetched":
				b := Sequence(BuildBatch(l.End(), 1, 0, []byte("v"), nil), rapid.Int64Range(1, 4).Draw(t, "producer"),
					rapid.Int16Range(0, 2).Draw(t, "epoch"), rapid.Int32().Filter(func(n int32) bool { return n >= 0 }).Draw(t, "sequence"))
				_, err := l.AppendFetched(b)
				check(t, err)
			case "plain":
				_, _, err := l.Append(BuildBatch(0, 0, 0, []byte("v")), 1)
				check(t, err)
			case "flush":
				check(t, flushAll(fsys, l))
			case "truncate":
				_, err := l.Truncate(kafka.Offset(rapid.Int64Range(0, int64(l.End())).Draw(t, "to")))
				check(t, err)
				l.SnapshotsCut()
			case "crash":
				point := l.RecoveryPoint()
				check(t, l.Close())
				l, _, err = Open(fsys, "t", cfg, point, false)
				check(t, err)
			case "stop":
				l.SnapshotProducers()
				check(t, flushAll(fsys, l))
				check(t, l.Close())
				l, _, err = Open(fsys, "t", cfg, 0, true)
				check(t, err)
			}
			want := &Log{segments: l.segments, end: l.end, tail: tail{}}
			check(t, want.replayProducers(0))
			if !sameProducers(l.producers, want.producers) {
				t.Fatalf("known %v, expected %v", show(l.producers), show(want.producers))
			}
		}
	})
}

// sameProducers compares all but when a producer was heard of.
func sameProducers(a, b producers) bool { return reflect.DeepEqual(show(a), show(b)) }

func show(p producers) map[int64]producer {
	out := map[int64]producer{}
	for id, known := range p.byID {
		out[id] = producer{epoch: known.epoch, batches: known.batches}
	}
	return out
}

func check(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// TestForgetsTheOldestProducers: a log knows so many producers at most, and those that wrote last stay.
func TestForgetsTheOldestProducers(t *testing.T) {
	var p producers
	for id := range int64(producersMax + 1) {
		p.note(sequence{producer: id, sequencedBatch: sequencedBatch{base: kafka.Offset(id), end: kafka.Offset(id) + 1}})
	}
	if n := len(p.byID); n != producersMax-producersMax/10+1 || p.byID[producersMax/10-1] != nil || p.byID[producersMax/10] == nil {
		t.Errorf("%d producers after %d", n, producersMax+1)
	}
}

// FuzzSnapshot: a snapshot is read whole or refused, and what was read is written back as it was.
func FuzzSnapshot(f *testing.F) {
	var p producers
	f.Add(p.format(), int64(0))
	p.note(sequence{producer: 7, epoch: 1, sequencedBatch: sequencedBatch{first: 1<<31 - 1, last: 0, base: 3, end: 5, at: -1}})
	p.note(sequence{producer: 7, epoch: 1, sequencedBatch: sequencedBatch{first: 1, last: 1, base: 5, end: 6, at: 12}})
	p.note(sequence{producer: 9, sequencedBatch: sequencedBatch{base: 6, end: 7}})
	f.Add(p.format(), int64(7))
	f.Add(p.format()[:40], int64(7))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		var p producers
		if p.parse(data, kafka.Offset(at)) != nil {
			return
		}
		var again producers
		if err := again.parse(p.format(), kafka.Offset(at)); err != nil || !sameProducers(p, again) {
			t.Fatalf("%v: %v, expected %v", err, show(again), show(p))
		}
	})
}
