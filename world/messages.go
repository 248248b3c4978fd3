package world

import (
	"fmt"
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world/frames"
)

// The abilities that concern single messages, by the names that plans use.
const (
	CanHold Ability = "hold" // a message stays under way, and with it what stands behind it on its connection
	CanDrop Ability = "drop" // the connection breaks at a message, which never arrives
	CanLate Ability = "late" // the sender's connection breaks, and the message arrives much later
	// CanDelay keeps each message under way for a time, and with it what stands behind it on its connection.
	CanDelay Ability = "delay"
	// CanThrottle keeps each message under way for as long as its bytes take at a rate.
	CanThrottle Ability = "throttle"
)

// OfMessages reports whether an ability concerns single messages.
func OfMessages(a Ability) bool { return a == CanDrop || Keeps(a) }

// Keeps reports whether an ability keeps messages under way, and lets them go.
func Keeps(a Ability) bool {
	return a == CanHold || a == CanLate || a == CanDelay || a == CanThrottle
}

// API is a kind of request: Kafka's name of it in kebab case.
type API string

const (
	// AnyAPI is every request there is.
	AnyAPI API = "any"
	// Fetch is how a follower copies its leader's log, and a consumer reads it.
	Fetch API = "fetch"
	// RaftAPI is the messages between controllers, which have no answer: here they are etcd raft's, under a private key.
	RaftAPI API = "raft"
)

// apis lists the requests that the brokers of a cluster and their clients send each other, by API key.
var apis = []struct {
	api API
	key int16
}{
	{"produce", 0},
	{Fetch, 1},
	{"list-offsets", 2},
	{"metadata", 3},
	{"leader-and-isr", 4}, // of a controller beside a ZooKeeper, as the three after it
	{"stop-replica", 5},
	{"update-metadata", 6},
	{"controlled-shutdown", 7},
	{"api-versions", 18},
	{"create-topics", 19},
	{"delete-topics", 20},
	{"delete-records", 21},
	{"init-producer-id", 22},
	{"offset-for-leader-epoch", 23},
	{"describe-configs", 32},
	{"elect-leaders", 43},
	{"alter-partition-reassignments", 45},
	{"list-partition-reassignments", 46},
	{"alter-partition", 56},
	{"describe-cluster", 60},
	{"broker-registration", 62},
	{"broker-heartbeat", 63},
	{"allocate-producer-ids", 67},
	{"add-raft-voter", 80},
	{"remove-raft-voter", 81},
	{RaftAPI, 10000},
}

// APIs lists every API by key, AnyAPI left out.
func APIs() []API {
	names := make([]API, len(apis))
	for i, a := range apis {
		names[i] = a.api
	}
	return names
}

// Key is the API's key in Kafka's protocol; false for AnyAPI and for what is none.
func (a API) Key() (key int16, ok bool) {
	i := slices.IndexFunc(apis, func(o struct {
		api API
		key int16
	}) bool {
		return o.api == a
	})
	if i < 0 {
		return 0, false
	}
	return apis[i].key, true
}

// Link is the way from one end to another. history.NoBroker stands for the workloads' clients, all of them; the harness's own
// connections, for probes and elections, are none of those.
type Link struct{ From, To history.BrokerID }

// MessageFault is what happens to messages, from when it begins until it ends.
type MessageFault struct {
	Kind      Ability // CanHold, CanDrop, CanLate, CanDelay or CanThrottle
	API       API
	Responses bool   // it is the answers, else the requests
	Links     []Link // in the direction in which the messages go
	Nth       int    // only the nth such message, from 1; 0: all of them
	// Match is which of them concern a partition; the zero one is all.
	Match frames.Match
	// Delay is how long a message stays under way; 0: until the fault ends. A message that is late or delayed must have one.
	Delay time.Duration
	// Rate is the bytes a second of what is throttled, 0 for all else.
	Rate int64
	// Met, if set, is called when a message meets the fault, where the world can tell at once: it must not block, nor call the cluster.
	Met func()
}

// Check refuses what is no fault on messages.
func (f MessageFault) Check() error {
	key, ok := f.API.Key()
	match := f.Match
	switch {
	case !OfMessages(f.Kind):
		return fmt.Errorf("fault %q on messages, expected %s, %s, %s, %s or %s", f.Kind, CanHold, CanDrop, CanLate, CanDelay, CanThrottle)
	case !ok && f.API != AnyAPI:
		return fmt.Errorf("%s messages: there is no API %q", f.Kind, f.API)
	case len(f.Links) == 0:
		return fmt.Errorf("%s %s messages: no link, expected one at least", f.Kind, f.API)
	case f.Nth < 0:
		return fmt.Errorf("%s %s messages: number %d of them, expected 0 or more", f.Kind, f.API, f.Nth)
	case !match.Any() && (match.Partition == history.Partition{} || !ok || !frames.Reads(key)):
		return fmt.Errorf("%s %s messages on %v, expected fetch or produce, and a partition", f.Kind, f.API, match.Partition)
	case match.RaisesHW && (f.API != Fetch || !f.Responses):
		return fmt.Errorf("%s %s messages that raise the high watermark, expected fetch responses", f.Kind, f.API)
	case f.Delay < 0 || f.Delay == 0 && (f.Kind == CanLate || f.Kind == CanDelay):
		return fmt.Errorf("%s %s messages: for %v, expected longer", f.Kind, f.API, f.Delay)
	case f.Rate < 0 || f.Rate == 0 == (f.Kind == CanThrottle) || f.Rate > 0 && f.Delay > 0:
		return fmt.Errorf("%s %s messages at %d bytes a second for %v, expected a rate of what is throttled, and of nothing else", f.Kind, f.API, f.Rate, f.Delay)
	}
	if i := slices.IndexFunc(f.Links, func(l Link) bool { return l.From == l.To }); i >= 0 {
		return fmt.Errorf("%s %s messages from %d to itself", f.Kind, f.API, f.Links[i].From)
	}
	return nil
}

// Stay is how long a message of so many bytes stays under way; 0: until the fault ends.
func (f MessageFault) Stay(size int) time.Duration { return Stay(size, f.Delay, f.Rate) }

// Stay is how long a message of so many bytes stays under way by a delay, or at a rate in bytes a second if that is not 0: a nanosecond at least.
func Stay(size int, delay time.Duration, rate int64) time.Duration {
	if rate == 0 {
		return delay
	}
	return max(time.Nanosecond, time.Duration(float64(size)/float64(rate)*float64(time.Second)))
}

// Caught is what a fault has done to messages so far.
type Caught struct {
	Messages int64 // that it held, dropped, made late, delayed or throttled
	UnderWay int   // of them, those that are still under way
}

// Messages is the faults that a cluster can do to single messages.
type Messages interface {
	// Catch lets messages meet a fault from now on, those that are under way already among them. The number stands for the fault.
	Catch(f MessageFault) (number int, err error)
	// Caught tells what a fault that has not ended has done.
	Caught(number int) (Caught, error)
	// EndCatch ends a fault. What it still has under way goes on at once.
	EndCatch(number int) error
}
