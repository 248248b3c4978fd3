package checker

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/history"
)

// simulated is the world whose invariants are watched in every state that it goes through.
const simulated = "sim"

// blind says what a run's history lacks, so that whatever could have shown there was not looked at: worlds differ in what can be seen of
// brokers. What clients saw is not among it: without that a verdict is unknown. A history that is no run's own says nothing of what was to be seen.
func blind(run history.Run, h *history.History) []string {
	if run.World == "" {
		return nil
	}
	out := undumped(h)
	if !sawWatermark(h) {
		out = append(out, "Whether high watermarks went back: nobody saw any replica's.")
	}
	if b := silentAfterRestart(h); b != history.NoBroker {
		out = append(out, fmt.Sprintf("What replicas did between two looks at them, and with which high watermarks they began after a restart: brokers of this make, such as broker %d, do not say.", b))
	}
	if run.World != simulated {
		out = append(out, "The protocol's invariants: only the simulator sees every state.")
	}
	return out
}

// undumped names the replicas whose logs nobody read from their files at the end, by the cluster as it was seen last.
func undumped(h *history.History) []string {
	type place struct {
		broker    history.BrokerID
		partition history.Partition
	}
	read := map[place]bool{}
	why := map[place]string{}
	for i := range h.Dumps {
		d := &h.Dumps[i]
		at := place{d.Broker, d.Partition}
		read[at] = read[at] || d.Err == ""
		why[at] = d.Err
	}
	if len(read) == 0 {
		return []string{"Whether replicas agree at the end: no replica's log was read from its files."}
	}
	if len(h.States) == 0 {
		return nil
	}
	var missing []string
	for _, p := range h.States[len(h.States)-1].Partitions {
		for _, r := range p.Replicas {
			at := place{r.Broker, p.Partition}
			if read[at] {
				continue
			}
			text := fmt.Sprintf("broker %d's of %v", r.Broker, p.Partition)
			if why[at] != "" {
				text += " (" + why[at] + ")"
			}
			missing = append(missing, text)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	more := ""
	if n := len(missing); n > blindMax {
		missing, more = missing[:blindMax], fmt.Sprintf(", and %d more", n-blindMax)
	}
	return []string{"Whether these replicas agree with the others at the end, as their logs were not read from their files: " + strings.Join(missing, ", ") + more + "."}
}

// blindMax bounds how many replicas a sentence names.
const blindMax = 6

// sawWatermark reports whether an observer saw a replica's high watermark.
func sawWatermark(h *history.History) bool {
	return slices.ContainsFunc(h.States, func(s history.ClusterState) bool {
		return slices.ContainsFunc(s.Partitions, func(p history.PartitionState) bool {
			return slices.ContainsFunc(p.Replicas, func(r history.ReplicaState) bool { return r.HW >= 0 })
		})
	})
}

// silentAfterRestart is a broker that came up again and told of none of its replicas how it began; NoBroker if every one did.
func silentAfterRestart(h *history.History) history.BrokerID {
	starts, told := map[history.BrokerID]int{}, map[history.BrokerID]bool{}
	for i := range h.Steps {
		s := &h.Steps[i]
		switch {
		case s.Kind != history.StepStart:
		case s.Partition == (history.Partition{}):
			starts[s.Broker]++
		default:
			told[s.Broker] = true
		}
	}
	silent := history.NoBroker
	for b, n := range starts {
		if n > 1 && !told[b] && (silent == history.NoBroker || b < silent) {
			silent = b
		}
	}
	return silent
}
