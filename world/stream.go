package world

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"
)

// Stream is the random stream named (seed, purpose, index), from its beginning: what Env.Rand returns in every world.
func Stream(seed uint64, purpose string, index int) *rand.Rand {
	name := binary.LittleEndian.AppendUint64(nil, seed)
	name = append(name, purpose...)
	name = binary.LittleEndian.AppendUint64(name, uint64(index))
	first := xxhash.Sum64(name)
	return rand.New(rand.NewPCG(first, xxhash.Sum64(append(name, 1))))
}
