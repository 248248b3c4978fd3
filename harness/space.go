package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/world"
)

// Draw draws the configuration of a seed's run around base. What kept names stays as base has it: flags of tidemark run without their
// dashes, and keys of the broker's configuration; nil keeps nothing. Each option has a stream of its own, so that one option more or less
// leaves the others' draws as they were. Whichever bug base has switched on, the draw is the same.
func Draw(seed uint64, base history.Run, kept func(option string) bool) history.Run {
	if kept == nil {
		kept = func(string) bool { return false }
	}
	run := base
	run.Seed = seed
	run.Config = map[string]string{}
	for key, value := range base.Config {
		run.Config[key] = value
	}
	for _, k := range knobs {
		if !kept(k.option) {
			k.draw(&run, dice{world.Stream(seed, "option "+k.option, 0)}, kept)
		}
	}
	return run
}

// knob is one option of a run, and how it is drawn when those above it in knobs are.
type knob struct {
	option string
	draw   func(run *history.Run, d dice, kept func(option string) bool)
}

// knobs is the configuration space. It is dense where replication has decisions to make: three brokers, acks=all, a leader and one
// follower that must answer, as this is where everything is promised and little is left to break it. What promises less, or needs more, is
// there in some share of the runs.
var knobs = []knob{
	{"duration", func(run *history.Run, d dice, _ func(string) bool) {
		run.Duration = d.span(durationLow, durationHigh).Truncate(time.Second)
	}},
	{"brokers", func(run *history.Run, d dice, kept func(string) bool) {
		run.Brokers = pick(d, []int{3, 4, 5}, 65, 23, 12)
		switch {
		case kept("replication-factor"):
			run.Brokers = max(run.Brokers, run.Factor)
		case kept("min-insync-replicas"):
			run.Brokers = max(run.Brokers, run.MinISR)
		}
	}},
	{"replication-factor", func(run *history.Run, d dice, kept func(string) bool) {
		run.Factor = min(pick(d, []int{3, 2, 4, 5}, 82, 8, 6, 4), run.Brokers)
		if kept("min-insync-replicas") {
			run.Factor = max(run.Factor, min(run.MinISR, run.Brokers))
		}
	}},
	{"min-insync-replicas", func(run *history.Run, d dice, _ func(string) bool) {
		run.MinISR = min(pick(d, []int{2, 1, 3}, 70, 23, 7), run.Factor)
	}},
	{"partitions", func(run *history.Run, d dice, _ func(string) bool) {
		run.Parts = pick(d, []int{1, 2, 3, 4}, 50, 30, 12, 8)
	}},
	{"acks", func(run *history.Run, d dice, kept func(string) bool) {
		run.Acks = pick(d, []int16{-1, 1, 0}, 88, 8, 4)
		if kept("idempotence") && run.Idempotent {
			run.Acks = -1 // it takes no less
		}
	}},
	{"idempotence", func(run *history.Run, d dice, _ func(string) bool) { run.Idempotent = d.chance(0.35) && run.Acks == -1 }},
	{"unclean", func(run *history.Run, d dice, _ func(string) bool) { run.Unclean = d.chance(0.04) }},
	{"classic", func(run *history.Run, d dice, _ func(string) bool) { run.ELR = !d.chance(0.15) }},
	{"producers", func(run *history.Run, d dice, _ func(string) bool) { run.Writers = d.number(4, 8) }},
	{"consumers", func(run *history.Run, d dice, _ func(string) bool) { run.Readers = d.number(2, 5) }},
	{"follower-fetch", func(run *history.Run, d dice, _ func(string) bool) { run.FollowerFetch = d.chance(0.25) }},
	{"recreated-topic", func(run *history.Run, d dice, _ func(string) bool) {
		if d.chance(0.3) && run.World == Simulated {
			run.Recreated = run.Topic + "-again"
		}
	}},
	{"rate", func(run *history.Run, d dice, _ func(string) bool) {
		run.Rate = math.Round(d.log(70, 200))
	}},
	{"broker.session.timeout.ms", func(run *history.Run, d dice, kept func(string) bool) {
		session := d.span(600*time.Millisecond, 3*time.Second)
		run.Config["broker.session.timeout.ms"] = milliseconds(session)
		if !kept("broker.heartbeat.interval.ms") {
			run.Config["broker.heartbeat.interval.ms"] = milliseconds(session / 6)
		}
	}},
	brokerKey("replica.lag.time.max.ms", func(d dice) string { return milliseconds(d.span(500*time.Millisecond, 2500*time.Millisecond)) }),
	brokerKey("replica.fetch.wait.max.ms", func(d dice) string { return milliseconds(d.span(20*time.Millisecond, 400*time.Millisecond)) }),
	brokerKey("replica.high.watermark.checkpoint.interval.ms", func(d dice) string {
		return milliseconds(d.span(200*time.Millisecond, 5*time.Second))
	}),
	brokerKey("replica.fetch.backoff.ms", func(d dice) string { return milliseconds(d.span(20*time.Millisecond, 400*time.Millisecond)) }),
	// Up to Kafka's own 30 s: what waits less long gives up, and asks anew, before a message that is held can be out of date.
	brokerKey("replica.socket.timeout.ms", func(d dice) string { return milliseconds(d.span(500*time.Millisecond, 30*time.Second)) }),
	brokerKey("controller.socket.timeout.ms", func(d dice) string {
		if d.chance(0.5) { // about Kafka's own: what is held is not given up, and asked anew, before it is out of date
			return milliseconds(d.span(10*time.Second, 30*time.Second))
		}
		return milliseconds(d.span(300*time.Millisecond, 10*time.Second))
	}),
	brokerKey("controller.quorum.election.timeout.ms", func(d dice) string { return milliseconds(d.span(300*time.Millisecond, time.Second)) }),
	brokerKey("controller.quorum.fetch.timeout.ms", func(d dice) string { return milliseconds(d.span(500*time.Millisecond, 2*time.Second)) }),
	{"replica.fetch.max.bytes", func(run *history.Run, d dice, _ func(string) bool) { // a batch or a few at a time: to catch up takes long
		if d.chance(0.5) {
			run.Config["replica.fetch.max.bytes"] = strconv.Itoa(int(d.log(100, 1<<10)))
		}
	}},
	brokerKey("log.segment.bytes", func(d dice) string { return strconv.Itoa(int(d.log(1<<10, 32<<10))) }),
	{"trim", func(run *history.Run, d dice, _ func(string) bool) { // what is removed cannot be lost, nor be repeated: not too often
		if d.chance(0.2) && !run.Idempotent {
			run.Trim = d.span(200*time.Millisecond, 2*time.Second).Truncate(time.Millisecond)
		}
	}},
	{"log.retention.ms", func(run *history.Run, d dice, _ func(string) bool) {
		if d.chance(0.1) && !run.Idempotent {
			run.Config["log.retention.ms"] = milliseconds(d.span(500*time.Millisecond, 5*time.Second))
			run.Config["log.retention.check.interval.ms"] = milliseconds(d.span(200*time.Millisecond, 2*time.Second))
		}
	}},
}

