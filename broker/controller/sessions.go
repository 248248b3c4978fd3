package controller

import (
	"time"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// sessions are the active controller's: when each registered broker last spoke. They are in memory only; a new active
// controller gives every broker that is not fenced a fresh one (KIP-631, KAFKA-19130).
type sessions map[kafka.BrokerID]*session

type session struct {
	spokeAt  time.Duration
	offset   int64 // the metadata that the broker has applied, by its last heartbeat
	shutdown int64 // the entry that moved the leaders off a stopping broker; 0 before
}

func freshSessions(img *metadata.Image, now time.Duration) sessions {
	s := sessions{}
	for b, r := range img.Brokers {
		if !r.Fenced {
			s[b] = &session{spokeAt: now}
		}
	}
	return s
}

// alive reports whether a broker's session has not run out.
func (s sessions) alive(b kafka.BrokerID, now, timeout time.Duration) bool {
	return s[b] != nil && now < s[b].spokeAt+timeout
}

// first is the unfenced broker whose session runs out first, the lowest id among equals, and when that is; NoBroker and
// never if no broker is unfenced.
func (s sessions) first(img *metadata.Image, timeout time.Duration) (kafka.BrokerID, time.Duration) {
	who, at := kafka.NoBroker, never
	for b, one := range s {
		if r, ok := img.Brokers[b]; !ok || r.Fenced {
			continue
		}
		if ends := one.spokeAt + timeout; ends < at || (ends == at && b < who) {
			who, at = b, ends
		}
	}
	return who, at
}

// lowestOffset is the metadata that every active broker has applied; the broker asked about does not count.
func (s sessions) lowestOffset(img *metadata.Image, except kafka.BrokerID) int64 {
	lowest := int64(never)
	for b, one := range s {
		if b != except && active(img, b) {
			lowest = min(lowest, one.offset)
		}
	}
	return lowest
}
