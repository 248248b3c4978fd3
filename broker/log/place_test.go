package log

import (
	"testing"

	"tidemark/broker/disk"
)

// TestRecoveryFindsEveryGuardedBit inverts each bit that Guarded names, one at a time: recovery from the same point cuts the log there, and keeps
// what stands before.
func TestRecoveryFindsEveryGuardedBit(t *testing.T) {
	const recoveryPoint = 3
	written := func() disk.FS {
		fs := disk.Mem()
		l, _, err := Open(fs, "t", Config{SegmentBytes: 150, IndexIntervalBytes: 100, MaxBatchBytes: 150}, 0, false)
		must(t, err)
		for _, value := range []string{"aa", "bb", "cc", "dd", "ee"} {
			_, _, err := l.Append(BuildBatch(0, 0, 0, []byte(value)), 0)
			must(t, err)
		}
		must(t, l.Close())
		return fs
	}
	places, err := Guarded(written(), "t", recoveryPoint)
	must(t, err)
	bytes := 0
	for _, p := range places {
		bytes += int(p.To - p.From)
		for at := p.From; at < p.To; at++ {
			fs := written()
			f, err := fs.Open(p.Path, false)
			must(t, err)
			var b [1]byte
			must(t, disk.ReadFull(f, b[:], at))
			b[0] ^= 1 << (at % 8)
			_, err = f.WriteAt(b[:], at)
			must(t, err)
			l, rec, err := Open(fs, "t", Config{SegmentBytes: 150, IndexIntervalBytes: 100, MaxBatchBytes: 150}, recoveryPoint, false)
			must(t, err)
			if rec.TruncatedBytes == 0 || l.End() < recoveryPoint || l.End() > 4 {
				t.Fatalf("byte %d of %s: %+v, end %d; expected a cut at offset 3 or 4", at, p.Path, rec, l.End())
			}
			must(t, l.Close())
		}
	}
	if bytes != 2*(70-4) { // dd and ee, but for their leader epochs
		t.Errorf("%d bytes are guarded: %+v", bytes, places)
	}
}
