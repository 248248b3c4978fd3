package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/history"
	"tidemark/workloads"
	"tidemark/world"
)

// examineCluster starts two brokers and does to them what runs do.
func (e *Engine) examineCluster(ctx context.Context, binary string) []Finding {
	env := NewEnv(ctx, 0)
	defer env.cancel()
	c, err := newCluster(env, e, Options{
		Configs: examined(), Binary: binary, Memory: memoryMin, CPUs: examinedCPUs, Say: func(string) {}, Record: func(history.Step, time.Duration) {},
	})
	if err == nil {
		c.image, err = e.image(ctx, binary, c.opt.Say)
		c.inside = c.image
	}
	if err != nil {
		return []Finding{{What: err.Error(), RulesOut: "--world docker", How: "free disk space, or another engine"}}
	}
	defer func() { _ = c.takeDown() }() // what is left shows as a leftover
	if failed := c.examineStart(); failed != nil {
		return []Finding{*failed}
	}
	return []Finding{
		{What: "containers of this program start, each broker's in the network namespace of its sidecar, which reaches it by nf_tables", OK: true},
		c.examineReach(), c.examinePublished(), c.examineLinks(), c.examineLags(), c.examineMessages(), c.examineFreezer(), c.examineLimits(), c.examineWipe(),
	}
}

// examineStart brings the cluster up, in steps that fail for reasons of their own.
func (c *Cluster) examineStart() *Finding {
	err := c.makeNetwork()
	if err == nil {
		err = c.each(c.prepare)
	}
	if err != nil {
		return &Finding{What: err.Error(), RulesOut: "--world docker", How: "containers with a network of their own, a volume and CAP_NET_ADMIN must be allowed (rootless engines allow them)"}
	}
	if err := c.each(c.reach); err != nil {
		return &Finding{What: err.Error(), RulesOut: "--world docker: a sidecar ends where nf_tables does not work", How: "a kernel with CONFIG_NF_TABLES and CONFIG_NF_TABLES_IPV4 (modprobe nf_tables), and CAP_NET_ADMIN for containers"}
	}
	if err = c.brokers.introduce(); err == nil {
		err = c.each(c.startBroker)
	}
	if err == nil {
		err = c.each(func(m *machine) error { return c.listens(m, "") })
	}
	if err != nil {
		return &Finding{What: err.Error(), RulesOut: "--world docker", How: "containers that join another's network namespace, with two volumes and limits, must be allowed"}
	}
	return nil
}

// examineReach tells how this process gets to the containers.
func (c *Cluster) examineReach() Finding {
	if c.direct {
		return Finding{What: "this machine reaches containers at their own addresses", OK: true}
	}
	return Finding{What: "this machine reaches containers by published ports alone: a broker that is gone closes connections, where it would refuse them", OK: true}
}

// examinePublished asks a broker by way of the port that clients on this machine use.
func (c *Cluster) examinePublished() Finding {
	m := c.machines[0]
	if !serving(c.env.ctx, m.published, startBound) {
		return Finding{
			What: "no broker answers at " + m.published + ", where its port is published", RulesOut: "clients on this machine outside of the containers' network, such as kcat",
			How: "the engine's userland-proxy, or its rules for 127.0.0.1, must not be switched off",
		}
	}
	return Finding{What: "a published port reaches its broker from 127.0.0.1", OK: true}
}

// probeBound is how long a probe of the doctor may take.
const probeBound = 500 * time.Millisecond

