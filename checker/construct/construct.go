// Package construct makes histories by construction, to test and measure what judges them: valid ones, because a model of the replicated
// log makes every answer, and ones with exactly one anomaly, because a planter changed one thing in a valid one and says which. It shares
// nothing with the checker; equal configurations make equal histories.
package construct

import (
	"math/rand/v2"
	"time"

	"tidemark/history"
)

// Config says what a history holds. The shares are probabilities between 0 and 1.
type Config struct {
	Seed       uint64
	Ops        int // sends, polls, seeks and ListOffsets of the load; what comes after (markers, final reads) is not counted
	Partitions int
	Producers  int
	Consumers  int

	Unknown  float64 // of sends: the producer never learns; some take effect, at once or late, some do not
	Failed   float64 // of sends: definitely failed
	NoOffset float64 // of acknowledgements: without an offset
	Lost     float64 // of polls: failed or of unknown outcome
	Restarts float64 // of polls: the consumer has started again, as another process and from earlier positions
	Seeks    float64 // of polls of a consumer that has read everything: it moves to the end of the log instead
	Lists    float64 // of polls: the consumer asks ListOffsets where the log ends, or begins, instead
	Gaps     float64 // of records: with an offset before them that no record has, as a control record leaves it

	LeaderChanges int  // faults that each take away the leader of a partition at least
	Trims         int  // moves of log starts, by retention
	Deletes       int  // DeleteRecords that ask for moves of log starts
	Retries       bool // producers send a value again until it is acknowledged, so that copies of it are legal
	Detail        bool // the brokers report every append and high watermark, as in the simulated world
}

// Random is a configuration of a common kind, drawn from a seed: a few clients and partitions, 5 % unknown outcomes, two to four leader
// changes, and of the rest something, often.
func Random(seed uint64, ops int) Config {
	rng := rand.New(rand.NewPCG(seed, 101))
	share := func(most float64) float64 { return most * float64(rng.IntN(3)) / 2 }
	return Config{
		Seed: seed, Ops: ops, Partitions: 1 + rng.IntN(4), Producers: 2 + rng.IntN(6), Consumers: 1 + rng.IntN(4),
		Unknown: 0.05, Failed: 0.02, NoOffset: share(0.01), Lost: share(0.04), Restarts: share(0.02), Seeks: share(0.1), Gaps: share(0.02),
		LeaderChanges: 2 + rng.IntN(3), Detail: rng.IntN(2) == 0, Lists: share(0.05),
	}
}

// brokers is how many brokers there are; each has a replica of every partition.
const brokers = 3

// ReadBound is the bound on stale reads of every history's run; a valid history stays well below it.
const ReadBound = 500 * time.Millisecond

// topic is the topic of every history.
const topic = "orders"

// Sink takes a history down; a history.Recorder is one, whose clock must be the generator's.
type Sink interface {
	Invoke(op history.Op) (id int64)
	Complete(id int64, done history.Op)
	Fault(e history.FaultEvent)
	State(s history.ClusterState)
	Step(s history.Step)
	Dump(d history.Dump)
	Mark(name string, failed bool, detail string)
}

// Generator makes one history. It holds the log of each partition, and of the history only what is under way.
type Generator struct {
	cfg        Config
	rng        *rand.Rand
	sink       Sink
	now        time.Duration
	partitions []*partition
	producers  []*producer
	consumers  []*consumer
	invoked    int
	late       []late
	trouble    trouble
	trimmer    trimmer
}

// New returns a generator of the history that a configuration stands for; counts below the least that makes sense are raised to it.
func New(cfg Config) *Generator {
	cfg.Partitions, cfg.Producers, cfg.Consumers = max(1, cfg.Partitions), max(1, cfg.Producers), max(1, cfg.Consumers)
	g := &Generator{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 103)), trouble: trouble{down: -1}}
	for i := range cfg.Partitions {
		g.partitions = append(g.partitions, &partition{name: history.Partition{Topic: topic, Index: int32(i)}, leader: i % brokers,
			isr: [brokers]bool{true, true, true}, deposed: -1})
	}
	g.trimmer = trimmer{process: int32(cfg.Producers + cfg.Consumers), op: none}
	for i := range cfg.Producers {
		g.producers = append(g.producers, &producer{process: int32(i), op: none})
	}
	for i := range cfg.Consumers {
		g.consumers = append(g.consumers, &consumer{process: int32(cfg.Producers + i), op: none, position: make([]history.Offset, cfg.Partitions)})
	}
	return g
}

// Now is the generator's clock; it moves with every entry.
func (g *Generator) Now() time.Duration { return g.now }

// Run is the run that such a history would come from.
func (g *Generator) Run() history.Run {
	run := history.Run{Format: 1, World: "sim", Seed: g.cfg.Seed, Brokers: brokers, Topic: topic, Parts: g.cfg.Partitions, Factor: brokers,
		MinISR: 2, Acks: -1, ELR: true, Writers: g.cfg.Producers, Readers: g.cfg.Consumers, ReadBound: ReadBound,
		Config: map[string]string{}}
	if g.cfg.LeaderChanges > 0 {
		run.Plan = "at 1s kill leader(orders/0) for 1s\n"
	}
	if g.cfg.Retries {
		run.Client = history.ClientFranz
	}
	if g.cfg.Trims > 0 {
		run.Config["log.retention.bytes"] = "65536"
	}
	return run
}

// Play makes the history: the load, then everything at rest, markers, final reads and dumps of every replica.
func (g *Generator) Play(sink Sink) {
	g.sink = sink
	g.mark("create")
	g.create()
	g.mark("load")
	for g.invoked < g.cfg.Ops {
		g.tick()
		g.disturb()
		switch n := g.rng.IntN(16); {
		case n < 6:
			g.produce(g.producers[g.rng.IntN(len(g.producers))])
		case n < 10:
			g.consume(g.consumers[g.rng.IntN(len(g.consumers))])
		default:
			g.replicate(g.partitions[g.rng.IntN(len(g.partitions))])
		}
		if g.cfg.Deletes > 0 && g.rng.IntN(8) == 0 {
			g.trimRecords()
		}
		if len(g.late) > 0 && g.rng.IntN(64) == 0 {
			g.land(g.rng.IntN(len(g.late)))
		}
	}
	g.finish()
}

// tick moves the clock on, by up to a millisecond.
func (g *Generator) tick() { g.now += time.Duration(1 + g.rng.IntN(int(time.Millisecond))) }

func (g *Generator) mark(name string) {
	g.tick()
	g.sink.Mark(name, false, "")
}

// chance is true with a probability.
func (g *Generator) chance(share float64) bool { return share > 0 && g.rng.Float64() < share }

// Case is a history in memory with the run that it would come from and the log that it was made from.
type Case struct {
	Run     history.Run
	History *history.History
	Logs    [][]Entry // of each partition, by offset
}

// Entry is what a log holds at an offset; a gap has no value.
type Entry struct {
	Value string
	Epoch history.Epoch
}

// Make makes a history in memory.
func Make(cfg Config) *Case {
	g := New(cfg)
	rec := history.NewRecorder(g.Now, nil)
	rec.Reserve(cfg.Ops+64, 0)
	g.Play(rec)
	c := &Case{Run: g.Run(), History: rec.History()}
	for _, p := range g.partitions {
		c.Logs = append(c.Logs, p.log)
	}
	return c
}
