package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/world"
)

// gap is what a partition cuts of a link: everything, or what belongs to one port.
type gap struct {
	link
	at world.Port
}

func (g gap) String() string { return g.link.String() + onPort(g.at) }

func onPort(at world.Port) string {
	if at == world.AnyPort {
		return ""
	}
	return " on port " + string(at)
}

// at is links at a port.
func at(port world.Port, links []link) []gap {
	gaps := make([]gap, len(links))
	for i, l := range links {
		gaps[i] = gap{l, port}
	}
	return gaps
}

// ports lists the ports at which a plan cuts.
func (p Plan) ports() []world.Port {
	var ports []world.Port
	for _, l := range p.Lines {
		if at := l.Fault.Port; at != world.AnyPort && !slices.Contains(ports, at) {
			ports = append(ports, at)
		}
	}
	slices.Sort(ports)
	return ports
}

// every lists all links of the cluster.
func (x *run) every() []link {
	var all []link
	for _, a := range x.nodes {
		for _, b := range x.nodes {
			if a != b {
				all = append(all, link{a, b})
			}
		}
	}
	return all
}

// ends reports whether both ends of a link are up, so that a probe over it means something.
func (x *run) ends(l link) bool { return x.alive(l.from) && x.alive(l.to) }

// meaningful keeps the gaps whose ends are both up.
func (x *run) meaningful(gaps []gap) []gap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g gap) bool { return !x.ends(g.link) })
}

// uncut keeps the gaps that nobody cuts and whose ends are both up.
func (x *run) uncut(gaps []gap) []gap {
	return slices.DeleteFunc(x.meaningful(gaps), func(g gap) (isCut bool) {
		x.locked(func() { isCut = x.cuts[gap{g.link, world.AnyPort}] > 0 || x.cuts[g] > 0 })
		return isCut
	})
}

// passable keeps those of the uncut gaps on which no packets are lost or late: what is sent there arrives, and at once.
func (x *run) passable(gaps []gap) []gap {
	return slices.DeleteFunc(x.uncut(gaps), func(g gap) bool {
		lossy, late := false, false
		x.locked(func() {
			_, lossy = x.lossy[g.link]
			_, late = x.lagged[g.link]
		})
		return lossy || late
	})
}

// probeLinks probes all gaps at once: true where a message arrived.
func (x *run) probeLinks(gaps []gap, timeout time.Duration) []bool {
	arrived := make([]bool, len(gaps))
	x.each("nemesis probe", len(gaps), func(i int) {
		arrived[i] = x.Cluster.ProbeLink(gaps[i].from, gaps[i].to, gaps[i].at, timeout)
	})
	return arrived
}

// reopened probes the gaps that no other fault holds. It reports the first over which nothing arrives, or what it found.
func (x *run) reopened(gaps []gap) (detail string, err error) {
	open := x.passable(gaps)
	arrived := x.probeLinks(open, x.probeTime(0))
	still := x.passable(open)
	for i, g := range open {
		if !arrived[i] && slices.Contains(still, g) {
			return "", fmt.Errorf("link %v does not pass", g)
		}
	}
	if left := len(gaps) - len(still); left > 0 {
		return fmt.Sprintf("%d links pass; %d that other faults cut, lossen, delay or hold down are probed at the end of the plan", len(still), left), nil
	}
	return fmt.Sprintf("%d links pass", len(still)), nil
}

// pass reports the first link of the cluster over which nothing arrives, at any port that the plan knows.
func (x *run) pass() error {
	var gaps []gap
	for _, port := range append([]world.Port{world.AnyPort}, x.ports...) {
		gaps = append(gaps, at(port, x.every())...)
	}
	if i := slices.Index(x.probeLinks(gaps, x.probeTime(0)), false); i >= 0 {
		return fmt.Errorf("nothing passes from broker %d to broker %d%s", gaps[i].from, gaps[i].to, onPort(gaps[i].at))
	}
	return nil
}

// text lists what one fault cuts: its gaps are all at one port.
func text(gaps []gap) string {
	words := make([]string, len(gaps))
	for i, g := range gaps {
		words[i] = g.link.String()
	}
	s := strings.Join(words, " ")
	if len(gaps) > 0 {
		s += onPort(gaps[0].at)
	}
	return s
}
