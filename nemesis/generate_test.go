package nemesis

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/history"
	"tidemark/world"
)

func testSpace(brokers int, duration time.Duration) Space {
	c := newFakeCluster(&fakeEnv{}, brokers)
	return Space{
		Can: everything, Brokers: c.Brokers(), Partitions: testParts,
		Factor: min(3, brokers), MinISR: fakeMinISR, Duration: duration,
	}
}

// TestGeneratedPlans draws spaces and seeds: every plan is its text, passes Check, ends in time, and comes again from its seed.
func TestGeneratedPlans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := testSpace(rapid.IntRange(1, 7).Draw(t, "brokers"), time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(24*time.Hour)).Draw(t, "duration")))
		s.Can = rapid.SliceOfNDistinct(rapid.SampledFrom(everything), 1, len(everything), func(a world.Ability) world.Ability { return a }).Draw(t, "can")
		s.Partitions = s.Partitions[:rapid.IntRange(1, 2).Draw(t, "partitions")]
		s.MinISR = rapid.IntRange(1, s.Factor).Draw(t, "min")
		s.Tour = rapid.Bool().Draw(t, "tour")
		s.Startup = rapid.SampledFrom([]time.Duration{0, 7 * time.Second}).Draw(t, "startup")
		s.Due = rapid.SliceOfDistinct(rapid.SampledFrom(everything), func(a world.Ability) world.Ability { return a }).Draw(t, "due")
		seed := rapid.Uint64().Draw(t, "seed")
		draw := func() Plan { return Generate(rand.New(rand.NewPCG(seed, 0)), s) }
		p := draw()
		if again := draw(); again.String() != p.String() {
			t.Fatalf("the same seed drew\n%v\nand\n%v", p, again)
		}
		if read, err := Parse(p.String()); err != nil || read.String() != p.String() {
			t.Fatalf("\n%v\nwas read as\n%v (%v)", p, read, err)
		}
		if err := p.Check(s.Can, s.Brokers, s.Partitions); err != nil {
			t.Fatal(err)
		}
		if len(p.Lines) == 0 != (len(s.Useful()) == 0) {
			t.Fatalf("%d lines from the abilities %v", len(p.Lines), s.Useful())
		}
		needs, useful := p.Needs(), s.Useful()
		for _, a := range s.Due {
			if slices.Contains(useful, a) && !slices.Contains(needs, a) {
				t.Fatalf("no line of %s, which is due, in\n%v", a, p)
			}
		}
		end := s.Duration - min(tailMax, s.Duration/tailPart)
		for _, l := range p.Lines {
			begin := l.Trigger.At // of an event it is only since when it counts
			if l.Trigger.Kind != AtTime {
				begin = 0
			}
			if begin+l.For > end || l.For > longestMax {
				t.Fatalf("%v is not over by %v", l, end)
			}
			if s.Tour && l.Trigger.Kind != AtTime {
				t.Fatalf("%v waits for an event during a tour", l)
			}
			if l.For == 0 && !instant(l.Fault.Kind) {
				t.Fatalf("%v has no end", l)
			}
		}
	})
}

