package broker

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/controller"
	"tidemark/broker/kafka"
)

// lifecycle is a broker's session with the controller (KIP-631): it registers, then sends heartbeats, and when it is asked to
// stop it waits until the controller has moved its leaders away.
type lifecycle struct {
	incarnation [16]byte
	previous    kafka.BrokerEpoch // of the clean shutdown before, kafka.NoBrokerEpoch if unclean (KIP-966)
	epoch       kafka.BrokerEpoch // kafka.NoBrokerEpoch before the registration
	next        time.Duration     // when the next request is due
	asking      bool              // a request is under way
	inDoubt     bool              // a registration was sent that the controller may have committed
	voter       int               // whom to ask next while no active controller is known
	retry       time.Duration
	interval    time.Duration

	stopping bool
	giveUpAt time.Duration // a shutdown goes on without the controller's word after this
	patience time.Duration // two sessions
	flushing bool
}

// retryMax is the longest wait before a refused registration or heartbeat is tried again.
const retryMax = 100 * time.Millisecond

func newLifecycle(cfg config.Config, previous kafka.BrokerEpoch, now time.Duration, rnd *rand.Rand) lifecycle {
	l := lifecycle{
		previous: previous, epoch: kafka.NoBrokerEpoch, next: now,
		interval: cfg.BrokerHeartbeatInterval, retry: min(retryMax, cfg.BrokerHeartbeatInterval),
		patience: 2 * cfg.BrokerSessionTimeout,
	}
	binary.BigEndian.PutUint64(l.incarnation[:8], rnd.Uint64())
	binary.BigEndian.PutUint64(l.incarnation[8:], rnd.Uint64())
	return l
}

func (l *lifecycle) deadline() time.Duration {
	at := Forever
	if !l.asking && !l.flushing {
		at = l.next
	}
	if l.stopping && !l.flushing {
		at = min(at, l.giveUpAt)
	}
	return at
}

// beginShutdown asks the controller, with the next heartbeat, to move the leaders away. Where no controller answers, as without a quorum,
// the broker waits for two session timeouts and then flushes and ends all the same: one after which a controller that has not heard
// from it has fenced it and moved its leaders anyway, and one for a controller that was elected only meanwhile, whose sessions began
// with it. (Kafka waits for five minutes: BrokerServer.scala, shutdown.) What was acknowledged is safe either way.
func (l *lifecycle) beginShutdown(now time.Duration) {
	if l.stopping {
		return
	}
	l.stopping, l.giveUpAt, l.next = true, now+l.patience, now
}

// lost says that the answer to the request under way will not come.
func (l *lifecycle) lost(now time.Duration) {
	l.asking = false
	l.next = now + l.retry
}

// tickLifecycle sends the registration or heartbeat that is due.
func (n *Node) tickLifecycle(now time.Duration) {
	l := &n.life
	if l.flushing {
		return
	}
	neverRegistered := l.epoch == kafka.NoBrokerEpoch && !l.inDoubt
	if l.stopping && (now >= l.giveUpAt || !n.cfg.ControlledShutdown || neverRegistered) {
		n.flushAndExit(now)
		return
	}
	if l.asking || now < l.next {
		return
	}
	to := n.ctl.Active()
	if to == kafka.NoBroker && !n.ctl.Votes() {
		l.voter++
		to = n.cfg.Voters[l.voter%len(n.cfg.Voters)].ID
	}
	if to == kafka.NoBroker {
		l.next = now + l.retry
		return
	}
	l.asking = true
	l.inDoubt = l.epoch == kafka.NoBrokerEpoch
	req := n.lifecycleRequest()
	if to == n.cfg.NodeID {
		n.ctl.Handle(now, req, controller.Token(n.wait(waiter{local: true})))
		return
	}
	n.send(now, Link{to, ForHeartbeat}, req, min(n.cfg.ControllerSocketTimeout, n.cfg.BrokerSessionTimeout))
}

func (n *Node) lifecycleRequest() kmsg.Request {
	l := &n.life
	if l.epoch == kafka.NoBrokerEpoch {
		req := kmsg.NewPtrBrokerRegistrationRequest()
		req.Version = 3
		req.BrokerID, req.ClusterID = int32(n.cfg.NodeID), clusterID
		req.IncarnationID, req.PreviousBrokerEpoch = l.incarnation, int64(l.previous)
		req.LogDirs = [][16]byte{n.ctl.Directory()}
		if n.cfg.Rack != "" {
			req.Rack = kmsg.StringPtr(n.cfg.Rack)
		}
		for _, l := range n.cfg.AdvertisedListeners {
			listener := kmsg.NewBrokerRegistrationRequestListener()
			listener.Name, listener.Host, listener.Port = l.Name, l.Host, uint16(l.Port)
			req.Listeners = append(req.Listeners, listener)
		}
		return req
	}
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch = int32(n.cfg.NodeID), int64(l.epoch)
	req.CurrentMetadataOffset = n.ctl.Image().Index
	req.WantShutdown = l.stopping
	return req
}

// registered takes the controller's answer to the registration.
func (n *Node) registered(now time.Duration, resp *kmsg.BrokerRegistrationResponse) {
	n.life.lost(now)
	if kafka.Code(resp.ErrorCode) == kafka.DuplicateBrokerRegistration {
		n.life.inDoubt = false // had an earlier attempt been committed, this one would have been welcome
	}
	if resp.ErrorCode == 0 && n.life.epoch == kafka.NoBrokerEpoch {
		n.life.inDoubt = false
		n.life.epoch = kafka.BrokerEpoch(resp.BrokerEpoch)
		n.life.next = now
		n.replicas.SetBrokerEpoch(n.life.epoch)
		n.tickLifecycle(now)
	}
}

// heartbeatAnswered takes the controller's answer to a heartbeat; a fenced broker asks again soon.
func (n *Node) heartbeatAnswered(now time.Duration, resp *kmsg.BrokerHeartbeatResponse) {
	l := &n.life
	l.lost(now)
	if resp.ErrorCode != 0 {
		return
	}
	if !resp.IsFenced && !l.stopping {
		l.next = now + l.interval
	}
	if l.stopping && resp.ShouldShutdown {
		n.flushAndExit(now)
	}
}

func (n *Node) flushAndExit(now time.Duration) {
	if !n.life.flushing {
		n.life.flushing = true
		n.replicas.BeginShutdown(now)
	}
}
