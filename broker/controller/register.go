package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// register answers BrokerRegistration (key 62, KIP-631): an incarnation of a broker asks for its broker epoch, which is the
// index of the entry that registers it. It begins fenced. A broker that does not prove a clean shutdown of the registration
// before leaves every ISR and ELR, for its log may lack what it acknowledged (KIP-966).
func register(v view, s sessions, req *kmsg.BrokerRegistrationRequest) decision {
	b := kafka.BrokerID(req.BrokerID)
	endpoints, ok := endpointsOf(req)
	if b < 0 || !ok || len(rackOf(req)) > nameMax {
		return decision{answer: refuse(req, kafka.InvalidRequest)}
	}
	resp := req.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	resp.BrokerEpoch = v.index
	rec := metadata.RegisterBroker{ID: b, Epoch: kafka.BrokerEpoch(v.index), Incarnation: req.IncarnationID,
		Endpoints: endpoints, Rack: rackOf(req), Directory: directoryOf(req), Fenced: true}
	remember := func(int64) { s[b] = &session{spokeAt: v.now} }

	old, known := v.img.Brokers[b]
	switch {
	case !known:
		return decision{records: []metadata.Record{rec}, answer: resp, then: remember}
	case registrationTaken(old, req.IncarnationID, s.alive(b, v.now, v.cfg.BrokerSessionTimeout)):
		return decision{answer: refuse(req, kafka.DuplicateBrokerRegistration)}
	case old.Incarnation == req.IncarnationID: // the answer to its first request was lost
		resp.BrokerEpoch = int64(old.Epoch)
		rec.Epoch, rec.Fenced, rec.Stopping = old.Epoch, old.Fenced, old.Stopping
		if slices.Equal(old.Endpoints, rec.Endpoints) && old.Rack == rec.Rack && old.Directory == rec.Directory {
			return decision{answer: resp, then: remember}
		}
		return decision{records: []metadata.Record{rec}, answer: resp, then: remember}
	}
	cause, lost := metadata.Cause{Kind: metadata.ByRegistration, Broker: b}, kafka.NoBroker
	previous := kafka.BrokerEpoch(req.PreviousBrokerEpoch)
	clean := shutDownCleanly(old, previous)
	if !clean && previous != kafka.NoBrokerEpoch {
		v.refuseMarker(b)
	}
	if v.cfg.Bug.Bites(bug.StaleCleanShutdown, !clean && previous != kafka.NoBrokerEpoch) {
		clean = true
	}
	if v.cfg.EligibleLeaderReplicas && !clean {
		cause.Kind, lost = metadata.ByUncleanRegistration, b
	}
	return decision{records: append([]metadata.Record{rec}, v.takeOut(b, lost, cause)...), answer: resp, then: remember}
}

// directoryOf is the disk that a broker's metadata log is on, the first of those that it names; zero for one that names none.
func directoryOf(req *kmsg.BrokerRegistrationRequest) (d [16]byte) {
	if len(req.LogDirs) > 0 {
		d = req.LogDirs[0]
	}
	return d
}

// endpointsOf is where a broker says that its listeners are to be reached; false for none, too many, one twice, or one without address.
func endpointsOf(req *kmsg.BrokerRegistrationRequest) ([]metadata.Endpoint, bool) {
	var out []metadata.Endpoint
	for _, l := range req.Listeners {
		e := metadata.Endpoint{Listener: l.Name, Host: l.Host, Port: int32(l.Port)}
		twice := slices.ContainsFunc(out, func(other metadata.Endpoint) bool { return other.Listener == e.Listener })
		if twice || len(out) == metadata.EndpointsMax || e.Listener == "" || e.Host == "" || max(len(e.Listener), len(e.Host)) > nameMax || e.Port == 0 {
			return nil, false
		}
		out = append(out, e)
	}
	return out, len(out) > 0
}

// rackOf is the rack that a broker says it is in, empty if none.
func rackOf(req *kmsg.BrokerRegistrationRequest) string {
	if req.Rack == nil {
		return ""
	}
	return *req.Rack
}

// nameMax bounds the names of a broker's listeners, hosts and rack, as DNS bounds a host's.
const nameMax = 255

// takeOut removes a broker from every ISR, and if it is lost from every ELR, and elects anew where it led.
func (v view) takeOut(b, lost kafka.BrokerID, cause metadata.Cause) []metadata.Record {
	var out []metadata.Record
	v.eachPartition(func(t *metadata.Topic, i int, p metadata.Partition) {
		if p.Leader != b && !kafka.Contains(p.ISR, b) && (lost != b || !kafka.Contains(p.ELR, b)) {
			return
		}
		want := asIs(p)
		want.isr, want.lost = without(p.ISR, b), lost
		if v.cfg.Bug.Bites(bug.LastReplicaStanding, lost == b && lastStanding(p, b)) {
			want.lost = kafka.NoBroker
		}
		if r, ok := change(p, want, v.circumstances(t, b, kafka.NoBroker)); ok {
			out = append(out, record(t, i, r, cause))
		}
	})
	return out
}

// lastStanding: the broker is all that is left of the ISR, or was before that became empty.
func lastStanding(p metadata.Partition, b kafka.BrokerID) bool {
	return slices.Equal(p.ISR, []kafka.BrokerID{b}) || len(p.ISR) == 0 && kafka.Contains(p.LastKnownELR, b)
}

// fence shuts a broker out until it is back: its session ran out, or it asked for it.
func fence(v view, b kafka.BrokerID) []metadata.Record {
	r := v.img.Brokers[b]
	return append([]metadata.Record{metadata.BrokerChange{ID: b, Epoch: r.Epoch, Fenced: true, Stopping: r.Stopping}},
		v.takeOut(b, kafka.NoBroker, metadata.Cause{Kind: metadata.ByFencing, Broker: b})...)
}

// unfence lets a broker take part, and elects where nobody leads.
func unfence(v view, b kafka.BrokerID) []metadata.Record {
	out := []metadata.Record{metadata.BrokerChange{ID: b, Epoch: v.img.Brokers[b].Epoch}}
	v.eachPartition(func(t *metadata.Topic, i int, p metadata.Partition) {
		if p.Leader != kafka.NoBroker {
			return
		}
		if r, ok := change(p, asIs(p), v.circumstances(t, kafka.NoBroker, b)); ok {
			out = append(out, record(t, i, r, metadata.Cause{Kind: metadata.ByUnfencing, Broker: b}))
		}
	})
	return out
}