// TestGeneratedSpread counts over 1,000 seeds what the plans hold: every kind and role often, some plans quiet, some dense.
func TestGeneratedSpread(t *testing.T) {
	const seeds = 1000
	var lengths []int
	kinds, roles, triggers := make(map[world.Ability]int), make(map[Role]int), make(map[TriggerKind]int)
	single, many := 0, 0
	ports, shapes := make(map[world.Port]int), make(map[Shape]int)
	var shares []float64
	for seed := range uint64(seeds) {
		p := Generate(world.Stream(seed, "plan", 0), testSpace(3, time.Minute))
		lengths = append(lengths, len(p.Lines))
		needs := p.Needs()
		for _, k := range needs {
			kinds[k]++
		}
		if len(needs) == 1 {
			single++
		}
		rare := func(k world.Ability) bool { return kindOf(k).share() < 1 }
		common := slices.DeleteFunc(slices.Clone(everything), rare)
		if len(slices.DeleteFunc(needs, rare)) >= len(common)*2/3 {
			many++
		}
		seen := make(map[Role]bool)
		came := make(map[TriggerKind]bool)
		for _, l := range p.Lines {
			came[l.Trigger.Kind] = true
			switch l.Fault.Kind {
			case world.CanPartition:
				ports[l.Fault.Port]++
			case world.CanLoss:
				shapes[l.Fault.Shape]++
				shares = append(shares, l.Fault.Share)
			}
			for _, tg := range l.Fault.Targets {
				seen[tg.Role] = true
			}
		}
		for r := range seen {
			roles[r]++
		}
		for k := range came {
			triggers[k]++
		}
	}
	slices.Sort(lengths)
	t.Logf("lines: %d to %d, median %d, a tenth above %d; one kind only: %d, nearly all: %d", lengths[0], lengths[seeds-1], lengths[seeds/2], lengths[seeds*9/10], single, many)
	t.Logf("plans with kind: %v; role (by number, leader, ...): %v; trigger: %v", kinds, roles, triggers)
	for _, k := range everything {
		if k == world.CanReassign { // needs more brokers than replicas
			continue
		}
		if least := int(60 * min(1, kindOf(k).share())); kinds[k] < least || kinds[k] > 900 {
			t.Errorf("%d of %d plans have %s, expected %d to 900", kinds[k], seeds, k, least)
		}
	}
	if single < 100 || many < 10 {
		t.Errorf("%d plans of one kind, %d of nearly all: expected 100 and 10 at least", single, many)
	}
	t.Logf("partitions by port %v, losses by shape %v", ports, shapes)
	for _, port := range []world.Port{world.BrokerPort, world.ControllerPort} {
		if n := ports[port]; n*20 < ports[world.AnyPort] || n > 2*ports[world.AnyPort] {
			t.Errorf("%d partitions at port %s and %d at all of them, expected a share", n, port, ports[world.AnyPort])
		}
	}
	slices.Sort(shares)
	if low, high := shares[0], shares[len(shares)-1]; low < 0.05 || low > 0.06 || high < 0.58 || high > 0.6 || shapes[Split] < shapes[OneWay] || shapes[OneWay] == 0 {
		t.Errorf("shares of loss from %v to %v, shapes %v; expected 0.05 to 0.6, most of them both ways", low, high, shapes)
	}
	for _, k := range []TriggerKind{AfterAcks, AfterElections, WhenISR} {
		if triggers[k] < 50 {
			t.Errorf("%d plans have trigger %d, expected 50 at least", triggers[k], k)
		}
	}
	if lengths[seeds/10] > 12 || lengths[seeds*9/10] < 40 {
		t.Errorf("plans have from %d to %d lines in the middle eight tenths, expected quiet ones and dense ones", lengths[seeds/10], lengths[seeds*9/10])
	}
}

// TestGeneratedPlansBite carries plans out on the fake cluster: nearly all change an ISR or a leader, every kind is observed in
// many runs, half of the runs can write for more than half of the time, and whatever was done is verified undone.
func TestGeneratedPlansBite(t *testing.T) {
	const runs = 400
	observed, refused, failed := make(map[string]int), make(map[string]int), make(map[string]int)
	vacuous := 0
	var up []float64
	for seed := range uint64(runs) {
		env := &fakeEnv{seed: seed}
		r := newFakeRun(env, 3)
		r.Bound = 10 * time.Second
		p := Generate(world.Stream(seed, "plan", 0), testSpace(3, time.Minute))
		env.Go("acks", func() { r.ack(time.Second/4, time.Minute) })
		var failure error
		if err := env.run(func() { failure = r.Run(p, 54*time.Second) }); err != nil || failure != nil {
			t.Errorf("seed %d: %v %v", seed, err, failure)
		}
		if env.now > 64*time.Second {
			t.Errorf("seed %d ended at %v", seed, env.now)
		}
		c := r.Cluster.(*fakeCluster)
		if c.change == 0 {
			vacuous++
			t.Logf("seed %d is vacuous:\n%v", seed, p)
		}
		up = append(up, float64(c.up)/float64(c.at))
		did := make(map[string]map[history.FaultPhase]bool)
		for _, e := range r.Record.History().Faults {
			if did[e.Kind] == nil {
				did[e.Kind] = make(map[history.FaultPhase]bool)
			}
			did[e.Kind][e.Phase] = true
			if e.Phase == history.FaultFailed {
				failed[e.Kind]++
				if failed[e.Kind] <= 2 {
					t.Logf("seed %d: %s failed: %s", seed, e.Line, e.Detail)
				}
			}
			if e.Phase == history.FaultRefused {
				refused[e.Kind]++
			}
		}
		for kind, phases := range did {
			if phases[history.FaultObserved] {
				observed[kind]++
			}
		}
	}
	slices.Sort(up)
	t.Logf("vacuous %d of %d; writable in the median %.2f of the time, a tenth below %.2f; runs in which a kind was observed %v; refused %v; failed %v",
		vacuous, runs, up[runs/2], up[runs/10], observed, refused, failed)
	if vacuous > runs/50 {
		t.Errorf("%d of %d plans changed nothing", vacuous, runs)
	}
	if up[runs/2] < 0.6 {
		t.Errorf("in the median run writes were possible %.2f of the time, expected 0.6", up[runs/2])
	}
	for _, k := range everything {
		if k == world.CanReassign { // needs more brokers than replicas
			continue
		}
		if observed[string(k)] < int(runs/30*min(1, kindOf(k).share())) {
			t.Errorf("%s was observed in %d of %d runs", k, observed[string(k)], runs)
		}
	}
}

