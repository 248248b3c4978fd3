package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"tidemark/broker/server/debug"
	"tidemark/history"
)

// debugBytesMax bounds an answer of the debug endpoint.
const debugBytesMax = 64 << 20

// ask reads one page of a broker's debug endpoint.
func (c *Cluster) ask(m *machine, path string, into any) error {
	ctx, cancel := context.WithTimeout(c.env.ctx, stateBound)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.debug+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, debugBytesMax))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("broker %d: GET %s: %s", m.id, path, resp.Status)
	}
	return json.Unmarshal(text, into)
}

// Debug is the base of a broker's debug endpoint as this process reaches it, http://host:port; "" if there is no such broker.
func (c *Cluster) Debug(b history.BrokerID) string {
	m, err := c.machine(b)
	if err != nil {
		return ""
	}
	return m.debug
}

// Observe returns the cluster as it stands.
func (c *Cluster) Observe() history.ClusterState {
	c.observing.Lock() // one look after another: two at once may each be the older one of some broker
	defer c.observing.Unlock()
	return c.brokers.look()
}

// look takes the metadata of the broker that has applied the most of it, and each replica as its own broker has it. A broker that does not
// answer keeps its last known state, as down.
func (c ownBrokers) look() history.ClusterState {
	states := make([]*debug.State, len(c.machines))
	var all sync.WaitGroup
	for i, m := range c.machines {
		all.Go(func() {
			var s debug.State
			if c.ask(m, "/state", &s) == nil && history.BrokerID(s.Broker) == m.id {
				states[i] = &s
			}
		})
	}
	all.Wait()
	out := history.ClusterState{Controller: history.NoBroker}
	var newest *debug.State
	up := map[history.BrokerID]bool{}
	for i, s := range states {
		if s == nil {
			continue
		}
		m := c.machines[i]
		up[m.id] = true
		m.learn(s)
		if s.IsController {
			out.Controller = m.id
		}
		if newest == nil || s.MetadataIndex > newest.MetadataIndex {
			newest = s
		}
	}
	out.Time = c.env.Now()
	if newest == nil {
		return out
	}
	for i := range newest.Partitions {
		out.Partitions = append(out.Partitions, c.partition(&newest.Partitions[i], up))
	}
	slices.SortFunc(out.Partitions, func(a, b history.PartitionState) int { return a.Partition.Compare(b.Partition) })
	return out
}

// learn takes in what a broker says of its replicas: what an earlier incarnation had is not this one's.
func (m *machine) learn(s *debug.State) {
	m.forget()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range s.Replicas {
		m.last[history.Partition{Topic: r.Topic, Index: r.Partition}] = history.ReplicaState{
			Broker: m.id, Leads: r.Role == debug.Leader, Epoch: history.Epoch(r.Epoch), LEO: history.Offset(r.LEO),
			HW: history.Offset(r.HW), Start: history.Offset(r.Start),
		}
	}
}

// unknownReplica is a replica of which nothing is known.
func unknownReplica(b history.BrokerID) history.ReplicaState {
	return history.ReplicaState{Broker: b, Epoch: -1, LEO: history.UnknownOffset, HW: history.UnknownOffset, Start: history.UnknownOffset}
}

func (c *Cluster) partition(p *debug.Registration, up map[history.BrokerID]bool) history.PartitionState {
	name := history.Partition{Topic: p.Topic, Index: p.Partition}
	s := history.PartitionState{
		Partition: name, Leader: history.BrokerID(p.Leader), Epoch: history.Epoch(p.LeaderEpoch), PartitionEpoch: p.PartitionEpoch,
		ISR: brokersOf(p.ISR), ELR: brokersOf(p.ELR),
	}
	for _, b := range brokersOf(p.Replicas) {
		r := unknownReplica(b)
		if m, err := c.machine(b); err == nil {
			m.mu.Lock()
			if known, ok := m.last[name]; ok {
				r = known
			}
			m.mu.Unlock()
			r.Up = up[b]
		}
		s.Replicas = append(s.Replicas, r)
	}
	return s
}