// examineLinks cuts one direction of a link, then a port of it, and loses packets by chance on it.
func (c *Cluster) examineLinks() Finding {
	wrong := func(err error) Finding {
		return Finding{What: err.Error(), RulesOut: "partitions and losses: plans with partition or loss lines", How: "a kernel with nf_tables' numgen and counter expressions (CONFIG_NFT_NUMGEN), and a bridge that passes UDP between containers"}
	}
	a, b := c.machines[0].id, c.machines[1].id
	if !c.ProbeLink(a, b, world.AnyPort, probeBound) {
		return wrong(errors.New("nothing passes from one container to another on a network of their own"))
	}
	for _, at := range []world.Port{world.AnyPort, world.BrokerPort} {
		if err := c.Cut(a, b, at); err != nil {
			return wrong(err)
		}
		passed, back := c.ProbeLink(a, b, at, probeBound), c.ProbeLink(b, a, at, probeBound)
		if err := c.Heal(a, b, at); err != nil {
			return wrong(err)
		}
		if passed || !back || !c.ProbeLink(a, b, at, probeBound) {
			return wrong(fmt.Errorf("a link cut at port %q passes: %t, the other direction passes: %t, expected false and true, and both after the heal", at, passed, back))
		}
	}
	err := c.Lose(a, b, examinedLoss)
	var lost int64
	for try := 0; err == nil && lost == 0 && try < examinedProbes; try++ {
		c.ProbeLink(a, b, world.AnyPort, probeBound)
		lost, err = c.Lost(a, b)
	}
	if err = errors.Join(err, c.EndLoss(a, b)); err != nil {
		return wrong(err)
	}
	if lost == 0 {
		return wrong(fmt.Errorf("a link that loses %v of the packets lost none of %d", examinedLoss, examinedProbes))
	}
	return Finding{What: "links are cut and healed in one direction and by port, seen by probes; packets are lost by probability, and counted", OK: true}
}

// examineLags tells by what packets are delayed: a kernel without netem rules out only that they overtake each other.
func (c *Cluster) examineLags() Finding {
	wrong := func(err error) Finding {
		return Finding{What: err.Error(), RulesOut: "plans with lag lines", How: "a kernel with netem, htb and u32 (CONFIG_NET_SCH_NETEM, CONFIG_NET_SCH_HTB, CONFIG_NET_CLS_U32; modprobe sch_netem)"}
	}
	c.opt.Lags = true
	if err := c.prepareLags(); err != nil {
		return wrong(err)
	}
	if c.late.means == byProxy {
		c.opt.Messages = false // the next examination puts the proxies in force
		return Finding{What: "packets are not delayed by the kernel (" + c.late.why + "): plans with lag lines delay the bytes of connections in a proxy, and cannot have reorder", OK: true, Note: true}
	}
	a, b := c.machines[0].id, c.machines[1].id
	before, passed := c.Transit(a, b, probeBound)
	_, err := c.Lag(a, b, world.Lag{By: examinedLag})
	if err != nil {
		return wrong(err)
	}
	late, lately := c.Transit(a, b, examinedLag+probeBound)
	if err := c.EndLag(a, b); err != nil {
		return wrong(err)
	}
	if !passed || !lately || late < before+examinedLag/2 {
		return wrong(fmt.Errorf("a message takes %v (%t) where packets are late by %v, and %v (%t) before", late, lately, examinedLag, before, passed))
	}
	return Finding{What: "packets are delayed by the kernel's netem, as messages that were measured show", OK: true}
}

// examineMessages puts the proxies in force and breaks a client's connection at what it asks.
func (c *Cluster) examineMessages() Finding {
	wrong := func(err error) Finding {
		return Finding{What: err.Error(), RulesOut: "faults on single messages: plans with hold, drop, late, delay or throttle lines", How: "a kernel with connection tracking and nf_tables' redirections (CONFIG_NF_NAT, CONFIG_NFT_NAT, CONFIG_NFT_REDIR)"}
	}
	b := c.machines[0].id
	c.opt.Messages = true
	if err := c.intercept(); err != nil {
		c.opt.Messages = false
		return wrong(err)
	}
	number, err := c.Catch(world.MessageFault{Kind: world.CanDrop, API: "api-versions", Links: []world.Link{{From: history.NoBroker, To: b}}})
	if err != nil {
		return wrong(err)
	}
	asked, probed := c.serves(b), c.ProbeServing(b, startBound)
	if err := c.EndCatch(number); err != nil {
		return wrong(err)
	}
	if after := c.serves(b); asked || !probed || !after {
		return wrong(fmt.Errorf("while what clients ask is dropped one is served: %t, a probe is: %t, and one after that: %t, expected false, true and true", asked, probed, after))
	}
	return Finding{What: "connections are redirected to a proxy that holds, drops and delays single messages", OK: true}
}