// The bounds of a drawn run's load: long enough for a dozen faults, short enough for many runs.
const (
	durationLow  = 15 * time.Second
	durationHigh = 30 * time.Second
)

// brokerKey is a knob for a key of the brokers' configuration.
func brokerKey(key string, draw func(d dice) string) knob {
	return knob{key, func(run *history.Run, d dice, _ func(string) bool) { run.Config[key] = draw(d) }}
}

func milliseconds(t time.Duration) string { return strconv.FormatInt(t.Milliseconds(), 10) }

// dice draws from one stream.
type dice struct{ rnd *rand.Rand }

func (d dice) chance(p float64) bool { return d.rnd.Float64() < p }

// number draws evenly from low to high, both included.
func (d dice) number(low, high int) int { return low + d.rnd.IntN(high-low+1) }

// log draws between two positive numbers, evenly on a logarithmic scale.
func (d dice) log(low, high float64) float64 {
	return low * math.Exp(d.rnd.Float64()*math.Log(high/low))
}

func (d dice) span(low, high time.Duration) time.Duration {
	return time.Duration(d.log(float64(low), float64(high))).Truncate(time.Millisecond)
}

// pick draws one of the values, each with its weight.
func pick[T any](d dice, values []T, weights ...float64) T {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	x := d.rnd.Float64() * total
	for i, w := range weights {
		if x -= w; x < 0 {
			return values[i]
		}
	}
	return values[len(values)-1]
}

// generatorDraws is how many runs GeneratorHash draws.
const generatorDraws = 1000

// generatorRuns is how many of them it carries out.
const generatorRuns = 5

// GeneratorHash names the search: the hash over the configurations and plans of a thousand seeds, as they come without any option given, over runs that are
// split from those, what nearly happens in some and how others go on from there, and over how leads are pursued.
// Two programs that print the same one search alike, whatever their sources look like.
var GeneratorHash = sync.OnceValue(func() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	base := Defaults()
	base.Tool, base.Build = "", ""
	for n := range generatorDraws {
		run, err := Expand(Draw(SeedOf(0, n), base, nil), "")
		if err != nil {
			return fmt.Sprintf("none (draw %d: %v)", n, err)
		}
		_ = enc.Encode(run) // neither a run nor a hash can fail
		near := Near{At: run.Duration / 2}
		if n%2 == 1 { // of what concerns two brokers
			near.About = nemesis.Concern{Partition: Partitions(run)[0], Brokers: BrokerIDs(run)[:2]}
		}
		split, err := varied(0, n, run, nil, near, false)
		if err != nil {
			return fmt.Sprintf("none (split %d: %v)", n, err)
		}
		_ = enc.Encode(split)
		if n >= generatorRuns {
			continue
		}
		res, err := Simulate(context.Background(), run, Watch{Blind: true, Near: true})
		if err != nil {
			return fmt.Sprintf("none (run %d: %v)", n, err)
		}
		on, struck := beyond(res)
		_ = enc.Encode([]any{res.Near, on, struck})
	}
	_ = enc.Encode([]any{leadsMax, fmt.Sprint(leadWays), leadLength, SplitAfter, splitLag, splitEvery, sparksMax, splitsMax, worthUntrue})
	return hex.EncodeToString(h.Sum(nil)[:8])
})
