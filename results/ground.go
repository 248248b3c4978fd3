package results

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark/history"
)

// contained reports whether the run's brokers were containers, whose runs have no trace and never replay exactly.
func (o Outcome) contained() bool { return o.Run.World == "docker" }

// limitFacts tells what each broker's container may use.
func limitFacts(r history.Run) []fact {
	memory, processors := "1 GiB, as none was asked for", "all, as no limit was asked for"
	if r.Memory != 0 {
		memory = mebibytes(r.Memory)
	}
	if r.CPUs != 0 {
		processors = strconv.FormatFloat(r.CPUs, 'g', -1, 64)
	}
	return []fact{{"Memory of each broker", memory}, {"Processors of each broker", processors}}
}

// groundFacts tells what a run in containers stood on.
func groundFacts(g *history.Ground) []fact {
	facts := []fact{
		{"Engine", fmt.Sprintf("Docker Engine %s on Linux %s, cgroups %s", orDash(g.Engine), orDash(g.Kernel), orDash(g.Cgroups))},
		{"Its machine", fmt.Sprintf("%d processors, %s of memory", g.Processors, mebibytes(g.Memory))},
		{"Image", orDash(g.Image)},
	}
	for i, b := range g.Brokers {
		if i == listenersMax {
			break
		}
		at := []string{"BROKER " + orDash(b.Broker), "EXTERNAL " + orDash(b.External)}
		if b.Controller != "" {
			at = append(at, "CONTROLLER "+b.Controller)
		}
		facts = append(facts, fact{"Listeners of broker " + strconv.Itoa(int(b.ID)), strings.Join(at, ", ")})
	}
	return facts
}

// listenersMax bounds the brokers whose listeners the page tells of.
const listenersMax = 31

// clientWord says whose clients made the load.
func clientWord(client string) string {
	switch client {
	case "", history.ClientRaw:
		return "raw"
	case history.ClientFranz:
		return "franz-go"
	case history.ClientBoth:
		return "half raw, half franz-go"
	default:
		return clip(client, 40)
	}
}

func mebibytes(n int64) string { return count(n>>20) + " MiB" }
