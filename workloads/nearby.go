package workloads

import (
	"fmt"
	"math/rand/v2"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// nearbyLease is how long a consumer reads from the replica that a leader sent it to before it asks the leader again (Kafka's
// metadata.max.age.ms, five minutes there).
const nearbyLease = 10 * time.Second

// RackOf names the rack of a run's broker, where brokers have racks.
func RackOf(b history.BrokerID) string { return fmt.Sprintf("rack-%d", b) }

// nearby is where a consumer in a rack reads each partition from (KIP-392): from the leader, until that sends it to a follower, then from
// there until an error or the end of the lease. A nil one reads from leaders alone.
type nearby struct {
	env   world.Env
	rack  string
	blind bool // it tells no leader epoch, as clients do that do not know KIP-320: nothing then fences it off from an old leader
	sent  []sentTo
}

// sentTo is the follower that a leader sent a consumer to, and until when.
type sentTo struct {
	broker history.BrokerID
	until  time.Duration
}

// newNearby draws the rack among the brokers', and every other consumer is blind.
func newNearby(env world.Env, rnd *rand.Rand, brokers []history.BrokerID, index, parts int) *nearby {
	n := &nearby{env: env, rack: RackOf(brokers[rnd.IntN(len(brokers))]), blind: index%2 == 1, sent: make([]sentTo, parts)}
	for part := range n.sent {
		n.leave(int32(part))
	}
	return n
}

// place is the broker to read a partition from.
func (n *nearby) place(part int32, leader history.BrokerID) history.BrokerID {
	if n == nil || n.sent[part].broker == history.NoBroker {
		return leader
	}
	if n.env.Now() >= n.sent[part].until {
		n.leave(part)
		return leader
	}
	return n.sent[part].broker
}

// follow goes where an answer sends the consumer, if it does.
func (n *nearby) follow(part int32, preferred history.BrokerID) {
	if n != nil && preferred != history.NoBroker {
		n.sent[part] = sentTo{preferred, n.env.Now() + nearbyLease}
	}
}

// leave goes back to the leader.
func (n *nearby) leave(part int32) {
	if n != nil {
		n.sent[part] = sentTo{broker: history.NoBroker}
	}
}