// TestNobodyIsMeantOnBothSides puts a broker in a follower's place: not where it is cut off from that already.
func TestNobodyIsMeantOnBothSides(t *testing.T) {
	two, three := Target{Role: Number, Broker: 2}, Target{Role: Number, Broker: 3}
	for _, f := range []struct{ others, want []Target }{
		{[]Target{{Role: Rest}}, []Target{two}},
		{[]Target{two, three}, []Target{{Role: Follower}}},
	} {
		cut := Fault{Kind: world.CanPartition, Targets: []Target{{Role: Follower}}, Others: f.others}
		if cut.meant(two); !slices.Equal(cut.Targets, f.want) {
			t.Errorf("%v, expected %v on the left", cut, f.want)
		}
	}
}

// TestBrokersHaveTimeToStart counts, over 1,000 seeds, how often a line ends a process while brokers that were ended before are still starting, by times: where
// they take long, seldom.
func TestBrokersHaveTimeToStart(t *testing.T) {
	const startup = 7 * time.Second
	share := func(told time.Duration) float64 {
		early, all := 0, 0
		for seed := range uint64(1000) {
			s := testSpace(3, time.Minute)
			s.Can, s.Startup = []world.Ability{world.CanKill, world.CanStop, world.CanPartition, world.CanElect}, told
			var up time.Duration
			for _, l := range Generate(world.Stream(seed, "plan", 0), s).Lines {
				if l.Trigger.Kind != AtTime || !ends(l.Fault.Kind) {
					continue
				}
				if all++; l.Trigger.At < up-100*time.Millisecond { // times are cut to what a reader wants to see
					early++
				}
				up = max(up, l.Trigger.At+l.For+startup)
			}
		}
		return float64(early) / float64(all)
	}
	if known, unknown := share(startup), share(0); known > unknown/2 {
		t.Errorf("%.2f of the lines come early where the plan knows how long brokers take, and %.2f where it does not: expected less than half", known, unknown)
	}
}

// TestWhatIsDueComesInEachPart draws plans in which each kind in turn is due: it comes all over the plan, so that one line of it neither has what another needs nor
// meets the same fault that hides it.
func TestWhatIsDueComesInEachPart(t *testing.T) {
	for _, a := range everything {
		for seed := range uint64(20) {
			s := testSpace(3, time.Minute)
			s.Can, s.Due = []world.Ability{a}, []world.Ability{a}
			if len(s.Useful()) == 0 {
				continue
			}
			var at []time.Duration
			for _, l := range Generate(rand.New(rand.NewPCG(seed, 0)), s).Lines {
				if l.Trigger.Kind == AtTime {
					at = append(at, l.Trigger.At)
				}
			}
			if end := s.Duration - min(tailMax, s.Duration/tailPart); len(at) < owed || slices.Min(at) > end/2 || slices.Max(at) < end/2 {
				t.Errorf("seed %d: %s strikes at %v, expected %d times at least, over both halves", seed, a, at, owed)
			}
		}
	}
}
