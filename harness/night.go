package harness

import (
	"slices"
	"time"

	"tidemark/results/index"
)

// The parts of a night, in the order in which they are carried out: first what says whether the others can be trusted, then what is cheap, and
// last what needs a container engine.
const (
	NightCanary     = index.PartCanary // a known bug that must be found
	NightCorpus     = "corpus"         // what failed once
	NightHunt       = "hunt"           // random search
	NightBugs       = index.PartBugs   // known bugs by random search
	NightContainers = "containers"     // this program's own brokers in containers
	NightKafka      = "kafka"          // Apache Kafka in containers
)

// NightParts lists them in that order.
var NightParts = []string{NightCanary, NightCorpus, NightHunt, NightBugs, NightContainers, NightKafka}

// nightWeights is how a budget is divided: of twenty minutes, so many are a part's.
var nightWeights = map[string]int{NightCanary: 1, NightCorpus: 2, NightHunt: 7, NightBugs: 4, NightContainers: 3, NightKafka: 3}

// NightShare is how much of the time that is left a part gets, where the named ones, itself among them, are still to come: what a part leaves
// goes to those behind it. Without a budget there is no bound, 0.
func NightShare(left time.Duration, part string, toCome []string) time.Duration {
	total := 0
	for _, p := range toCome {
		total += nightWeights[p]
	}
	if total == 0 || !slices.Contains(toCome, part) {
		return 0
	}
	return max(0, left) * time.Duration(nightWeights[part]) / time.Duration(total)
}

// UnbegunPart is a part for which the budget left no time: nobody can tell what it would have found, so it is no reason to pass.
func UnbegunPart(part string) index.Part {
	return Doubted(index.Part{Name: part, Done: true, Problems: []index.Problem{}}, "no time", "there was no time left for it")
}

// SkippedPart is a part that could not be carried out, and why.
func SkippedPart(part, why string) index.Part {
	return index.Part{Name: part, Status: index.Skipped, Reason: why, Checks: []index.Check{}, Problems: []index.Problem{}}
}

// NightSearch is how much of its share a night's hunt searches for: the rest is for keeping and shrinking what it found.
func NightSearch(share time.Duration) time.Duration { return share * 3 / 4 }

// Starved reports whether a search had less than half of the processors' time that it wanted, because others had it: it says little that such a search
// found nothing. used is the time that it had, workers how many processors it could use.
func Starved(used time.Duration, seconds float64, workers int) bool {
	return used.Seconds() < seconds*float64(workers)/2
}

// Varied are at most so many groups of failures: the first of each class of anomaly, then the others, in their order.
func Varied(groups []Group, most int) []Group {
	var firsts, others []Group
	seen := map[string]bool{}
	for _, g := range groups {
		class := index.ClassOf(g.Signature)
		if seen[class] {
			others = append(others, g)
		} else {
			firsts = append(firsts, g)
		}
		seen[class] = true
	}
	all := append(firsts, others...)
	return all[:min(len(all), most)]
}
