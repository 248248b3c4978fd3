package kafkadisk

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// framed is data in a frame of blocks of 64 KiB, whose descriptor's checksum is wrong as that of format 0.
func framed(t testing.TB, data []byte, options ...lz4.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if err := w.Apply(append([]lz4.Option{lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)}, options...)...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	frame := out.Bytes()
	at := 6
	if frame[4]&lz4ContentSize != 0 {
		at += 8
	}
	frame[at]++
	return frame
}

func TestUnframe(t *testing.T) {
	random := make([]byte, 100_000)
	for i := range random {
		random[i] = byte(rand.New(rand.NewPCG(1, uint64(i))).Uint32()) // does not compress
	}
	zeros := make([]byte, 300_000)
	for _, data := range [][]byte{[]byte("a"), zeros, random, append(bytes.Clone(random), zeros...)} {
		for _, options := range [][]lz4.Option{nil, {lz4.BlockChecksumOption(true)}, {lz4.SizeOption(uint64(len(data)))}} {
			frame := framed(t, data, options...)
			if _, err := lz4.NewReader(bytes.NewReader(frame)).Read(make([]byte, 1)); err == nil {
				t.Fatal("the library reads the frame, so that its checksum is right")
			}
			got, err := unframe(frame, len(data))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes of %d, %v", len(got), len(data), err)
			}
			if _, err := unframe(frame, len(data)-1); err == nil {
				t.Errorf("%d bytes were decompressed under a bound of one less", len(data))
			}
			for n := range min(len(frame), 40) {
				if _, err := unframe(frame[:n], len(data)); err == nil {
					t.Errorf("the first %d of %d bytes were a frame", n, len(frame))
				}
			}
		}
	}
}

func TestUnframeSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		at      int
		as      byte
		message string
	}{
		{0, 0, "magic 184d2200, expected 184d2204"},
		{4, 0x80, "flags 80, expected version 01"},
		{4, 0x40, "flags 40, expected version 01 and independent blocks"},
		{5, 0x30, "block size 3, expected 4 to 7"},
		{7, 200, "are left"},
	} {
		frame := framed(t, []byte("a"))
		frame[c.at] = c.as
		if _, err := unframe(frame, 100); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("byte %d as %02x: error %v, expected %q", c.at, c.as, err, c.message)
		}
	}
}

// FuzzUnframe: whatever a frame holds, it is refused or gives at most so many bytes as are allowed.
func FuzzUnframe(f *testing.F) {
	f.Add(framed(f, []byte("some value, some value, some value, some value")))
	f.Add(framed(f, make([]byte, 1000), lz4.BlockChecksumOption(true)))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if out, err := unframe(frame, 1<<16); err == nil && len(out) > 1<<16 {
			t.Errorf("%d bytes", len(out))
		}
	})
}
