package nemesis

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/history"
	"tidemark/world"
)

// TestVariedPlans varies drawn plans, and what came of that again: every plan is its text, passes Check, and comes again from its seed.
func TestVariedPlans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := testSpace(rapid.IntRange(1, 5).Draw(t, "brokers"), time.Duration(rapid.Int64Range(int64(time.Second), int64(time.Minute)).Draw(t, "duration")))
		s.MinISR = rapid.IntRange(1, s.Factor).Draw(t, "min")
		seed := rapid.Uint64().Draw(t, "seed")
		p := Generate(rand.New(rand.NewPCG(seed, 0)), s)
		var about Concern
		if rapid.Bool().Draw(t, "concerns") {
			about = Concern{Partition: s.Partitions[0], Brokers: rapid.SliceOfN(rapid.SampledFrom(s.Brokers), 0, 3).Draw(t, "brokers concerned")} // one may come twice
		}
		for n := range uint64(20) {
			at := time.Duration(rapid.Int64Range(0, int64(s.Duration)).Draw(t, "at"))
			vary := func() Plan { return Vary(rand.New(rand.NewPCG(seed, n)), s, p, nil, at, about) }
			v := vary()
			if again := vary(); again.String() != v.String() {
				t.Fatalf("the same seed drew\n%v\nand\n%v", v, again)
			}
			if read, err := Parse(v.String()); err != nil || read.String() != v.String() {
				t.Fatalf("\n%v\nwas read as\n%v (%v)", v, read, err)
			}
			if err := v.Check(s.Can, s.Brokers, s.Partitions); err != nil {
				t.Fatal(err)
			}
			if len(v.Lines) > generateMax {
				t.Fatalf("%d lines, expected %d at most", len(v.Lines), generateMax)
			}
			for _, l := range v.Lines {
				if l.Trigger.At < 0 || l.Trigger.At >= s.Duration || l.For < 0 {
					t.Fatalf("%v in a load of %v", l, s.Duration)
				}
			}
			p = v
		}
	})
}

// TestAVariationStaysClose counts what of a plan's lines a variation leaves as they are: most of them, but hardly ever all.
func TestAVariationStaysClose(t *testing.T) {
	s := testSpace(3, 20*time.Second)
	same, kept, lines := 0, 0, 0
	const plans = 500
	for seed := range uint64(plans) {
		p := Generate(rand.New(rand.NewPCG(seed, 0)), s)
		v := Vary(rand.New(rand.NewPCG(seed, 1)), s, p, nil, 10*time.Second, Concern{})
		had := map[string]int{}
		for _, l := range v.Lines {
			had[l.String()]++
		}
		for _, l := range p.Lines {
			lines++
			if text := l.String(); had[text] > 0 {
				had[text]--
				kept++
			}
		}
		if v.String() == p.String() {
			same++
		}
	}
	if kept < lines*8/10 || same > plans/20 {
		t.Errorf("%d of %d lines are as they were, and %d of %d plans, expected four fifths at least, and a twentieth at most", kept, lines, same, plans)
	}
}

// TestAVariationBeliesWhatWasSaid varies a plan where one broker spoke of another's log: now and then that one loses data before, and is kept from getting it again
// by who spoke.
func TestAVariationBeliesWhatWasSaid(t *testing.T) {
	s := testSpace(3, 20*time.Second)
	at, about := 10*time.Second, Concern{Partition: s.Partitions[0], Brokers: []history.BrokerID{2, 3}}
	belied := 0
	const plans = 300
	for seed := range uint64(plans) {
		p := Generate(rand.New(rand.NewPCG(seed, 0)), s)
		lost, apart := false, false
		for _, l := range Vary(rand.New(rand.NewPCG(seed, 1)), s, p, nil, at, about).Lines {
			f := l.Fault
			lost = lost || loses(f.Kind) && len(f.Targets) == 1 && f.Targets[0] == Target{Role: Number, Broker: 2} && l.Trigger.At < at
			apart = apart || len(f.Targets) == 1 && f.Targets[0] == Target{Role: Number, Broker: 3} && len(f.Others) == 1 &&
				f.Others[0] == Target{Role: Number, Broker: 2} && l.Trigger.At < at && (l.Trigger.Kind != AtTime || l.Trigger.At+l.For > at)
		}
		if lost && apart {
			belied++
		}
	}
	if belied < plans/8 {
		t.Errorf("%d of %d variations, expected an eighth at least", belied, plans)
	}
}

// TestNobodyBeliesHimself: where the same broker is spoken of and speaks, nothing is put between it and itself.
func TestNobodyBeliesHimself(t *testing.T) {
	s := testSpace(3, 20*time.Second)
	about := Concern{Partition: s.Partitions[0], Brokers: []history.BrokerID{2, 2}}
	for seed := range uint64(300) {
		p := Generate(rand.New(rand.NewPCG(seed, 0)), s)
		for _, l := range Vary(rand.New(rand.NewPCG(seed, 1)), s, p, nil, 10*time.Second, about).Lines {
			f := l.Fault
			if len(f.Targets) == 1 && len(f.Others) == 1 && f.Targets[0].Role == Number && f.Targets[0] == f.Others[0] {
				t.Errorf("seed %d: %v", seed, l)
			}
		}
	}
}

// TestAVariationHasNoKindThatIsNotThere varies plans where only some kinds may be drawn: no line is of another.
func TestAVariationHasNoKindThatIsNotThere(t *testing.T) {
	about := Concern{Brokers: []history.BrokerID{2, 3}}
	for _, can := range [][]world.Ability{{world.CanPowerFail}, {world.CanWipe, world.CanHold}, {world.CanPowerFail, world.CanPartition}, {world.CanKill}} {
		s := testSpace(3, 20*time.Second)
		s.Can = can
		for seed := range uint64(200) {
			p := Generate(rand.New(rand.NewPCG(seed, 0)), s)
			v := Vary(rand.New(rand.NewPCG(seed, 1)), s, p, nil, 10*time.Second, about)
			if err := v.Check(can, s.Brokers, s.Partitions); err != nil {
				t.Fatalf("seed %d, with %v: %v", seed, can, err)
			}
		}
	}
}
