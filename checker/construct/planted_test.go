package construct_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"tidemark/checker"
	"tidemark/checker/construct"
	"tidemark/history"
)

// More of everything: go test ./checker/construct -run 'Planted|Silent' -args -histories 1000
var histories = flag.Int("histories", 12, "histories with an anomaly of each class; ten times as many valid ones")

// master is the seed that all others of a test follow from: drawn, or given as TIDEMARK_MASTER to repeat a test.
func master(t *testing.T) uint64 {
	seed := rand.Uint64()
	if s := os.Getenv("TIDEMARK_MASTER"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("TIDEMARK_MASTER is %q, expected a number: %v", s, err)
		}
	}
	t.Logf("repeat with TIDEMARK_MASTER=%d", seed)
	return seed
}

const operations = 1000

// elsewhere lists the classes that no history of clients and brokers can hold alone.
var elsewhere = map[checker.Class]string{
	checker.BrokerExited:    "no fault of the log: it is told by the step itself, see testdata/anomalies/broker_exited.txt",
	checker.BrokerNotBack:   "no fault of the log: it is told by the run's phases, as a cluster that does not settle",
	checker.InvariantBroken: "invariants are watched in the simulator's states, which no history holds",
	checker.Nonlinearizable: "it is what the log checker misses",
}

// TestSilentOnValidHistories checks that a history without an anomaly is valid and that nothing is told of it but what is information, or
// copies that a producer's retry may leave.
func TestSilentOnValidHistories(t *testing.T) {
	rng := rand.New(rand.NewPCG(master(t), 1))
	var unknown, changes int64
	n := 10 * *histories
	for i := range n {
		cfg := construct.Random(rng.Uint64(), operations)
		switch i % 4 {
		case 1:
			cfg.Trims = 3
		case 2:
			cfg.Retries = true
		case 3:
			cfg.Deletes = 3
		}
		c := construct.Make(cfg)
		v := checker.Check(c.Run, c.History, checker.Options{})
		loud := v.Status != checker.Valid
		for i := range v.Findings {
			f := &v.Findings[i]
			copied := f.Severity == checker.Allowed && f.Class == checker.Duplicate && cfg.Retries
			loud = loud || f.Severity != checker.Info && !copied
		}
		if loud {
			t.Fatalf("%+v\n%s", cfg, tell(v))
		}
		unknown += v.Stats.Unknown
		changes += v.Stats.LeaderChanges
		if v.Stats.LeaderChanges < 2 {
			t.Fatalf("%+v\n%d leader changes: the generator has gone stale", cfg, v.Stats.LeaderChanges)
		}
	}
	t.Logf("%d histories, %d sends of unknown outcome, %d leader changes", n, unknown, changes)
}

// TestPlantedAnomalies plants one anomaly at a time and requires its class as the one cause, with a witness that names the place.
func TestPlantedAnomalies(t *testing.T) {
	seed := master(t)
	ways := map[string]int{}
	for i := range construct.Planters {
		ways[construct.Planters[i].Class]++
	}
	for _, class := range checker.Classes {
		if _, ok := elsewhere[class]; !ok && ways[string(class)] == 0 {
			t.Errorf("nobody plants %q", class)
		}
	}
	for i := range construct.Planters {
		p := &construct.Planters[i]
		t.Run(p.Class+"/"+p.How, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			tries := 0
			for n := range (*histories + ways[p.Class] - 1) / ways[p.Class] {
				var c *construct.Case
				var planted *construct.Planted
				var cfg construct.Config
				for ; c == nil; tries++ {
					if tries > 500+50*n { // some histories have no place for some anomalies
						t.Fatalf("a place was found %d times in %d histories", n, tries)
					}
					cfg = construct.Random(rng.Uint64(), operations)
					c, planted = p.Plant(cfg)
				}
				v := checker.Check(c.Run, c.History, checker.Options{})
				if wrong := judge(&v, p, planted); wrong != "" {
					t.Fatalf("%s\n%+v\nplanted %+v\n%s", wrong, cfg, planted, tell(v))
				}
			}
			t.Logf("%d histories made", tries)
		})
	}
}

// judge says what is wrong with a verdict about a planted anomaly, "" if nothing is.
func judge(v *checker.Verdict, p *construct.Planter, planted *construct.Planted) string {
	causes := slices.DeleteFunc(slices.Clone(v.Findings), func(f checker.Finding) bool {
		return f.Severity == checker.Info && string(f.Class) != p.Class
	})
	if len(causes) != 1 || string(causes[0].Class) != p.Class {
		return fmt.Sprintf("%d causes, expected one: %s", len(causes), p.Class)
	}
	f := &causes[0]
	switch {
	case f.Severity != checker.Info && v.Status != checker.Invalid:
		return fmt.Sprintf("the verdict is %s", v.Status)
	case f.Partition != planted.Partition:
		return fmt.Sprintf("the finding is on %v, expected %v", f.Partition, planted.Partition)
	case planted.Offset != history.UnknownOffset && f.Offset != planted.Offset:
		return fmt.Sprintf("the finding is at offset %d, expected %d", f.Offset, planted.Offset)
	case planted.Value != "" && f.Value != planted.Value:
		return fmt.Sprintf("the finding is of value %q, expected %q", f.Value, planted.Value)
	}
	for _, id := range planted.Ops {
		if !slices.Contains(f.Ops, id) {
			return fmt.Sprintf("the witness names operations %d, expected %d among them", f.Ops, planted.Ops)
		}
	}
	return ""
}

func tell(v checker.Verdict) string {
	out := fmt.Sprintf("%s: %s", v.Status, v.Reason)
	for i := range v.Findings {
		f := &v.Findings[i]
		out += fmt.Sprintf("\n%s (%s) %v at %d, ops %d, %d times: %s", f.Class, f.Severity, f.Partition, f.Offset, f.Ops, f.Count, f.Text)
		for _, m := range f.Implied {
			out += fmt.Sprintf("\n  implied: %s at %d, ops %d: %s", m.Class, m.Offset, m.Ops, m.Text)
		}
	}
	return out
}
