package controller

import (
	"cmp"
	"slices"

	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// spread places replicas so that every broker has about as many as any other, and leads about as many partitions. Racks are
// not looked at.
type spread struct {
	replicas, leaders map[kafka.BrokerID]int
}

func newSpread(img *metadata.Image) *spread {
	s := &spread{replicas: map[kafka.BrokerID]int{}, leaders: map[kafka.BrokerID]int{}}
	for _, t := range img.Topics {
		for _, p := range t.Partitions {
			s.count(p.Replicas)
		}
	}
	return s
}

// count takes a partition into account; its first replica is the preferred leader.
func (s *spread) count(replicas []kafka.BrokerID) {
	for _, b := range replicas {
		s.replicas[b]++
	}
	if len(replicas) > 0 {
		s.leaders[replicas[0]]++
	}
}

// place chooses n of the registered brokers: active ones before others, those with the fewest replicas first; and of the
// active ones chosen, the one that is preferred for the fewest partitions leads. Nil if no broker is active.
func (s *spread) place(img *metadata.Image, n int) []kafka.BrokerID {
	ids := img.BrokerIDs()
	idle := func(b kafka.BrokerID) int {
		if active(img, b) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ids, func(a, b kafka.BrokerID) int {
		return cmp.Or(cmp.Compare(idle(a), idle(b)), cmp.Compare(s.replicas[a], s.replicas[b]), cmp.Compare(s.leaders[a], s.leaders[b]))
	})
	if len(ids) < n || n == 0 || idle(ids[0]) != 0 {
		return nil
	}
	chosen := ids[:n:n]
	slices.SortStableFunc(chosen, func(a, b kafka.BrokerID) int {
		return cmp.Or(cmp.Compare(idle(a), idle(b)), cmp.Compare(s.leaders[a], s.leaders[b]), cmp.Compare(a, b))
	})
	s.count(chosen)
	return chosen
}
