package server

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"tidemark/broker/config"
)

// TestContainersMemory reads limits as the kernel writes them.
func TestContainersMemory(t *testing.T) {
	for _, tc := range []struct {
		text string
		want int64
	}{
		{"268435456\n", 256 << 20},
		{"max\n", math.MaxInt64},
		{"9223372036854771712\n", math.MaxInt64}, // cgroup v1 without a limit
		{"", math.MaxInt64},
		{"-1\n", math.MaxInt64},
		{"plenty\n", math.MaxInt64},
	} {
		file := filepath.Join(t.TempDir(), "limit")
		if err := os.WriteFile(file, []byte(tc.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := containerMemory([]string{filepath.Join(t.TempDir(), "none"), file}); got != tc.want {
			t.Errorf("%q: %d, expected %d", tc.text, got, tc.want)
		}
	}
}

// TestLimitsFitTheMemory lowers what is too much for a small container and leaves alone what fits.
func TestLimitsFitTheMemory(t *testing.T) {
	stock := config.Default()
	small := stock
	fit(&small, 256<<20)
	if s := small.Shell; s.QueuedMaxRequestBytes != 32<<20 || s.QueuedMaxResponseBytes != 32<<20 || s.MaxConnections != 2048 {
		t.Errorf("in 256 MiB: %+v", s)
	}
	if small.SocketRequestMaxBytes != 32<<20 || small.FetchMaxBytes != 4<<20 {
		t.Errorf("in 256 MiB: requests of %d bytes, answers of %d", small.SocketRequestMaxBytes, small.FetchMaxBytes)
	}
	tiny, large := small, stock
	fit(&tiny, 1<<20)
	if tiny.Shell.QueuedMaxRequestBytes != queuedMin || tiny.Shell.MaxConnections != connsMin || tiny.SocketRequestMaxBytes <= tiny.MessageMaxBytes {
		t.Errorf("in 1 MiB: %+v", tiny)
	}
	if fit(&large, 1<<40); large.Shell != stock.Shell || large.FetchMaxBytes != stock.FetchMaxBytes {
		t.Errorf("in 1 TiB: %+v, expected the defaults %+v", large, stock)
	}
}
