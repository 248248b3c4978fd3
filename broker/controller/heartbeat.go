package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// heartbeat answers BrokerHeartbeat (key 63, KIP-631): it renews the session and moves the broker between its states.
//
//	fenced → unfenced: it has applied the metadata up to its registration and does not want to be fenced
//	unfenced → fenced: it wants to be
//	unfenced → stopping: it wants to shut down; its leaders move off, it leaves the ISRs
//	stopping → may stop: it leads nothing, and every active broker has applied the metadata that says so
func heartbeat(v view, s sessions, req *kmsg.BrokerHeartbeatRequest) decision {
	b, epoch := kafka.BrokerID(req.BrokerID), kafka.BrokerEpoch(req.BrokerEpoch)
	r, known := v.img.Brokers[b]
	switch {
	case !known:
		return decision{answer: refuse(req, kafka.BrokerIDNotRegistered)}
	case !currentIncarnation(v.img, b, epoch):
		return decision{answer: refuse(req, kafka.StaleBrokerEpoch)}
	}
	me := s[b]
	if me == nil {
		me = &session{}
		s[b] = me
	}
	me.spokeAt, me.offset = v.now, req.CurrentMetadataOffset

	resp := req.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	resp.IsCaughtUp = caughtUp(req.CurrentMetadataOffset, epoch)
	d := decision{answer: resp}
	switch {
	case r.Fenced && req.WantShutdown:
		resp.IsFenced, resp.ShouldShutdown = true, true
	case r.Fenced:
		resp.IsFenced = req.WantFence || !resp.IsCaughtUp
		if !resp.IsFenced {
			d.records = unfence(v, b)
		}
	case req.WantFence && !req.WantShutdown:
		resp.IsFenced = true
		d.records = fence(v, b)
	case !req.WantShutdown && !r.Stopping:
		resp.IsFenced = false
	case !r.Stopping:
		resp.IsFenced = false
		d.records = stopping(v, b)
		d.then = func(index int64) { me.shutdown = index }
	default:
		if me.shutdown == 0 { // a new active controller: all that was proposed before it is a safe bound
			me.shutdown = v.index - 1
		}
		resp.ShouldShutdown = me.shutdown <= s.lowestOffset(v.img, b) && !leadsAny(v, b)
		resp.IsFenced = resp.ShouldShutdown
		if resp.ShouldShutdown {
			d.records = fence(v, b)
		}
	}
	if resp.ShouldShutdown { // its successor need not wait
		delete(s, b)
	}
	return d
}

// stopping puts a broker into controlled shutdown (KIP-841): no leader any more, in no ISR.
func stopping(v view, b kafka.BrokerID) []metadata.Record {
	r := v.img.Brokers[b]
	return append([]metadata.Record{metadata.BrokerChange{ID: b, Epoch: r.Epoch, Stopping: true}},
		v.takeOut(b, kafka.NoBroker, metadata.Cause{Kind: metadata.ByControlledShutdown, Broker: b})...)
}

func leadsAny(v view, b kafka.BrokerID) bool {
	leads := false
	v.eachPartition(func(_ *metadata.Topic, _ int, p metadata.Partition) { leads = leads || p.Leader == b })
	return leads
}
