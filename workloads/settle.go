package workloads

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/history"
)

// finalBytes bounds a poll that nobody paces.
const finalBytes = 256 << 10

// settling is the client that settles a run.
type settling struct {
	a        *Append
	client   *client
	router   *router
	send     *producing
	fetch    *fetching
	deadline time.Duration
}

// Settle waits, at most until the bound: a marker acknowledged on every partition and read back, ISR full, every LEO = HW. An error says
// what did not come about.
func (a *Append) Settle(within time.Duration) error {
	s := &settling{a: a, deadline: a.Env.Now() + within}
	s.client = newClient(a.Env, a.Cluster, "settler", a.Timeout)
	defer s.client.close()
	s.router = newRouter(s.client, a.Topic, a.Parts, a.Env.Rand("settler", 0))
	s.send = newProducing(a.Topic, a.Timeout)
	s.fetch = newFetching(a.Topic, min(pollWait, a.Timeout/2), finalBytes)
	for part := range a.Parts {
		if err := s.mark(a.partition(part)); err != nil {
			return fmt.Errorf("not settled within %s: %w", within, err)
		}
	}
	for {
		unsettled := a.unsettled(a.Cluster.Observe())
		if unsettled == nil {
			a.settled = s.router.routes
			return nil
		}
		if a.Env.Now()+backoff > s.deadline {
			return fmt.Errorf("not settled within %s: %w", within, unsettled)
		}
		a.Env.Sleep(backoff)
	}
}

// mark sends fresh markers to a partition until one is acknowledged, and reads it back. Each attempt is a process of its own: it
// starts reading at the end that it was told.
func (s *settling) mark(p history.Partition) error {
	var last error
	for {
		to, ok := s.router.find(p.Index, s.deadline)
		if !ok {
			if last == nil {
				return fmt.Errorf("%s: nobody told its leader", p)
			}
			return last
		}
		from, err := listOffset(s.client, p, to, latest)
		if err == nil {
			err = s.attempt(p, to, from)
		}
		if err == nil {
			return nil
		}
		last = err
		s.router.forget(p.Index)
		s.a.Env.Sleep(min(backoff, s.deadline-s.a.Env.Now()))
	}
}

// attempt sends one marker, always with acks=all (an acknowledgement of less settles nothing), and polls until it is read.
func (s *settling) attempt(p history.Partition, to route, from history.Offset) error {
	process := s.a.process(s.a.settler())
	op := history.Op{Process: process, Kind: history.Send, Acks: -1, Marker: true, Broker: to.leader, Epoch: to.epoch,
		Partition: p, Value: fmt.Sprintf("m-%d-%d", p.Index, s.a.markers), Position: history.UnknownOffset}
	s.a.markers++
	id := s.a.Record.Invoke(op)
	s.send.send(s.client, -1, &op)
	s.a.Record.Complete(id, op)
	if op.Outcome != history.OK {
		return fmt.Errorf("%s: marker %s at broker %d: %s", p, op.Value, to.leader, op.Error)
	}
	reader := positioned{a: s.a, client: s.client, router: s.router, fetch: s.fetch, process: process, partition: p, position: from}
	for {
		found := false
		reading, code := reader.poll(s.deadline)
		for _, r := range reading.Records {
			found = found || r.Value == op.Value
		}
		if found {
			return nil
		}
		gone := code == kerr.OffsetOutOfRange.Code // as retention may have it; whether it was lost is for others to say
		if gone || s.a.Env.Now() >= s.deadline {
			return fmt.Errorf("%s: marker %s acknowledged at offset %d was not read back: position %d, high watermark %d, error %q",
				p, op.Value, op.Offset, reader.position, reading.HW, reading.Error)
		}
		if len(reading.Records) == 0 {
			s.a.Env.Sleep(min(backoff, s.deadline-s.a.Env.Now()))
		}
	}
}

// unsettled says what of an observation is not as it is at rest, nil if all is.
func (a *Append) unsettled(state history.ClusterState) error {
	seen := 0
	for i := range state.Partitions {
		p := &state.Partitions[i]
		if p.Partition.Topic != a.Topic {
			continue
		}
		seen++
		if p.Leader == history.NoBroker {
			return fmt.Errorf("%s: no leader, ISR %v", p.Partition, p.ISR)
		}
		if len(p.Replicas) != a.Factor || len(p.ISR) != len(p.Replicas) {
			return fmt.Errorf("%s: ISR %v of %d replicas, expected all %d", p.Partition, p.ISR, len(p.Replicas), a.Factor)
		}
		end := p.Replicas[0].LEO
		for _, r := range p.Replicas {
			if !r.Up || r.LEO != end || r.HW != end {
				return fmt.Errorf("%s: %s", p.Partition, describe(p.Replicas))
			}
		}
	}
	if seen != a.Parts {
		return fmt.Errorf("%d of %d partitions of %s are there", seen, a.Parts, a.Topic)
	}
	return nil
}

// describe tells replicas in words.
func describe(replicas []history.ReplicaState) string {
	text := "expected every replica up with one LEO = HW:"
	for _, r := range replicas {
		up := ""
		if !r.Up {
			up = " down"
		}
		text += fmt.Sprintf(" broker %d%s LEO %d HW %d;", r.Broker, up, r.LEO, r.HW)
	}
	return text[:len(text)-1]
}