// serves asks a broker as a client does.
func (c *Cluster) serves(b history.BrokerID) bool {
	k, err := c.Dial("doctor", b, startBound)
	if err != nil {
		return false
	}
	defer k.Close()
	return workloads.Serves(k, startBound)
}

// examineFreezer freezes and thaws a broker.
func (c *Cluster) examineFreezer() Finding {
	b := c.machines[0].id
	err := c.Freeze(b)
	if err == nil && c.ProbeServing(b, probeBound) {
		err = errors.New("a frozen broker serves")
	}
	if err == nil {
		err = c.Thaw(b)
	}
	if err == nil && !c.ProbeServing(b, startBound) {
		err = errors.New("a thawed broker does not serve")
	}
	if err != nil {
		return Finding{What: err.Error(), RulesOut: "plans with freeze lines", How: "a kernel with CONFIG_CGROUP_FREEZER (cgroups 1) or with cgroups 2 from Linux 5.2 on, and an engine that may use it"}
	}
	return Finding{What: "containers are frozen and thawed by their cgroups, as the kernel tells", OK: true}
}

// examineLimits reads the kernel's limits of a broker's container.
func (c *Cluster) examineLimits() Finding {
	wrong := func(what string) Finding {
		return Finding{What: what, RulesOut: "--memory and --cpus", How: "a kernel with the cgroup controllers memory and cpu (CONFIG_MEMCG, CONFIG_CFS_BANDWIDTH); rootless engines take cgroups 2 with delegation"}
	}
	info, err := c.inspect(c.machines[0].broker)
	if err != nil {
		return wrong(err.Error())
	}
	memory, err := cgroupSays(info.State.Pid, "memory", "memory.limit_in_bytes", "memory.max")
	if err != nil {
		return Finding{What: "the kernel's limits of containers cannot be seen from here: " + err.Error(), OK: true}
	}
	cpu, err := cgroupSays(info.State.Pid, "cpu", "cpu.cfs_quota_us", "cpu.max")
	quota, _, _ := strings.Cut(cpu, " ")
	if err != nil || memory != strconv.Itoa(memoryMin) || quota != strconv.Itoa(examinedCPUs*cpuPeriod) {
		return wrong(fmt.Sprintf("the kernel limits memory to %q and the processor's time to %q µs, expected %d and %d (%v)", memory, cpu, memoryMin, examinedCPUs*cpuPeriod, err))
	}
	return Finding{What: "the kernel holds containers to limits of memory and processors", OK: true}
}

// examineWipe wipes a broker.
func (c *Cluster) examineWipe() Finding {
	if _, err := c.Wipe(c.machines[1].id); err != nil {
		return Finding{What: err.Error(), RulesOut: "plans with wipe lines", How: "volumes on a local disk, whose locks containers share"}
	}
	return Finding{What: "a killed broker's volume is wiped under the lock that brokers share", OK: true}
}

// What the doctor tries with.
const (
	examinedCPUs   = 1
	cpuPeriod      = 100_000 // µs, which quotas are a part of
	examinedLoss   = 0.5
	examinedProbes = 20
	examinedLag    = 200 * time.Millisecond
)

// examined is the configuration of the two brokers that the doctor starts.
func examined() []config.Config {
	var configs []config.Config
	voters := []config.Voter{{ID: 1}, {ID: 2}}
	for _, v := range voters {
		cfg := config.Default()
		cfg.NodeID, cfg.Voters = kafka.BrokerID(v.ID), voters
		configs = append(configs, cfg)
	}
	return configs
}
