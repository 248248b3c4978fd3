package sim

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"tidemark/world"
)

// stream is a random stream with a name of its own, as world.Stream, embedded where it is drawn from: what happens elsewhere in
// a run never shifts its numbers.
type stream struct{ pcg rand.PCG }

func newStream(seed uint64, purpose string, index int) stream {
	from := world.Stream(seed, purpose, index)
	var s stream
	s.pcg.Seed(from.Uint64(), from.Uint64())
	return s
}

// below draws from [0, n); n must be positive.
func (s *stream) below(n int) int {
	hi, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return int(hi)
}

// between draws from [lo, hi).
func (s *stream) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(s.below(int(hi-lo)))
}

// unit draws from [0, 1).
func (s *stream) unit() float64 { return float64(s.pcg.Uint64()>>11) / (1 << 53) }

// chance is true with probability p.
func (s *stream) chance(p float64) bool { return s.unit() < p }
