package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tidemark/broker/config"
	"tidemark/world"
)

// Finding is one thing that the doctor looked at.
type Finding struct {
	What string // what was looked at, with what was found
	OK   bool
	// Of what is not as it should be: what that rules out, and how to get it.
	RulesOut string
	How      string
}

// Examine looks at what the container world needs, in order, and stops where the rest cannot be looked at. It starts, and removes, one
// cluster of one sidecar. binary is as in Options.
func Examine(ctx context.Context, binary string) []Finding {
	engine, err := Connect(ctx)
	if err != nil {
		var missing *Missing
		how := ""
		if errors.As(err, &missing) {
			err, how = errors.New(missing.What), missing.How
		}
		return []Finding{{What: err.Error(), RulesOut: "--world docker; --world sim needs no engine", How: how}}
	}
	defer engine.Close() //nolint:errcheck // nothing is under way
	found := []Finding{{What: fmt.Sprintf("Docker Engine %s answers, API %s", engine.Version, engine.API), OK: true}}
	found = append(found, engine.examineProcesses(ctx), engine.examineBinary(binary))
	if !found[len(found)-1].OK {
		return append(found, engine.examineLeftovers(ctx))
	}
	return append(append(found, engine.examineAgent(ctx, binary)...), engine.examineLeftovers(ctx))
}

// examineProcesses looks whether the engine's processes can be seen from here: a pause is observed in /proc.
func (e *Engine) examineProcesses(ctx context.Context) Finding {
	info, err := e.api.Info(ctx)
	boot, bootErr := bootID()
	switch {
	case err != nil || bootErr != nil:
		return Finding{What: fmt.Sprintf("the engine's machine cannot be told: %v", errors.Join(err, bootErr)), RulesOut: "nothing by itself", How: "ask again"}
	case !strings.HasPrefix(e.api.DaemonHost(), "unix://"):
		return Finding{
			What:     fmt.Sprintf("the engine is at %s, boot %s here", e.api.DaemonHost(), boot),
			RulesOut: "observing pauses, unless that is this machine: a stopped process shows in /proc only",
			How:      "run tidemark on the engine's machine",
		}
	default:
		return Finding{What: fmt.Sprintf("the engine is on this machine, Linux %s, cgroups %s", info.KernelVersion, info.CgroupVersion), OK: true}
	}
}

func (e *Engine) examineBinary(binary string) Finding {
	path, err := binaryPathOf(binary)
	if err == nil {
		_, err = readBinary(path)
	}
	if err != nil {
		return Finding{What: err.Error(), RulesOut: "--world docker: containers run this very program in an empty image", How: "make build, then bin/tidemark"}
	}
	return Finding{What: path + " is static: it runs in an empty image", OK: true}
}

// examineAgent starts a sidecar and lets it do what runs need.
func (e *Engine) examineAgent(ctx context.Context, binary string) []Finding {
	env := NewEnv(ctx, 0)
	defer env.cancel()
	c, err := newCluster(env, e, Options{Configs: examined(), Binary: binary, Say: func(string) {}})
	if err == nil {
		c.image, err = e.image(ctx, binary, c.opt.Say)
	}
	if err != nil {
		return []Finding{{What: err.Error(), RulesOut: "--world docker", How: "free disk space, or another engine"}}
	}
	defer func() { _ = c.takeDown() }() // what is left shows as a leftover
	err = c.makeNetwork()
	if err == nil {
		err = c.each(c.prepare)
	}
	if err != nil {
		return []Finding{{What: err.Error(), RulesOut: "--world docker", How: "containers with a network of their own, a volume and CAP_NET_ADMIN must be allowed (rootless engines allow them)"}}
	}
	if err = c.each(c.reach); err != nil {
		return []Finding{{What: err.Error(), RulesOut: "--world docker: a sidecar ends where nf_tables does not work", How: "a kernel with CONFIG_NF_TABLES and CONFIG_NF_TABLES_IPV4 (modprobe nf_tables), and CAP_NET_ADMIN for containers"}}
	}
	return []Finding{{What: "a container of this program starts, owns its network namespace and reaches it by nf_tables", OK: true}, c.examineLinks()}
}

// examineLinks cuts one direction of a link and loses packets by chance on it.
func (c *Cluster) examineLinks() Finding {
	wrong := func(err error) Finding {
		return Finding{What: err.Error(), RulesOut: "partitions: plans with partition lines", How: "a kernel with nf_tables' numgen and counter expressions, and a bridge that passes UDP between containers"}
	}
	a, b := c.machines[0].id, c.machines[1].id
	if !c.ProbeLink(a, b, world.AnyPort, probeBound) {
		return wrong(errors.New("nothing passes from one container to another on a network of their own"))
	}
	if err := c.Cut(a, b, world.AnyPort); err != nil {
		return wrong(err)
	}
	passed, back := c.ProbeLink(a, b, world.AnyPort, probeBound), c.ProbeLink(b, a, world.AnyPort, probeBound)
	if err := c.Heal(a, b, world.AnyPort); err != nil {
		return wrong(err)
	}
	if passed || !back || !c.ProbeLink(a, b, world.AnyPort, probeBound) {
		return wrong(fmt.Errorf("a cut link passes: %t, the other direction passes: %t, expected false and true, and both after the heal", passed, back))
	}
	if err := c.Lose(a, b, 0.5); err != nil {
		return wrong(err)
	}
	if err := c.EndLoss(a, b); err != nil {
		return wrong(err)
	}
	return Finding{What: "links are cut and healed in one direction, seen by probes; packets are lost by probability", OK: true}
}

func (e *Engine) examineLeftovers(ctx context.Context) Finding {
	left, err := e.Leftovers(ctx, true)
	switch {
	case err != nil:
		return Finding{What: err.Error(), RulesOut: "nothing by itself", How: "ask again"}
	case len(left) > 0:
		return Finding{What: "left by earlier runs: " + strings.Join(left, ", "), RulesOut: "nothing: the next run removes what was not kept on purpose", How: "tidemark cleanup"}
	default:
		return Finding{What: "nothing is left of earlier runs", OK: true}
	}
}

// examined is the configuration of the two sidecars that the doctor starts: no broker runs in them.
func examined() []config.Config {
	one, two := config.Default(), config.Default()
	one.NodeID, two.NodeID = 1, 2
	return []config.Config{one, two}
}
