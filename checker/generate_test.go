package checker

import (
	"math/rand/v2"

	"tidemark/checker/construct"
	"tidemark/history"
)

// generator makes valid histories of up to six producers and three consumers on up to three partitions, with leader changes and outcomes of
// every kind.
type generator struct {
	construct.Config
	partitions, writers, readers int
}

func newGenerator(seed uint64, steps int) *generator {
	rng := rand.New(rand.NewPCG(seed, 17))
	g := &generator{partitions: 1 + rng.IntN(3), writers: 1 + rng.IntN(6), readers: 1 + rng.IntN(3)}
	g.Config = construct.Config{Seed: seed, Ops: steps / 2, Unknown: 0.15, Failed: 0.05, Lost: 0.05, LeaderChanges: 2}
	return g
}

func (g *generator) generate() *history.History {
	g.Partitions, g.Producers, g.Consumers = g.partitions, g.writers, g.readers
	return construct.Make(g.Config).History
}

func testRun(parts int) history.Run {
	return history.Run{Format: 1, World: "sim", Brokers: 3, Topic: "orders", Parts: parts, Factor: 3, MinISR: 2, Acks: -1, ELR: true,
		Plan: "at 1s kill broker 1 for 1s\n"}
}
