package workloads

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/history"
)

// Visitor is the load on a topic that the run deletes and creates again: one client that sends and polls in turn, by the topic's id (KIP-516), so
// that each operation is about one incarnation, whatever becomes of the topic meanwhile. Its methods are called one after the other, in their order here.
type Visitor struct {
	*Append        // the run's main load, for what both have in common
	Topic   string // of one partition

	client  *client
	send    *producing
	fetch   *fetching
	id      [16]byte // of the incarnation that the last metadata told
	to      route
	reached map[[16]byte]history.Offset // how far each was read; looked up only
	marked  [16]byte                    // the incarnation that acknowledged the last marker, zero before the first
	led     history.Epoch               // the leader epoch in which it did
	sent    int
}

// visitorRate is the operations a second of a visitor.
const visitorRate = 12

// Create creates the topic, as the main load's is created.
func (v *Visitor) Create(within time.Duration) error {
	own := Append{Env: v.Env, Cluster: v.Cluster, Topic: v.Topic, Parts: 1, Factor: v.Factor, Timeout: v.Timeout}
	if err := own.Create(within); err != nil {
		return err
	}
	v.client = newClient(v.Env, v.Cluster, "visitor", v.Timeout)
	v.send, v.fetch = newProducing("", v.Timeout), newFetching("", min(pollWait, v.Timeout/2), pollBytes)
	v.send.req.Version, v.fetch.req.Version = produceByIDVersion, fetchByIDVersion
	v.to.leader, v.reached = history.NoBroker, map[[16]byte]history.Offset{}
	return nil
}

// Load sends and polls until the time comes.
func (v *Visitor) Load(until time.Duration) {
	process := v.process(v.settler())
	due := newPace(v.Env, v.Env.Rand("visitor pace", 0), time.Second/visitorRate)
	for turn := 0; due.wait(until); turn++ {
		if !v.find(until) {
			continue
		}
		if turn%2 == 0 {
			if v.write(process, v.Acks, false).Outcome == history.Info {
				process = v.process(v.settler())
			}
		} else {
			v.read(process, false)
		}
	}
	v.client.close()
}

// find asks the brokers for the topic until one tells a leader; false when the time comes first.
func (v *Visitor) find(until time.Duration) bool {
	brokers, rnd := v.Cluster.Brokers(), v.Env.Rand("visitor metadata", v.sent)
	for v.to.leader == history.NoBroker {
		if v.Env.Now() >= until {
			return false
		}
		md, err := askMetadata(v.client, brokers[rnd.IntN(len(brokers))], v.Topic)
		if err == nil && len(md.Topics[0].Partitions) == 1 {
			p := &md.Topics[0].Partitions[0]
			if md.Topics[0].TopicID == v.marked && history.Epoch(p.LeaderEpoch) < v.led {
				p.Leader = int32(history.NoBroker) // a broker that is behind: as for the main load
			}
			v.id, v.to = md.Topics[0].TopicID, route{leader: history.BrokerID(p.Leader), epoch: history.Epoch(p.LeaderEpoch)}
		}
		if v.to.leader == history.NoBroker {
			v.Env.Sleep(min(backoff, until-v.Env.Now()))
		}
	}
	return true
}

func (v *Visitor) op(process int32, kind history.OpKind) history.Op {
	return history.Op{Process: process, Kind: kind, Broker: v.to.leader, Epoch: v.to.epoch, Partition: v.incarnation(), Position: history.UnknownOffset}
}

// incarnation is the partition as the history names it.
func (v *Visitor) incarnation() history.Partition {
	return history.Partition{Topic: history.Incarnation(v.Topic, v.id)}
}

func (v *Visitor) write(process int32, acks int16, marker bool) history.Op {
	op := v.op(process, history.Send)
	op.Acks, op.Marker, op.Value = acks, marker, fmt.Sprintf("v%d-%d", process, v.sent)
	v.sent++
	v.send.req.Topics[0].TopicID = v.id
	id := v.Record.Invoke(op)
	v.send.send(v.client, acks, &op)
	v.Record.Complete(id, op)
	if op.Outcome != history.OK && op.Error != AcksNone {
		v.to.leader = history.NoBroker
	}
	return op
}

