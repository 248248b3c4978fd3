package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// cut is a network partition: a set of links that nothing passes. Faults may cut the same link; it opens when the last one heals.
type cut struct {
	*life
	links []link
	done  []link // those that this fault holds cut
}

func (c *cut) ready() string {
	if !slices.ContainsFunc(c.links, c.ends) {
		return "no link of the partition has both ends up: " + text(c.links)
	}
	return ""
}

func (c *cut) claim(history.ClusterState) string { return "" }

// meaningful keeps the links whose ends are both up.
func (c *cut) meaningful(links []link) []link {
	return slices.DeleteFunc(slices.Clone(links), func(l link) bool { return !c.ends(l) })
}

// ends reports whether both ends of a link are up, so that a probe over it means something.
func (c *cut) ends(l link) bool { return c.alive(l.from) && c.alive(l.to) }

func (c *cut) apply() (string, error) {
	c.run.links.lock()
	defer c.run.links.unlock()
	for _, l := range c.links {
		first := false
		c.locked(func() { first = c.cuts[l] == 0 })
		if first {
			if err := c.Cluster.Cut(l.from, l.to, world.AnyPort); err != nil {
				return "", fmt.Errorf("cut %v: %w", l, err)
			}
		}
		c.locked(func() { c.cuts[l]++ })
		c.done = append(c.done, l)
	}
	return "cut " + text(c.done), nil
}

// probe sends across the cut, where nothing may arrive, and between brokers that no fault parts, where it must: a network that
// is down altogether is no partition.
func (c *cut) probe() (string, error) {
	across := c.meaningful(c.done)
	open := c.open(c.every())
	arrived := c.probeLinks(slices.Concat(across, open), c.probeTime(c.line.For))
	for i, l := range across {
		if arrived[i] {
			return "", fmt.Errorf("link %v still passes", l)
		}
	}
	if across = c.meaningful(across); len(across) == 0 {
		return "", fmt.Errorf("%w: no link of the partition has both ends up", errHidden)
	}
	still := c.open(open)
	for i, l := range open {
		if !arrived[len(across)+i] && slices.Contains(still, l) {
			return "", fmt.Errorf("link %v, which is not cut, does not pass", l)
		}
	}
	return fmt.Sprintf("nothing passes %s; %d other links pass", text(across), len(still)), nil
}

// every lists all links of the cluster.
func (x *run) every() []link {
	var all []link
	for _, a := range x.brokers {
		for _, b := range x.brokers {
			if a != b {
				all = append(all, link{a, b})
			}
		}
	}
	return all
}

// open keeps the links that nobody cuts and whose ends are both up.
func (c *cut) open(links []link) []link {
	var open []link
	for _, l := range links {
		isCut := false
		c.locked(func() { isCut = c.cuts[l] > 0 })
		if !isCut && c.ends(l) {
			open = append(open, l)
		}
	}
	return open
}

// probeLinks probes all links at once: true where a message arrived.
func (x *run) probeLinks(links []link, timeout time.Duration) []bool {
	arrived := make([]bool, len(links))
	x.each("nemesis probe", len(links), func(i int) {
		arrived[i] = x.Cluster.ProbeLink(links[i].from, links[i].to, world.AnyPort, timeout)
	})
	return arrived
}

// pass reports the first link over which nothing arrives.
func (x *run) pass(links []link, timeout time.Duration) error {
	if i := slices.Index(x.probeLinks(links, timeout), false); i >= 0 {
		return fmt.Errorf("nothing passes from broker %d to broker %d", links[i].from, links[i].to)
	}
	return nil
}

func (c *cut) undo() error {
	c.run.links.lock()
	defer c.run.links.unlock()
	var errs []error
	var left []link
	for _, l := range c.done {
		last := false
		c.locked(func() { last = c.cuts[l] == 1 })
		if last {
			if err := c.Cluster.Heal(l.from, l.to, world.AnyPort); err != nil {
				errs, left = append(errs, fmt.Errorf("heal %v: %w", l, err)), append(left, l)
				continue
			}
		}
		c.locked(func() {
			if c.cuts[l]--; c.cuts[l] == 0 {
				delete(c.cuts, l)
			}
		})
	}
	c.done = left
	return errors.Join(errs...)
}

// verify probes the links that no other fault still cuts and whose ends are up; the end of the run probes all.
func (c *cut) verify() (string, error) {
	open := c.open(c.links)
	arrived := c.probeLinks(open, c.probeTime(0))
	still := c.open(open)
	for i, l := range open {
		if !arrived[i] && slices.Contains(still, l) {
			return "", fmt.Errorf("link %v does not pass", l)
		}
	}
	if left := len(c.links) - len(still); left > 0 {
		return fmt.Sprintf("%d links pass, %d are cut or down by other faults", len(still), left), nil
	}
	return fmt.Sprintf("%d links pass", len(still)), nil
}

func (c *cut) release() {}

func text(links []link) string {
	words := make([]string, len(links))
	for i, l := range links {
		words[i] = l.String()
	}
	return strings.Join(words, " ")
}
