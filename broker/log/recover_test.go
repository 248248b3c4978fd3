package log

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// image is the files of a log of three batches in one segment, as a crash found it.
type image struct {
	data    []byte
	sizes   []int64        // of the log after each whole batch, from 0 on
	offsets []kafka.Offset // the end there
}

func newImage(t interface{ Fatal(...any) }) image {
	img := image{sizes: []int64{0}, offsets: []kafka.Offset{0}}
	for i, values := range [][]string{{"first"}, {"second", "batch"}, {"the third", "has", "three records"}} {
		var vs [][]byte
		for _, v := range values {
			vs = append(vs, []byte(v))
		}
		img.data = append(img.data, BuildBatch(img.offsets[i], kafka.Epoch(i), 0, vs...)...)
		img.sizes = append(img.sizes, int64(len(img.data)))
		img.offsets = append(img.offsets, img.offsets[i]+kafka.Offset(len(vs)))
	}
	return img
}

// recovered opens a log whose only segment holds data, and checks that it is exactly the first n batches of the image and can
// be appended to and opened again.
func (img image) recovered(t interface{ Fatalf(string, ...any) }, data []byte, n int, what string) {
	check := func(err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	fs := disk.Mem()
	check(fs.MkdirAll("t"))
	check(disk.Run(fs, disk.Step{Op: disk.WriteFile, Path: "t/00000000000000000000.log", Data: data}))
	cfg := Config{SegmentBytes: 1000, IndexIntervalBytes: 0, MaxBatchBytes: 1000}
	l, rec, err := Open(fs, "t", cfg, 0, false)
	check(err)
	if l.End() != img.offsets[n] || rec.To != l.End() || rec.TruncatedBytes != int64(len(data))-img.sizes[n] || rec.ScannedBytes != img.sizes[n] {
		t.Fatalf("%s: end %d and recovery %+v, expected %d", what, l.End(), rec, img.offsets[n])
	}
	if (rec.Reason != "") != (rec.TruncatedBytes > 0) || rec.From < rec.To {
		t.Fatalf("%s: %+v", what, rec)
	}
	if l.LatestEpoch() != kafka.Epoch(n-1) || len(l.Epochs()) != n {
		t.Fatalf("%s: epochs %v, expected %d of them", what, l.Epochs(), n)
	}
	kept, err := l.Read(0, l.End(), 1000, true)
	check(err)
	if !bytes.Equal(kept, img.data[:img.sizes[n]]) {
		t.Fatalf("%s: %d bytes kept, expected the first %d", what, len(kept), img.sizes[n])
	}
	_, end, err := l.Append(BuildBatch(0, 0, 0, []byte("more")), 9)
	check(err)
	check(l.Close())
	l, rec, err = Open(fs, "t", cfg, l.RecoveryPoint(), false)
	check(err)
	if l.End() != end || rec.Reason != "" {
		t.Fatalf("%s: end %d and recovery %+v after the next crash, expected %d and no cut", what, l.End(), rec, end)
	}
	check(l.Close())
}

// whole is the number of batches that end at or before a position.
func (img image) whole(pos int64) int {
	n := 0
	for n+1 < len(img.sizes) && img.sizes[n+1] <= pos {
		n++
	}
	return n
}

// TestTornTail cuts, zeroes and garbles the segment from every byte of the last two batches on.
func TestTornTail(t *testing.T) {
	img := newImage(t)
	for pos := img.sizes[1]; pos <= int64(len(img.data)); pos++ {
		n := img.whole(pos)
		img.recovered(t, img.data[:pos], n, fmt.Sprintf("cut at %d", pos))
		if pos == int64(len(img.data)) {
			break
		}
		zeroed := bytes.Clone(img.data)
		clear(zeroed[pos:])
		if bytes.Equal(zeroed[:img.sizes[n+1]], img.data[:img.sizes[n+1]]) {
			n++ // the batch ends in zeros anyway
		}
		img.recovered(t, zeroed, n, fmt.Sprintf("zeroed from %d", pos))
		img.recovered(t, append(bytes.Clone(img.data[:pos]), make([]byte, 5000)...), n, fmt.Sprintf("cut at %d, then zeros", pos))
	}
}

// TestFlippedBits inverts each bit of the second batch that the CRC, the offset or the epoch check covers: all but those of the
// epoch that leave it between its neighbours'.
func TestFlippedBits(t *testing.T) {
	img := newImage(t)
	for bit := img.sizes[1] * 8; bit < img.sizes[2]*8; bit++ {
		garbled := bytes.Clone(img.data)
		garbled[bit/8] ^= 0x80 >> (bit % 8)
		if at := bit/8 - img.sizes[1]; at >= atEpoch && at < atMagic {
			continue
		}
		img.recovered(t, garbled, 1, fmt.Sprintf("bit %d inverted", bit))
	}
}

// TestGarbledTail writes anything over the end of the segment.
func TestGarbledTail(t *testing.T) {
	img := newImage(t)
	rapid.Check(t, func(t *rapid.T) {
		pos := rapid.Int64Range(img.sizes[1], int64(len(img.data))).Draw(t, "from")
		garbage := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "garbage")
		data := append(bytes.Clone(img.data[:pos]), garbage...)
		n := img.whole(pos)
		for n+1 < len(img.sizes) && bytes.HasPrefix(data, img.data[:img.sizes[n+1]]) {
			n++
		}
		img.recovered(t, data, n, "garbled")
	})
}

// TestHugeLength opens a log whose last batch claims to be larger than anything, within a file that is: no memory is spent on it.
func TestHugeLength(t *testing.T) {
	fs := disk.Mem()
	must(t, fs.MkdirAll("t"))
	data := BuildBatch(0, 0, 0, []byte("x"))
	copy(data[atLength:], "\x00\x7f\xff\xff")
	must(t, disk.Run(fs, disk.Step{Op: disk.WriteFile, Path: "t/00000000000000000000.log", Data: data}))
	f, err := fs.Open("t/00000000000000000000.log", false)
	must(t, err)
	must(t, f.Truncate(10<<20))
	used := allocated(func() {
		l, rec, err := Open(fs, "t", Config{SegmentBytes: 1000, MaxBatchBytes: 1000}, 0, false)
		must(t, err)
		if l.End() != 0 || !strings.Contains(rec.Reason, "CRC") {
			t.Errorf("%+v", rec)
		}
	})
	if used > 1<<20 {
		t.Errorf("%d bytes allocated, expected under 1 MiB", used)
	}
}