// read is one poll, from where the last one of this incarnation ended.
func (v *Visitor) read(process int32, final bool) history.Op {
	op := v.op(process, history.Poll)
	op.Final, op.Position = final, v.reached[v.id]
	v.fetch.req.Topics[0].TopicID = v.id
	id := v.Record.Invoke(op)
	next, code := v.fetch.poll(v.client, &op)
	v.Record.Complete(id, op)
	switch {
	case op.Outcome == history.OK:
		v.reached[v.id] = next
	case code == kerr.OffsetOutOfRange.Code && v.seek(process):
	default:
		v.to.leader = history.NoBroker
	}
	return op
}

// seek moves a position that is out of range; false if it is kept.
func (v *Visitor) seek(process int32) bool {
	at, err := v.reset(v.reached[v.id], func(place history.Offset) (history.Offset, error) {
		return listOffset(v.client, history.Partition{Topic: v.Topic}, v.to, int64(place))
	})
	if err != nil || at == v.reached[v.id] {
		return false
	}
	op := v.op(process, history.Seek)
	op.Position = at
	id := v.Record.Invoke(op)
	op.Outcome, op.Offset, op.HW, op.LogStart = history.OK, history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
	v.Record.Complete(id, op)
	v.reached[v.id] = at
	return true
}

// Settle waits until a marker is acknowledged in the present incarnation and every replica of it has the same, at most for so long.
func (v *Visitor) Settle(within time.Duration) error {
	deadline := v.Env.Now() + within
	for {
		err := fmt.Errorf("%s: nobody told its leader", v.Topic)
		if v.find(deadline) {
			if err = v.rest(); err == nil {
				return nil
			}
			v.to.leader = history.NoBroker
		}
		if v.Env.Now()+backoff > deadline {
			return fmt.Errorf("not settled within %s: %w", within, err)
		}
		v.Env.Sleep(backoff)
	}
}

// rest says what is not as it is at rest in the incarnation that a broker told of, nil if all is. A broker that is behind may tell of one that is gone,
// and leaders that are behind may even acknowledge its marker: it is not observed any more, and whoever asks again is told of the present one.
func (v *Visitor) rest() error {
	if v.id != v.marked {
		op := v.write(v.process(v.settler()), -1, true)
		if op.Outcome != history.OK {
			return fmt.Errorf("%s: marker %s at broker %d: %s", op.Partition, op.Value, op.Broker, op.Error)
		}
		v.marked, v.led = v.id, op.Epoch
	}
	own := Append{Topic: v.incarnation().Topic, Parts: 1, Factor: v.Factor}
	return own.unsettled(v.Cluster.Observe())
}

// Final reads the incarnation that settled, or the one that is told of if none did, from its log start to its high watermark, as polls marked Final. An
// empty log is read too, and so is the end where records were removed up to there meanwhile: an answer must tell that the log begins there.
func (v *Visitor) Final(within time.Duration) error {
	deadline := v.Env.Now() + within
	defer v.client.close()
	process := v.process(v.finisher())
	var started [16]byte // the incarnation of which start and end are known
	end := history.Offset(0)
	for {
		err := fmt.Errorf("nobody told its leader")
		if v.find(deadline) {
			if err = v.bounds(&started, &end); err == nil {
				op := v.read(process, true)
				if op.Outcome == history.OK && v.reached[v.id] >= end {
					return nil
				}
				err = fmt.Errorf("at offset %d of %d: %q", v.reached[v.id], end, op.Error)
				if op.Outcome == history.OK && v.Env.Now() < deadline {
					continue
				}
			}
			v.to.leader = history.NoBroker
		}
		if v.Env.Now()+backoff > deadline {
			return fmt.Errorf("final read of %s: %w", v.incarnation(), err)
		}
		v.Env.Sleep(backoff)
	}
}

// bounds begins the final read of the incarnation that a broker told of, if it is another than the one that has begun.
func (v *Visitor) bounds(started *[16]byte, end *history.Offset) (err error) {
	switch {
	case v.marked != [16]byte{} && v.id != v.marked:
		return fmt.Errorf("a broker still tells of %s", v.incarnation())
	case *started == v.id:
		return nil
	}
	p := history.Partition{Topic: v.Topic}
	if v.reached[v.id], err = listOffset(v.client, p, v.to, earliest); err != nil {
		return err
	}
	if *end, err = listOffset(v.client, p, v.to, latest); err != nil {
		return err
	}
	*started = v.id
	return nil
}
